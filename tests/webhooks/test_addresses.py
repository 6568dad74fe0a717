# ruff: noqa: RUF001, S104  (the test data is hostile spellings)
from ipaddress import ip_address, ip_network

import pytest

from webhooks.endpoints.ip_address_rules import is_public, unwrapped

NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "0.255.255.255",
    "10.0.0.0",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.0",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.0",
    "127.0.0.1",
    "127.0.0.53",
    "127.1.2.3",
    "127.255.255.255",
    "169.254.0.1",
    "169.254.169.253",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.255.255",
    "172.16.0.0",
    "172.16.0.1",
    "172.17.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.9",
    "192.0.0.170",
    "192.0.0.192",
    "192.0.2.1",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.1.1",
    "192.168.255.255",
    "192.175.48.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "168.63.129.16",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.254",
    "255.255.255.255",
    "::",
    "::1",
    "::2",
    "::127.0.0.1",
    "::10.0.0.1",
    "::7f00:1",
    "::93.184.216.34",
    "::ffff:0.0.0.0",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::ffff:192.168.1.1",
    "0:0:0:0:0:ffff:127.0.0.1",
    "0000:0000:0000:0000:0000:ffff:7f00:0001",
    "::ffff:0:127.0.0.1",
    "::ffff:0:7f00:1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::c0a8:101",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1::a00:1",
    "64:ff9b:1:ffff::1",
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:1::1",
    "2001:2::1",
    "2001:4:112::1",
    "2001:10::1",
    "2001:20::1",
    "2001:30::1",
    "2001:db8::1",
    "2001:db8:ffff::1",
    "3fff::1",
    "3fff:fff::1",
    "2002:7f00:1::",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:c0a8:101::",
    "2002:a9fe:a9fe::",
    "2002:ac10:1::",
    "2002:0:0::1",
    "2620:4f:8000::1",
    "4000::1",
    "5f00::1",
    "6000::1",
    "8000::1",
    "a000::1",
    "c000::1",
    "e000::1",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::254",
    "fd12:3456:789a::1",
    "fdff:ffff::1",
    "fe00::1",
    "fe80::1",
    "fe80::1%eth0",
    "fe80::1%1",
    "fe80::a9fe:a9fe",
    "fe80:0:0:1::1",
    "febf::1",
    "fec0::1",
    "fec0::1%2",
    "feff::1",
    "ff00::1",
    "ff02::1",
    "ff02::1%eth0",
    "ff05::2",
    "ffff::1",
    "::1%lo",
]

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.1",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.1",
    "126.255.255.255",
    "128.0.0.1",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "192.167.255.255",
    "192.169.0.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2606:4700::6810:84e5",
    "2a00:1450:4001::1",
    "2400:cb00::1",
    "2003::1",
    "3ffe::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


class TestIsPublic:
    def test_rejects_private_addresses(self, subtests):
        for address in NOT_PUBLIC:
            with subtests.test(address=address):
                assert not is_public(address)

    def test_accepts_public_addresses(self, subtests):
        for address in PUBLIC:
            with subtests.test(address=address):
                assert is_public(address)

    def test_rejects_other_spellings_of_an_address(self, subtests):
        for text in [
            "2130706433",
            "0x7f000001",
            "017700000001",
            "0177.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.0.0.1",
            "127.0.0.01",
            "127.0.0.1.",
            "1.2.3.256",
            "１２７.0.0.1",
            "127。0。0。1",
            "①②⑦.0.0.1",
            "localhost",
            "[::1]",
            "::1/128",
            ":::1",
            "1::2::3",
            "12345::",
        ]:
            with subtests.test(text=text), pytest.raises(ValueError, match="does not appear to be"):
                is_public(text)

    @pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"])
    def test_accepts_an_address_in_an_allowed_network(self, address):
        assert is_public(address, allowed=[ip_network("127.0.0.0/8"), ip_network("::1/128")])

    @pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "::2", "fd00::1", "::ffff:10.0.0.1"])
    def test_rejects_an_address_outside_an_allowed_network(self, address):
        assert not is_public(address, allowed=[ip_network("127.0.0.0/8"), ip_network("::1/128")])


class TestUnwrapped:
    @pytest.mark.parametrize(
        ("address", "inside"),
        [
            ("10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("64:ff9b::10.0.0.1", "10.0.0.1"),
            ("2002:a00:1::1", "10.0.0.1"),
            ("2606:4700::1", "2606:4700::1"),
        ],
    )
    def test_returns_the_embedded_address(self, address, inside):
        assert str(unwrapped(ip_address(address))) == inside
