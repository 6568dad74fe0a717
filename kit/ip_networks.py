"""The network of an address: the range in which its user can choose other addresses.

>>> network_of("192.0.2.1"), network_of("2001:db8::7"), network_of("::ffff:192.0.2.1")
('192.0.2.1', '2001:db8::/64', '192.0.2.1')
"""

from ipaddress import IPv6Address, IPv6Network, ip_address


def network_of(address: str) -> str:
    """Return an IPv4 address unchanged, or the /64 of an IPv6 address."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))
    return str(parsed)
