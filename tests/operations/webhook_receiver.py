"""A merchant's receiver with TLS on port 443: it appends each request to a file, as a line of JSON.

python -m tests.operations.webhook_receiver ADDRESS CERTIFICATE KEY FILE
"""

import json
import socket
import ssl
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Server(HTTPServer):
    address_family = socket.AF_INET6


def main() -> None:
    address, certificate, key, file = sys.argv[1:]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            with Path(file).open("a") as arrivals:
                arrivals.write(
                    json.dumps({"signature": self.headers["X-Service-Signature"], "body": body}) + "\n"
                )
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = Server((address, 443), Handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
