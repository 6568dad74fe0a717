"""Public IP addresses, the only ones that webhooks may be sent to.

Python's `is_global` accepts NAT64, 6to4 and site-local addresses, which may lead into our own network.

>>> [is_public(a) for a in ("93.184.216.34", "10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "169.254.169.254")]
[True, False, False, False, False]
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# IANA's special-purpose registries, and addresses that are reachable only on a host or in a cloud.
NOT_PUBLIC: tuple[Network, ...] = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local; cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "168.63.129.16/32",  # a cloud's host agent, inside public space
        "::/3",  # unspecified, loopback, mapped, NAT64; embedded public addresses are unwrapped first
        "2001::/23",  # protocol assignments, Teredo, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
        "4000::/2",  # unassigned
        "8000::/1",  # unassigned, unique local, link-local, site-local, multicast
    )
)

NAT64 = ip_network("64:ff9b::/96")


def is_public(address: str | Address, *, allowed: Sequence[Network] = ()) -> bool:
    """Return whether an address is public or in an allowed network.

    :raises ValueError: it is not an IP address
    """
    candidate = unwrapped(ip_address(address))
    if any(candidate in network for network in allowed if network.version == candidate.version):
        return True
    return not any(candidate in network for network in NOT_PUBLIC if network.version == candidate.version)


def is_public_network(network: str) -> bool:
    """Return whether all addresses of a network are public.

    >>> [is_public_network(each) for each in ("8.8.8.0/24", "10.0.0.0/24", "fec0::/10", "0.0.0.0/0")]
    [True, False, False, False]
    """
    candidate = ip_network(network)
    return not any(candidate.overlaps(each) for each in NOT_PUBLIC if each.version == candidate.version)


def unwrapped(address: Address) -> Address:
    """Return the IPv4 address embedded in a mapped, NAT64 or 6to4 address; otherwise the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.sixtofour is not None:
        return address.sixtofour
    return address
