"""A merchant's receiver of webhooks: HTTPS with a certificate of its own authority."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext

import trustme

from tests.serving import serving

HOST = "hooks.example.com"
PORT = 8443


@dataclass(frozen=True)
class Webhook:
    headers: HTTPMessage
    body: bytes


@dataclass
class Receiver:
    authority: Path  # the certificate that clients must trust
    url: str = f"https://{HOST}:{PORT}/hooks"
    webhooks: list[Webhook] = field(default_factory=list)


@contextmanager
def running_receiver(address: str, folder: Path) -> Iterator[Receiver]:
    authority = trustme.CA()
    receiver = Receiver(folder / "authority.pem")
    authority.cert_pem.write_to_path(str(receiver.authority))
    receiver.authority.chmod(0o644)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.webhooks.append(Webhook(self.headers, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    tls = SSLContext(PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(tls)
    server = ThreadingHTTPServer((address, PORT), Handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    with serving(server):
        yield receiver
