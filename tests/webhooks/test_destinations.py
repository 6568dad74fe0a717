# ruff: noqa: RUF001, S104  (the test data is hostile spellings)
import pytest

from webhooks.endpoints.url_validation import refusal

OWN_HOST = "pay.sluice.shop"

ADDRESS_LITERALS = [
    "127.0.0.1",
    "127.0.0.1.",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.1.1",
    "8.8.8.8",
    "127.1",
    "127.0.1",
    "0",
    "0.0.0.0",
    "1",
    "2130706433",
    "2130706433.",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "0x7f.0.0.1",
    "0x7f000001",
    "0X7F000001",
    "0x7F.1",
    "0x7f.0x1",
    "127.0.0.0x1",
    "127.0.0.0x",
    "0xa9fea9fe",
    "0xa9.0xfe.0xa9.0xfe",
    "2852039166",
    "0251.0376.0251.0376",
    "1.2.3",
    "1.2.3.4.5",
    "a.b.1",
    "shop.com.1",
    "shop.com.0x1f",
    "999999999999",
    "256.256.256.256",
    "00000177.1",
    "127.0x0.0.1",
    "3232235777",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:4136:e378::1]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fd00:ec2::254]",
    "[2606:4700::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::127.0.0.1]",
    "[v1.com]",
    "[vF.shop.com]",
    "[v7.a:b]",
]

NAMES = [
    "localhost",
    "localhost.",
    "LOCALHOST",
    "LocalHost.",
    "hooks",
    "localhost.localdomain",
    "foo.localhost",
    "foo.LOCALHOST",
    "a.b.localhost.",
    "printer.local",
    "printer.local.",
    "db.internal",
    "metadata.google.internal",
    "wiki.intranet",
    "x.private",
    "x.corp",
    "x.home",
    "x.lan",
    "hooks.test",
    "hooks.example",
    "hooks.invalid",
    "abc.onion",
    "1.0.0.127.in-addr.arpa",
    "router.home.arpa",
    "shop",
    "com",
    "com.",
    "pay.sluice.shop",
    "PAY.sluice.SHOP",
    "pay.sluice.shop.",
    "shop..com",
    ".shop.com",
    "shop.com..",
    ".",
    "..",
    "...",
    "-shop.com",
    "shop-.com",
    "shop.-com",
    "shop_a.com",
    "sh*p.com",
    "shop.com,",
    "shop;a.com",
    "shop!.com",
    "shop.com$",
    "'shop'.com",
    '"shop".com',
    "shop<.com",
    "{shop}.com",
    "sho|p.com",
    "shop.com^",
    "`shop`.com",
    "~shop.com",
    "%6c%6f%63%61%6c%68%6f%73%74",
    "%31%32%37.0.0.1",
    "shop%2ecom",
    "shop.com%00",
    "shop.com%20",
]

WHOLE = [
    "",
    " ",
    "hooks.shop.com",
    "//hooks.shop.com/",
    "/hook",
    "https:",
    "https:/",
    "https://",
    "https:///",
    "https:///hooks.shop.com",
    "https:hooks.shop.com",
    "https:/hooks.shop.com",
    "http://hooks.shop.com/",
    "HTTP://hooks.shop.com/",
    "ftp://hooks.shop.com/",
    "file:///etc/passwd",
    "gopher://hooks.shop.com/",
    "javascript://hooks.shop.com/",
    "ws://hooks.shop.com/",
    "wss://hooks.shop.com/",
    "httpss://hooks.shop.com/",
    "https+unix://hooks.shop.com/",
    # credentials
    "https://user@hooks.shop.com/",
    "https://user:secret@hooks.shop.com/",
    "https://@hooks.shop.com/",
    "https://:@hooks.shop.com/",
    "https://hooks.shop.com@127.0.0.1/",
    "https://127.0.0.1@hooks.shop.com/",
    "https://hooks.shop.com:443@evil.com/",
    "https://a@b@hooks.shop.com/",
    # ports
    "https://hooks.shop.com:0/",
    "https://hooks.shop.com:1/",
    "https://hooks.shop.com:22/",
    "https://hooks.shop.com:80/",
    "https://hooks.shop.com:442/",
    "https://hooks.shop.com:444/",
    "https://hooks.shop.com:6379/",
    "https://hooks.shop.com:8080/",
    "https://hooks.shop.com:65535/",
    "https://hooks.shop.com:65536/",
    "https://hooks.shop.com:99999999/",
    "https://hooks.shop.com:-443/",
    "https://hooks.shop.com:+443/",
    "https://hooks.shop.com:4_43/",
    "https://hooks.shop.com:0x1bb/",
    "https://hooks.shop.com:https/",
    "https://hooks.shop.com:443:443/",
    "https://hooks.shop.com:443.1/",
    # fragments
    "https://hooks.shop.com/#",
    "https://hooks.shop.com/#top",
    "https://hooks.shop.com#@evil.com/",
    "https://hooks.shop.com/a?b#c",
    # backslashes, blanks, control characters
    "https://hooks.shop.com\\@127.0.0.1/",
    "https:\\\\hooks.shop.com\\",
    "https://hooks.shop.com/a\\b",
    " https://hooks.shop.com/",
    "https://hooks.shop.com/ ",
    "https://hooks.shop.com/a b",
    "https://hooks .shop.com/",
    "https://hooks.shop.com/\n",
    "https://hooks.shop.com/\r\nX-Injected: 1",
    "https://hooks.shop.com\t/",
    "ht\ttps://hooks.shop.com/",
    "\thttps://hooks.shop.com/",
    "https://hooks\n.shop.com/",
    "https://hooks.shop.com/\x00",
    "\x00https://hooks.shop.com/",
    "https://hooks.shop.com/\x1f",
    "https://hooks.shop.com/\x7f",
    "https://hooks.shop.com/\x0b",
    "https://hooks.shop.com/\xa0",
    "https://hooks.shop.com/\u2028",
    "https://hooks.shop.com/\u200b",
    "\ufeffhttps://hooks.shop.com/",
    # other letters, digits and dots
    "https://hooks。shop。com/",
    "https://hooks．shop．com/",
    "https://hooks｡shop｡com/",
    "https://127。0。0。1/",
    "https://１２７.0.0.1/",
    "https://①②⑦.⓪.⓪.①/",
    "https://٠.٠.٠.٠/",
    "https://ⓛocalhost/",
    "https://loc\u00adalhost/",
    "https://lоcalhost.com/",
    "https://bücher.shop.com/",
    "https://hooks.shop.com/ü",
    "https://hooks.shop.com／evil/",
    "https://hooks.shop.com＠evil.com/",
    "https：//hooks.shop.com/",
    # misplaced brackets
    "https://[hooks.shop.com]/",
    "https://[::1/",
    "https://::1]/",
    "https://[]/",
    "https://[::1]evil.com/",
    "https://hooks.shop.com[::1]/",
    "https://::1/",
    # too long
    "https://hooks.shop.com/" + "a" * 2026,
    "https://" + "a" * 64 + ".com/",
    "https://" + "a." * 126 + "co/",
    "https://" + ("a" * 63 + ".") * 4 + "com/",
]

GOOD = [
    "https://hooks.shop.com",
    "https://hooks.shop.com/",
    "https://hooks.shop.com/sluice/events?token=a%20b&c=1",
    "https://HOOKS.Shop.COM/",
    "HTTPS://hooks.shop.com/",
    "https://hooks.shop.com./",
    "https://shop.com:443/hook",
    "https://shop.com:8443/hook",
    "https://a.b.c.d.e.shop.ng/",
    "https://xn--bcher-kva.shop.com/",
    "https://1.2.3.4.shop.com/",
    "https://127.0.0.1.nip.io/",
    "https://0x7f.com/",
    "https://localhost.shop.com/",
    "https://internal-hooks.shop.com/",
    "https://test.shop.com/",
    "https://example.com/",
    "https://pay2.sluice.shop/",
    "https://hooks.pay.sluice.shop/",
    "https://a--b.shop.com/",
    "https://hooks.shop.com?x=1",
    "https://hooks.shop.com/@ada/~b/[c]/(d);e=f,g:h!$'*+=|",
    "https://hooks.shop.com/" + "a" * 2025,
    "https://" + "a" * 63 + ".com/",
    "https://" + "a." * 125 + "com/",
]


def refused_in_production(url):
    return refusal(url, strict=True, own_host=OWN_HOST)


class TestInProduction:
    def test_address_in_any_spelling_is_rejected(self, subtests):
        for host in ADDRESS_LITERALS:
            with subtests.test(host=host):
                assert refused_in_production(f"https://{host}/hook")
                assert refused_in_production(f"https://{host}:443")

    def test_own_local_or_invalid_name_is_rejected(self, subtests):
        for host in NAMES:
            with subtests.test(host=host):
                assert refused_in_production(f"https://{host}/hook")

    def test_unusual_url_is_rejected(self, subtests):
        for url in WHOLE:
            with subtests.test(url=url):
                assert refused_in_production(url)

    def test_ordinary_url_is_accepted(self, subtests):
        for url in GOOD:
            with subtests.test(url=url):
                assert refused_in_production(url) is None

    def test_reason_explains_what_to_change(self, subtests):
        for url, words in [
            ("", "1 to 2048 ASCII characters"),
            ("http://hooks.shop.com/", "https://"),
            ("https://ada@hooks.shop.com/", "credentials"),
            ("https://hooks.shop.com/#a", "fragment"),
            ("https://hooks.shop.com:80/", "443 or 8443"),
            ("https://10.0.0.1/", "a domain name, not an address"),
            ("https://[::1]/", "a domain name, not an address"),
            ("https://[v1.com]/", "a domain name, not an address"),
            ("https://hooks/", "at least two parts"),
            ("https://db.internal/", "a public domain name"),
            ("https://pay.sluice.shop/", "this service's own"),
        ]:
            with subtests.test(url=url, words=words):
                assert words in refused_in_production(url)

    def test_more_than_150_urls_are_rejected(self):
        assert len({*ADDRESS_LITERALS, *NAMES, *WHOLE}) > 150


class TestInASandbox:
    @pytest.mark.parametrize(
        "url",
        [
            "http://127.0.0.1:9000/hook",
            "http://localhost:9000/hook",
            "http://[::1]:9000/hook",
            "https://hooks.shop.com/",
            "http://pay.sluice.shop/",
            "http://receiver:8080/",
        ],
    )
    def test_local_receiver_is_accepted(self, url):
        assert refusal(url, strict=False, own_host=OWN_HOST) is None

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "ftp://127.0.0.1/",
            "http://",
            "http://ada@127.0.0.1/",
            "http://127.0.0.1/#a",
            "http://127.0.0.1:99999/",
            "http://127.0.0.1/ ",
            "http://127.0.0.1\\a",
            "http://１２７.0.0.1/",
        ],
    )
    def test_invalid_url_is_rejected(self, url):
        assert refusal(url, strict=False, own_host=OWN_HOST)
