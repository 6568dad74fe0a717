import asyncio
import os
import resource
import socket
import ssl
import threading
import time
from contextlib import ExitStack
from ipaddress import ip_network

import pytest

from tests.webhooks import servers
from webhooks.sending import sender as senders
from webhooks.sending.sender import EXCERPT, Sender

TIMEOUT = 0.6
SLACK = 0.5
LOOPBACK = [ip_network("127.0.0.0/8")]
BODY = b'{"id":"0b8f6a54-7d39-4f1c-9b2e-6c1f0e5a7d21"}'
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.8"


def leading_to(*addresses):
    """Return a DNS lookup that resolves every name to these addresses."""

    def look_up(host, port, family):
        return [
            (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (address, port),
            )
            for address in addresses
        ]

    return look_up


def post_all(urls, *, allowed=LOOPBACK, timeout=TIMEOUT, at_once=False, headers=None, **options):
    """Post to each address with one sender, sequentially or concurrently."""

    async def run():
        async with Sender(timeout=timeout, allowed=allowed, **options) as sender:
            posts = (sender.post(url, body=BODY, headers=headers or {}) for url in urls)
            return await asyncio.gather(*posts) if at_once else [await post for post in posts]

    return asyncio.run(run())


def post(url, **options):
    started = time.monotonic()
    (exchange,) = post_all([url], **options)
    assert time.monotonic() - started < TIMEOUT + SLACK
    return exchange


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return servers.Authority(tmp_path_factory.mktemp("certificates"))


class TestAnswers:
    @pytest.mark.parametrize("code", [200, 201, 202, 204, 299])
    def test_of_2xx_are_success(self, code):
        with servers.opened(servers.answering(servers.status(code))) as listener:
            exchange = post(listener.url)

        assert exchange.succeeded
        assert (exchange.status, exchange.error, exchange.explanation) == (code, "", "")

    @pytest.mark.parametrize(
        ("code", "error", "explanation"),
        [
            (300, "redirect", "The answer is a redirect, which is not followed."),
            (304, "redirect", "The answer is a redirect, which is not followed."),
            (400, "client_error", "The endpoint answered 400."),
            (410, "client_error", "The endpoint answered 410."),
            (429, "client_error", "The endpoint answered 429."),
            (500, "server_error", "The endpoint answered 500."),
            (503, "server_error", "The endpoint answered 503."),
        ],
    )
    def test_of_any_other_status_are_failures_with_a_reason(self, code, error, explanation):
        with servers.opened(servers.answering(servers.status(code))) as listener:
            exchange = post(listener.url)

        assert not exchange.succeeded
        assert (exchange.status, exchange.error, exchange.explanation) == (code, error, explanation)

    @pytest.mark.parametrize("receiver", [servers.body_drip, servers.endless_body, servers.endless_chunks])
    def test_are_judged_before_the_body_arrives(self, receiver):
        with servers.opened(receiver) as listener:
            exchange = post(listener.url)

        assert exchange.succeeded
        assert len(exchange.excerpt) <= EXCERPT
        assert exchange.total_ms < TIMEOUT * 1000 / 2

    @pytest.mark.parametrize("receiver", [servers.garbage_in_the_body, servers.closing_within_the_body])
    def test_are_success_even_if_the_body_is_broken(self, receiver):
        with servers.opened(receiver) as listener:
            exchange = post(listener.url)

        assert exchange.succeeded
        assert exchange.error == ""

    def test_store_an_excerpt_of_the_body_received_with_the_headers(self):
        with servers.opened(servers.answering(servers.status(500, body=b"no such hook"))) as listener:
            exchange = post(listener.url)

        assert exchange.excerpt == b"no such hook"

    @pytest.mark.parametrize("size", [2047, 2048, 2049, 60_000])
    def test_store_at_most_2_kib(self, size):
        with servers.opened(servers.answering(servers.status(200, body=b"x" * size))) as listener:
            exchange = post(listener.url)

        assert EXCERPT == 2048
        assert len(exchange.excerpt) == min(size, 2048)

    @pytest.mark.parametrize("shown", range(1, 19, 2))
    def test_store_no_partial_card_number_at_the_end_of_the_excerpt(self, shown):
        before = b"x" * (EXCERPT - shown - 1) + b"="
        body = before + b"4084 0840 8408 4081" + b"y" * 1000
        with servers.opened(servers.answering(servers.status(400, body=body))) as listener:
            exchange = post(listener.url)

        assert exchange.excerpt in {before, before + b"408408******4081"[: EXCERPT - len(before)]}

    def test_are_not_decompressed(self):
        with servers.opened(servers.gzip_bomb) as listener:
            exchange = post(listener.url)

        assert exchange.succeeded
        assert exchange.excerpt == servers.BOMB[:2048]


class TestRedirects:
    @pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
    def test_are_not_followed(self, code):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as inside:
            answer = servers.status(code, f"Location: {inside.url}")
            with servers.opened(servers.answering(answer)) as listener:
                exchange = post(listener.url)

        assert exchange.status == code
        assert exchange.error == "redirect"
        assert inside.connections == 0


class TestBadPeers:
    @pytest.mark.parametrize(
        ("receiver", "error", "explanation"),
        [
            (servers.silent, "timeout", "No answer within 0.6 seconds."),
            (servers.header_drip, "timeout", "No answer within 0.6 seconds."),
            (servers.continue_flood, "timeout", "No answer within 0.6 seconds."),
            (servers.reset, "connection_reset", "The connection was reset."),
            (servers.garbage, "bad_answer", "The answer is not HTTP."),
            (servers.garbage_with_the_headers, "bad_answer", "The answer is not HTTP."),
            (servers.header_flood, "bad_answer", "The answer is not HTTP."),
            (servers.long_header, "bad_answer", "The answer is not HTTP."),
            (servers.closing_without_answer, "disconnected", "The connection was closed without an answer."),
        ],
    )
    def test_end_in_time_with_a_reason(self, receiver, error, explanation):
        with servers.opened(receiver) as listener:
            exchange = post(listener.url)

        assert (exchange.status, exchange.error, exchange.explanation) == (None, error, explanation)
        assert exchange.address == "127.0.0.1"
        assert len(listener.requests) == 1

    @pytest.mark.long
    def test_end_in_time_concurrently_within_the_production_limit(self, authority):
        woken = threading.Event()
        receivers = [
            servers.silent, servers.header_drip, servers.body_drip, servers.endless_body, servers.endless_chunks, servers.gzip_bomb, servers.reset,
            servers.garbage, servers.continue_flood, servers.header_flood, servers.long_header, servers.closing_without_answer,
        ]  # fmt: skip

        def look_up(host, port, family):
            if host == "slow.example":
                woken.wait(30)
            return leading_to("127.0.0.1")(host, port, family)

        with ExitStack() as doors:
            urls = [doors.enter_context(servers.opened(receiver)).url for receiver in receivers]
            stalled = doors.enter_context(servers.opened(lambda visit: visit.stay()))
            urls += [f"https://127.0.0.1:{stalled.port}/", "http://slow.example/"]
            before = peak_memory()
            exchanges = post_all(urls, timeout=10, at_once=True, look_up=look_up)
            grown = peak_memory() - before
        woken.set()

        assert max(exchange.total_ms for exchange in exchanges) < 10_500
        assert [exchange.error for exchange in exchanges[-2:]] == ["timeout", "timeout"]
        assert grown < 50 * 1024 * 1024

    def test_that_refuse_the_connection_are_reported(self):
        exchange = post(f"http://127.0.0.1:{servers.refused_port()}/hook")

        assert (exchange.error, exchange.explanation) == (
            "connection_refused",
            "The connection was refused.",
        )
        assert exchange.address == "127.0.0.1"
        assert exchange.connect_ms is None

    @pytest.mark.parametrize(
        "receiver",
        [
            servers.endless_body,
            servers.endless_chunks,
            servers.gzip_bomb,
            servers.continue_flood,
            servers.header_flood,
            servers.long_header,
        ],
    )
    def test_use_little_memory(self, receiver):
        with servers.opened(receiver) as listener:
            before = peak_memory()
            exchanges = post_all([listener.url] * 3, at_once=True)

        assert peak_memory() - before < 50 * 1024 * 1024
        assert all(len(exchange.excerpt) <= EXCERPT for exchange in exchanges)

    def test_on_a_shared_host_do_not_delay_others(self):
        with servers.opened(servers.answering_together(40)) as listener:
            exchanges = post_all([listener.url] * 40, at_once=True, timeout=30)

        assert all(exchange.succeeded for exchange in exchanges)


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class TestTls:
    def post(self, authority, listener, name=servers.NAME):
        return post(listener.named(name), look_up=leading_to("127.0.0.1"), tls=authority.trusting())

    def test_verifies_the_name_that_was_looked_up(self, authority):
        with servers.opened(servers.answering(servers.NO_CONTENT), tls=authority.serving()) as listener:
            exchange = self.post(authority, listener)

        assert exchange.succeeded
        assert exchange.address == "127.0.0.1"

    @pytest.mark.parametrize(
        "certificate",
        [{"name": "other.shop.example"}, {"expired": True}, {"self_signed": True}],
        ids=["wrong host", "expired", "self-signed"],
    )
    def test_refuses_a_certificate_that_is_not_valid(self, authority, certificate):
        with servers.opened(
            servers.answering(servers.NO_CONTENT), tls=authority.serving(**certificate)
        ) as listener:
            exchange = self.post(authority, listener)

        assert (exchange.error, exchange.explanation) == (
            "tls_certificate",
            "The certificate is not valid for this address.",
        )
        assert listener.requests == []

    def test_trusts_only_the_configured_authorities(self, authority):
        with servers.opened(servers.answering(servers.NO_CONTENT), tls=authority.serving()) as listener:
            exchange = post(listener.url)

        assert exchange.error == "tls_certificate"

    def test_ends_when_the_handshake_stalls(self):
        with servers.opened(lambda visit: visit.stay()) as listener:
            exchange = post(f"https://127.0.0.1:{listener.port}/hook")

        assert exchange.error == "timeout"
        assert exchange.address == "127.0.0.1"
        assert 0 < exchange.connect_ms < 200  # the connection was established; the handshake did not finish
        assert (exchange.tls_ms, exchange.wait_ms) == (None, None)

    def test_reports_a_peer_that_does_not_speak_tls(self):
        with servers.opened(lambda visit: visit.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as listener:
            exchange = post(f"https://127.0.0.1:{listener.port}/hook")

        assert (exchange.error, exchange.explanation) == ("tls_error", "The TLS handshake failed.")

    def test_is_of_version_1_2_or_later(self):
        context = senders.verifying_tls()

        assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.check_hostname


class TestLookUps:
    def test_that_hang_end_in_time(self):
        woken = threading.Event()

        exchange = post("http://hooks.shop.example/", look_up=lambda *_: woken.wait(5) and [])
        woken.set()

        assert exchange.error == "timeout"
        assert exchange.address is None

    @pytest.mark.long
    def test_that_hang_delay_only_each_other(self):
        woken = threading.Event()

        def look_up(host, port, family):
            if host.startswith("hanging"):
                woken.wait(5)
            return leading_to("127.0.0.1")(host, port, family)

        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            urls = [f"http://hanging{number}.example/" for number in range(senders.LOOKUPS_AT_ONCE)]
            exchanges = post_all(
                [*urls, listener.named("hooks.shop.example")], look_up=look_up, timeout=2, at_once=True
            )
        woken.set()

        assert {exchange.error for exchange in exchanges[:-1]} == {"timeout"}
        assert exchanges[-1].succeeded
        assert exchanges[-1].total_ms < 1500

    def test_that_hang_do_not_delay_the_end_of_the_process(self):
        woken = threading.Event()

        post("http://hooks.shop.example/", look_up=lambda *_: woken.wait(5) and [])

        assert all(thread.daemon for thread in threading.enumerate() if thread.name == "dns")
        woken.set()

    def test_that_find_nothing_are_reported(self):
        def fail(*_):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        exchange = post("http://hooks.shop.example/", look_up=fail)

        assert (exchange.error, exchange.explanation) == ("dns_error", "The name could not be looked up.")

    @pytest.mark.parametrize(
        "addresses",
        [
            (PRIVATE,),
            (PUBLIC, PRIVATE),
            (PRIVATE, PUBLIC),
            (PUBLIC, "::1"),
            (PUBLIC, "fe80::1%lo"),
            ("::ffff:127.0.0.1",),
            ("64:ff9b::7f00:1",),
            ("2002:7f00:1::",),
        ],
    )
    def test_with_any_private_address_are_blocked(self, addresses):
        exchange = post("http://hooks.shop.example/", look_up=leading_to(*addresses), allowed=())

        assert (exchange.error, exchange.explanation) == (
            "blocked_address",
            "The address is not a public one.",
        )
        assert exchange.address is None

    def test_are_made_once_to_prevent_dns_rebinding(self):
        answers = iter([leading_to("127.0.0.1"), leading_to("127.0.0.2")])
        asked = []

        def rebinding(host, port, family):
            asked.append(host)
            return next(answers)(host, port, family)

        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            exchange = post(listener.named("rebind.example"), look_up=rebinding)

        assert exchange.succeeded
        assert exchange.address == "127.0.0.1"
        assert asked == ["rebind.example"]

    def test_are_checked_again_on_the_address_that_is_dialled(self, monkeypatch):
        async def unvetted(self, host, port=0, family=0):
            return [
                {
                    "hostname": host,
                    "host": "127.0.0.1",
                    "port": port,
                    "family": family,
                    "proto": 0,
                    "flags": 0,
                }
            ]

        monkeypatch.setattr(senders.VettingResolver, "resolve", unvetted)

        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            exchange = post(listener.named("rebind.example"), allowed=())

        assert exchange.error == "blocked_address"
        assert listener.connections == 0

    def test_note_the_address_that_was_dialled_and_not_the_first_one(self):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            exchange = post(listener.named("two.example"), look_up=leading_to("127.0.0.9", "127.0.0.1"))

        assert exchange.succeeded
        assert exchange.address == "127.0.0.1"

    @pytest.mark.parametrize(
        "host",
        [
            "127.0.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "127.1",
            "0177.0.0.1",
            "[::1]",
            "[::ffff:7f00:1]",
            "127.0.0.1.",
            "localhost",
        ],
    )
    def test_block_every_spelling_of_a_private_address(self, host):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            exchange = post(listener.named(host), allowed=())

        assert exchange.error in {"blocked_address", "invalid_url", "dns_error"}
        assert listener.connections == 0

    @pytest.mark.parametrize(
        "url", ["http://", "http:///hook", "nonsense", "http://[::1/", "ftp://a.example/"]
    )
    def test_are_not_made_for_invalid_hosts(self, url):
        exchange = post(url)

        assert (exchange.error, exchange.explanation) == ("invalid_url", "The address is not a URL.")


class TestPhases:
    def test_are_recorded(self):
        def look_up(host, port, family):
            time.sleep(0.1)
            return leading_to("127.0.0.1")(host, port, family)

        with servers.opened(servers.slow(0.2)) as listener:
            exchange = post(listener.named("hooks.shop.example"), look_up=look_up)

        assert 90 < exchange.dns_ms < 300
        assert 0 < exchange.connect_ms < 100
        assert 190 < exchange.wait_ms < 400
        assert exchange.total_ms >= exchange.dns_ms + exchange.connect_ms + exchange.wait_ms - 1

    def test_separate_tls_from_the_connection(self, authority):
        with (
            servers.opened(
                servers.answering(servers.NO_CONTENT), tls=authority.serving(), before_tls=0.2
            ) as listener,
        ):
            exchange = post(
                listener.named(servers.NAME), look_up=leading_to("127.0.0.1"), tls=authority.trusting()
            )

        assert 0 < exchange.connect_ms < 150
        assert 190 < exchange.tls_ms < 400
        assert exchange.wait_ms is not None

    def test_are_those_of_the_address_that_answered(self, authority):
        with (
            servers.opened(servers.answering(servers.NO_CONTENT), tls=authority.serving()) as listener,
            servers.opened(servers.closing_at_once, at=("127.0.0.9", listener.port)),
        ):
            exchange = post(
                listener.named(servers.NAME),
                look_up=leading_to("127.0.0.9", "127.0.0.1"),
                tls=authority.trusting(),
            )

        assert exchange.succeeded
        assert exchange.address == "127.0.0.1"
        assert exchange.tls_ms < 200

    def test_have_no_tls_phase_without_tls(self):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            exchange = post(listener.url)

        assert exchange.connect_ms is not None
        assert exchange.tls_ms is None

    def test_of_a_kept_connection_are_empty(self, authority):
        with servers.opened(servers.answering(servers.NO_CONTENT), tls=authority.serving()) as listener:
            first, second = post_all(
                [listener.named(servers.NAME)] * 2, look_up=leading_to("127.0.0.1"), tls=authority.trusting()
            )

        assert first.tls_ms > 0
        assert (second.dns_ms, second.connect_ms, second.tls_ms) == (None, None, None)

    def test_that_did_not_happen_are_empty(self):
        with servers.opened(servers.silent) as listener:
            exchange = post(listener.url)

        assert exchange.dns_ms is None
        assert exchange.connect_ms is not None
        assert exchange.wait_ms is None
        assert TIMEOUT * 1000 <= exchange.total_ms < (TIMEOUT + SLACK) * 1000


class TestKeptConnections:
    def test_are_used_again(self):
        with servers.opened(servers.answering(servers.status(200, body=b"ok"))) as listener:
            exchanges = post_all([listener.url] * 5)

        assert all(exchange.succeeded for exchange in exchanges)
        assert [exchange.address for exchange in exchanges] == ["127.0.0.1"] * 5
        assert exchanges[-1].connect_ms is None
        assert listener.connections == 1

    def test_that_the_peer_closes_are_no_failure_of_the_endpoint(self):
        with servers.opened(servers.closing_kept_connections) as listener:
            exchanges = post_all([listener.url] * 3)

        assert [exchange.error for exchange in exchanges] == [""] * 3
        assert listener.connections == 3
        assert len(listener.requests) == 3

    def test_are_closed_while_a_body_is_still_arriving(self):
        with servers.opened(servers.body_drip) as listener:
            exchanges = post_all([listener.url] * 2)

        assert all(exchange.succeeded for exchange in exchanges)
        assert listener.connections == 2


class TestRequest:
    def test_is_a_post_of_the_bytes_with_our_headers_and_no_others(self):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            post(
                listener.url,
                headers={
                    "User-Agent": "Sluice-Webhooks/1.0",
                    "Content-Type": "application/json",
                    "X-Service-Event": "payment.success",
                },
            )

        (request,) = listener.requests
        assert request.line == "POST /hook HTTP/1.1"
        assert request.body == BODY
        assert sorted((name.lower(), value) for name, value in request.headers) == [
            ("accept", "*/*"),
            ("accept-encoding", "identity"),
            ("content-length", str(len(BODY))),
            ("content-type", "application/json"),
            ("host", f"127.0.0.1:{listener.port}"),
            ("user-agent", "Sluice-Webhooks/1.0"),
            ("x-service-event", "payment.success"),
        ]

    @pytest.mark.parametrize("value", ["a\r\nX-More: b", "a\nb", "a\rb"])
    def test_refuses_a_header_with_a_line_break(self, value):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            exchange = post(listener.url, headers={"X-Service-Event": value})

        assert exchange.status is None
        assert exchange.error
        assert listener.requests == []

    @pytest.mark.parametrize(
        ("saved", "sent"),
        [
            ("/a%2Fb/%40me/../x/./%7e", ""),
            ("//twice//?a=%2f+b%20c&&=&url=https://x.example/?y|{z}", ""),
            ("/hook?", ""),
            ("?a=1", "/?a=1"),
            ("", "/"),
        ],
    )
    def test_has_the_path_and_query_as_saved(self, saved, sent):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            assert post(listener.url.removesuffix("/hook") + saved).succeeded

        assert listener.requests[0].line == f"POST {sent or saved} HTTP/1.1"

    @pytest.mark.parametrize("wrong", ["é", "a b", "a\r\nX-More: c"])
    def test_is_not_made_to_a_url_that_is_not_printable_ascii(self, wrong):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            exchange = post(f"{listener.url}/{wrong}")

        assert exchange.error == "invalid_url"
        assert listener.requests == []

    @pytest.mark.parametrize("credentials", ["ada:secret@", "ada@", ":secret@", ":@", "@"])
    def test_is_not_made_with_credentials_in_the_url(self, credentials):
        with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
            exchange = post(listener.url.replace("://", f"://{credentials}"))

        assert exchange.error == "invalid_url"
        assert listener.connections == 0

    def test_carries_no_cookie_that_was_set_before(self):
        answer = servers.status(200, "Set-Cookie: session=1; Path=/")
        with servers.opened(servers.answering(answer)) as listener:
            post_all([listener.url] * 2)

        assert [request.header("Cookie") for request in listener.requests] == [None, None]

    def test_ignores_proxies_and_netrc_of_the_environment(self, monkeypatch, tmp_path):
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login ada password secret\n")
        netrc.chmod(0o600)
        monkeypatch.setenv("NETRC", str(netrc))
        with servers.opened(servers.answering(servers.NO_CONTENT)) as proxy:
            for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.delenv("no_proxy", raising=False)
            with servers.opened(servers.answering(servers.NO_CONTENT)) as listener:
                exchange = post(listener.url)

        assert exchange.succeeded
        assert proxy.connections == 0
        assert listener.requests[0].header("Authorization") is None
        assert os.environ["http_proxy"]
