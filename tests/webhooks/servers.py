"""Misbehaving servers for tests, with real sockets and threads.

A receiver is a function of a connection. `opened` listens on a loopback port and runs the receiver in a thread
per connection. `requests` holds what clients sent.
"""

import datetime as dt
import gzip
import ipaddress
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "hooks.shop.example"
DRIP = 0.05  # seconds between two bytes


@dataclass
class Request:
    """A request as received."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    def header(self, name: str) -> str | None:
        values = [value for other, value in self.headers if other.lower() == name.lower()]
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else None


@dataclass
class Visit:
    """One connection to a receiver."""

    socket: socket.socket
    requests: list[Request]
    closing: threading.Event
    left_over: bytes = b""

    def read(self) -> Request:
        """Read one request to the end of its body."""
        while b"\r\n\r\n" not in self.left_over:
            self._more()
        head, _, rest = self.left_over.partition(b"\r\n\r\n")
        line, *lines = head.decode().split("\r\n")
        headers = [(name, value.strip()) for name, _, value in (text.partition(":") for text in lines)]
        length = int({name.lower(): value for name, value in headers}.get("content-length", 0))
        self.left_over = rest
        while len(self.left_over) < length:
            self._more()
        body, self.left_over = self.left_over[:length], self.left_over[length:]
        self.requests.append(Request(line, headers, body))
        return self.requests[-1]

    def _more(self) -> None:
        received = self.socket.recv(65536)
        if not received:
            raise ConnectionError
        self.left_over += received

    def send(self, text: bytes) -> None:
        self.socket.sendall(text)

    def drip(self, text: bytes) -> None:
        for byte in text:
            if self.closing.wait(DRIP):
                return
            self.send(bytes([byte]))

    def pour(self, text: bytes) -> None:
        """Send the same bytes until the client disconnects.

        The pause between two sends keeps this thread from starving the sender, which runs in the same process.
        """
        while not self.closing.wait(0.001):
            self.send(text)

    def stay(self) -> None:
        self.closing.wait(30)


Receiver = Callable[[Visit], None]


@dataclass
class Listener:
    """A listening receiver and the requests it has received."""

    port: int
    scheme: str
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/hook"

    def named(self, name: str) -> str:
        return f"{self.scheme}://{name}:{self.port}/hook"


@contextmanager
def opened(
    receiver: Receiver,
    *,
    tls: ssl.SSLContext | None = None,
    before_tls: float = 0,
    at: tuple[str, int] = ("127.0.0.1", 0),
) -> Iterator[Listener]:
    """Accept connections until the block ends. `before_tls` delays the TLS handshake by this many seconds."""
    listener = socket.create_server(at, backlog=256)
    opened_at = Listener(listener.getsockname()[1], "https" if tls else "http")
    closing = threading.Event()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with suppress(OSError):  # the client disconnected, as expected
            connection.settimeout(5)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            closing.wait(before_tls)
            with tls.wrap_socket(connection, server_side=True) if tls else connection as wrapped:
                receiver(Visit(wrapped, opened_at.requests, closing))

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                opened_at.connections += 1
                threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
                threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield opened_at
    finally:
        closing.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(5)
        for thread in threads:
            thread.join(6)


def refused_port() -> int:
    """Return a port that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


# Regular servers -------------------------------------------------------------------------------------


def answering(*answers: bytes) -> Receiver:
    """Answer each request on a connection in turn; the last response is repeated."""

    def receive(visit: Visit) -> None:
        left = list(answers)
        while True:
            visit.read()
            visit.send(left.pop(0) if len(left) > 1 else left[0])

    return receive


def status(code: int, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {code} Words", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


def slow(seconds: float, answer: bytes = NO_CONTENT) -> Receiver:
    def receive(visit: Visit) -> None:
        while True:
            visit.read()
            visit.closing.wait(seconds)
            visit.send(answer)

    return receive


def answering_together(count: int) -> Receiver:
    """Answer only when this many requests are here at once."""
    all_here = threading.Barrier(count, timeout=25)

    def receive(visit: Visit) -> None:
        visit.read()
        all_here.wait()
        visit.send(NO_CONTENT)

    return receive


def closing_kept_connections(visit: Visit) -> None:
    """Answer once, and close on the next request, like a server whose idle timeout has expired."""
    visit.read()
    visit.send(NO_CONTENT)
    visit.socket.recv(1)


# Misbehaving servers ---------------------------------------------------------------------------------


def silent(visit: Visit) -> None:
    visit.read()
    visit.stay()


def header_drip(visit: Visit) -> None:
    visit.read()
    visit.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: " + b"a" * 1000)


def body_drip(visit: Visit) -> None:
    visit.read()
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nfirst words")
    visit.drip(b"b" * 1000)


def endless_body(visit: Visit) -> None:
    visit.read()
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    visit.pour(b"c" * 65536)


def endless_chunks(visit: Visit) -> None:
    visit.read()
    visit.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    visit.pour(b"4000\r\n" + b"d" * 0x4000 + b"\r\n")


BOMB = gzip.compress(b"\0" * 50_000_000, 9)


def gzip_bomb(visit: Visit) -> None:
    visit.read()
    visit.send(status(200, "Content-Encoding: gzip", body=BOMB))


def reset(visit: Visit) -> None:
    visit.read()
    visit.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def garbage(visit: Visit) -> None:
    visit.read()
    visit.send(b"\x00\xff\x16\x03 this is not HTTP\r\n\r\n")


def garbage_in_the_body(visit: Visit) -> None:
    visit.read()
    visit.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    visit.closing.wait(DRIP)
    visit.send(b"this is no chunk\r\n")


def garbage_with_the_headers(visit: Visit) -> None:
    visit.read()
    visit.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nthis is no chunk\r\n")
    visit.stay()


def closing_within_the_body(visit: Visit) -> None:
    visit.read()
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")


def closing_without_answer(visit: Visit) -> None:
    visit.read()


def closing_at_once(visit: Visit) -> None:
    """Accept a connection and close it, during the TLS handshake if there is one."""


def continue_flood(visit: Visit) -> None:
    visit.read()
    visit.pour(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def header_flood(visit: Visit) -> None:
    visit.read()
    visit.send(b"HTTP/1.1 200 OK\r\n")
    visit.pour(b"".join(b"X-Header-%d: %s\r\n" % (number, b"e" * 500) for number in range(100)))


def long_header(visit: Visit) -> None:
    visit.read()
    visit.send(b"HTTP/1.1 200 OK\r\nX-Long: ")
    visit.pour(b"f" * 65536)


# Certificates ----------------------------------------------------------------------------------------


class Authority:
    """A certificate authority made at test time, and a context that trusts only it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        self._certificate = (
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def trusting(self) -> ssl.SSLContext:
        pem = self._certificate.public_bytes(serialization.Encoding.PEM).decode()
        return ssl.create_default_context(cadata=pem)

    def serving(
        self, name: str = NAME, *, expired: bool = False, self_signed: bool = False
    ) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key, expired=expired, issuer=subject if self_signed else self._name)
        names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(
            x509.SubjectAlternativeName(names[: 1 if name != NAME else 2]), critical=False
        )
        certificate = builder.sign(key if self_signed else self._key, hashes.SHA256())
        return self._context(certificate, key)

    def _builder(self, subject, key, *, expired=False, issuer=None) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        end = now - dt.timedelta(days=1) if expired else now + dt.timedelta(days=1)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer or self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=2))
            .not_valid_after(end)
        )

    def _context(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
        path = self._folder / f"{certificate.serial_number}.pem"
        path.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context
