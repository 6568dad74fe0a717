import contextlib
import os
import re
import socket
import ssl
import threading
import time

import pytest
import trustme

import sluice
from sluice import transport as transport_module
from sluice.cli import doctor_checks
from sluice.transport import HttpTransport, Request

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CLOSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


def _is_whole(received):
    head, end, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and len(body) >= int(length[1] if length else 0)


class Server:
    """A server on a raw socket. It answers each request on a connection with the next of its answers."""

    def __init__(self, *answers):
        self.answers, self.received, self.connections = list(answers), [], 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            connection, _ = self._socket.accept()
            self.connections += 1
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection):
        with connection:
            while self.answers:
                received = b""
                while not _is_whole(received):
                    part = connection.recv(65536)
                    if not part:
                        return
                    received += part
                self.received.append(received)
                answer = self.answers.pop(0)
                connection.sendall(answer)
                if answer in (b"", CLOSE):
                    return


def transport(server, **options):
    return HttpTransport(server.url, **{"connect_timeout": 2, "read_timeout": 2, **options})


@pytest.mark.parametrize(
    "target", ["/api/payments?a=%3a%3A&b=~", "/api/payments/a:b", "/api/x?q=%E1%BB%8D+y%20z", "/api//x/../y"]
)
def test_sends_the_target_byte_for_byte(target):
    server = Server(OK)

    transport(server).send(Request("GET", target, {"X-Nonce": "n"}))

    assert server.received[0].split(b"\r\n")[0] == f"GET {target} HTTP/1.1".encode()


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/payments/a:b?q=%3a~", "/api/payments/a:b?q=%3a~"),
        ("/api/x?q=%3A%3a&b=~", "/api/x?q=%3A%3a&b=~"),
        ("/api/x/a b?c=d e", "/api/x/a%20b?c=d%20e"),
        ("/api/\u1ecd?q=\u00e9", "/api/%E1%BB%8D?q=%C3%A9"),
        ("/api/x?a\r\nX-Evil: 1", "/api/x?a%0D%0AX-Evil:%201"),
    ],
)
@pytest.mark.parametrize("body", [None, {"narration": "\u1ecc\u0300r\u1eb9\u0301 ~ %3a"}])
def test_client_sends_what_it_signed(path, target, body):
    server = Server(OK)
    made = sluice.Sluice(server.url, "pk_1", "sk_1")

    made.call("POST" if body else "GET", path, body=body)

    head, _, sent = server.received[0].partition(b"\r\n\r\n")
    line, *rest = head.decode("ascii").split("\r\n")
    headers = dict(each.split(": ", 1) for each in rest)
    text = sluice.signing.string_to_sign(
        timestamp=headers["X-Timestamp"],
        nonce=headers["X-Nonce"],
        method=line.split(" ")[0],
        target=line.split(" ")[1],
        body=sent,
    )
    assert line.split(" ")[1] == target
    assert headers["X-Signature"] == sluice.signing.sign("sk_1", text)
    assert b"X-Evil" not in b"\n".join(each.encode() for each in headers)


def test_follows_no_redirect_and_sends_nothing_of_its_own():
    server = Server(
        b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n", OK
    )
    made = transport(server)

    answer = made.send(Request("GET", "/", {"X-Nonce": "n"}))
    made.send(Request("GET", "/", {"X-Nonce": "n"}))

    assert answer.status == 302
    for received in server.received:
        names = {line.split(b":")[0].lower() for line in received.split(b"\r\n")[1:] if line}
        assert names == {b"host", b"x-nonce"}


def test_keeps_a_connection_for_the_next_request():
    server = Server(OK, OK, CLOSE, OK)
    made = transport(server)

    for _ in range(4):
        made.send(Request("GET", "/", {}))

    assert server.connections == 2


def test_closes_connections_that_were_idle_for_too_long(monkeypatch):
    server = Server(OK, OK)
    made = transport(server)
    made.send(Request("GET", "/", {}))
    later = time.monotonic() + transport_module.IDLE_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)

    made.send(Request("GET", "/", {}))

    assert server.connections == 2


def test_closes_its_idle_connections_at_the_end():
    server = Server(OK, OK)
    made = transport(server)
    made.send(Request("GET", "/", {}))

    made.close()

    assert len(made._pool) == 0


def test_opens_another_connection_after_a_fork():
    server = Server(OK, OK, OK)
    made = transport(server)
    made.send(Request("GET", "/", {}))

    child = os.fork()
    if child == 0:
        made.send(Request("GET", "/child", {}))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    made.send(Request("GET", "/parent", {}))

    assert server.connections == 2
    assert [received.split()[1] for received in server.received] == [b"/", b"/child", b"/parent"]


def test_tells_what_was_not_sent_from_what_is_unknown():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(sluice.NotSent):
        HttpTransport(url, connect_timeout=1, read_timeout=1).send(Request("GET", "/", {}))

    for answer in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", b"nonsense\r\n\r\n"):
        with pytest.raises(sluice.OutcomeUnknown):
            transport(Server(answer), read_timeout=0.3).send(Request("GET", "/", {}))


def test_sends_through_a_proxy_only_if_told_to(monkeypatch):
    proxy, server = Server(OK), Server(OK)
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("HTTP_PROXY", proxy.url)

    transport(server).send(Request("GET", "/direct", {}))
    assert (len(server.received), len(proxy.received)) == (1, 0)

    with_login = proxy.url.replace("//", "//ada:p%40ss@")
    transport(server, proxy=with_login).send(Request("GET", "/forwarded", {}))
    assert proxy.received[0].split()[1] == f"{server.url}/forwarded".encode()
    assert b"Proxy-Authorization: Basic YWRhOnBAc3M=" in proxy.received[0]


def test_tunnels_tls_through_a_proxy():
    proxy = Server(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    made = HttpTransport("https://pay.example", connect_timeout=2, read_timeout=2, proxy=proxy.url)

    with pytest.raises(sluice.NotSent):
        made.send(Request("GET", "/", {"X-Signature": "canary"}))

    assert proxy.received[0].startswith(b"CONNECT pay.example:443 ")
    assert b"canary" not in proxy.received[0]


@pytest.mark.parametrize("proxy", ["proxy.example:3128", "socks5://proxy.example", "https://proxy.example"])
def test_refuses_what_is_no_proxy(proxy):
    with pytest.raises(ValueError, match="proxy must look like"):
        HttpTransport("https://pay.example", connect_timeout=1, read_timeout=1, proxy=proxy)


def test_verifies_certificates_with_tls_1_2_or_newer(tmp_path):
    context = HttpTransport("https://pay.example", connect_timeout=1, read_timeout=1)._tls
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2

    (tmp_path / "ca.pem").write_text("nonsense")
    for file in ("ca.pem", "missing.pem"):
        with pytest.raises(ValueError, match=file):
            HttpTransport(
                "https://pay.example", connect_timeout=1, read_timeout=1, ca_file=str(tmp_path / file)
            )


class Echo(Server):
    """Answers with the path of the request."""

    def _answer(self, connection):
        with connection:
            while received := connection.recv(65536):
                path = received.split()[1]
                head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(path)}\r\n\r\n".encode()
                connection.sendall(head + path)


def test_serves_many_threads_without_mixing_answers_up():
    made, wrong = transport(Echo(OK)), []

    def ask(number):
        for turn in range(20):
            path = f"/{number}/{turn}"
            if made.send(Request("GET", path, {})).body != path.encode():
                wrong.append(path)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert len(made._pool) <= 10


@pytest.fixture
def authority(tmp_path):
    """An authority whose certificates no machine trusts."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made


@pytest.fixture
def tls_server(authority):
    """The URL of a server with a certificate of that authority. It answers one request on each connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection = context.wrap_socket(listening.accept()[0], server_side=True)
            except ssl.SSLError:  # the client does not trust it
                continue
            except OSError:
                return
            with connection, contextlib.suppress(OSError):  # the doctor only connects
                connection.recv(65536)
                connection.sendall(CLOSE)

    threading.Thread(target=serve, daemon=True).start()
    yield f"https://127.0.0.1:{listening.getsockname()[1]}"
    listening.close()


def test_trusts_the_certificates_of_ca_file_and_no_others(tls_server, tmp_path):
    ca_file = str(tmp_path / "ca.pem")
    assert transport_module.HttpTransport(
        tls_server, connect_timeout=2, read_timeout=2, ca_file=ca_file
    ).send(Request("GET", "/", {})).status == 200  # fmt: skip

    with pytest.raises(sluice.NotSent, match="certificate is not valid"):
        transport(type("Untrusted", (), {"url": tls_server})).send(Request("GET", "/", {}))


def test_doctor_says_what_to_do_about_a_certificate(tls_server, tmp_path, monkeypatch):
    refused = list(doctor_checks.network(tls_server))[-1]
    assert (refused.check, refused.result) == ("tls", "wrong")
    assert "ca_file" in refused.advice

    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    trusted = list(doctor_checks.network(tls_server))[-1]
    assert trusted.result == "ok"
    assert trusted.detail.startswith("TLSv1.")


@pytest.mark.parametrize(
    ("scheme", "answer", "words"),
    [
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", "this port answers plain http"),
        ("http", b"\x15\x03\x01\x00\x02\x02\x16", "this port answers https"),
    ],
    ids=["https", "http"],
)
def test_names_an_address_of_the_wrong_scheme(scheme, answer, words):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        address = f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
        transport = HttpTransport(address, connect_timeout=5, read_timeout=5)

        with pytest.raises(sluice.TransportError, match=words):
            transport.send(Request("GET", "/", {}))
