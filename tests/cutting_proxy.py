"""A proxy between a client and the service that loses answers: the request arrives, and its answer does not."""

import hashlib
import re
import socket
import threading
from collections import Counter
from urllib.parse import urlsplit

Seen = tuple[str, str, str]  # method, path, and a hash of the body


class CuttingProxy:
    """Passes requests on to `base_url`. Of each write, the first answer is lost: the connection closes instead.

    `seen` counts the requests that arrived; the same write repeated is counted under one key.
    """

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        self._service = (parts.hostname or "", parts.port or 80)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self.seen: Counter[Seen] = Counter()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def times(self, ending: str) -> list[int]:
        """Return how often each write whose path ends so arrived."""
        return [
            count
            for (method, path, _), count in self.seen.items()
            if method != "GET" and path.endswith(ending)
        ]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._pass_on, args=[connection], daemon=True).start()

    def _pass_on(self, connection: socket.socket) -> None:
        with connection:
            while request := _message(connection):
                method, path = request.split(b" ", 2)[:2]
                seen = (method.decode(), path.decode().partition("?")[0], _body_hash(request))
                with socket.create_connection(self._service) as service:
                    service.sendall(request)
                    answer = _message(service)
                with self._lock:
                    self.seen[seen] += 1
                    is_lost = method != b"GET" and self.seen[seen] == 1
                if is_lost:
                    return
                connection.sendall(answer)


def _message(connection: socket.socket) -> bytes:
    """Return a request or an answer with a Content-Length, or nothing at the end."""
    received = b""
    while not _is_whole(received):
        part = connection.recv(65536)
        if not part:
            return b""
        received += part
    return received


def _is_whole(received: bytes) -> bool:
    head, end, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return bool(end) and len(body) >= int(length[1] if length else 0)


def _body_hash(request: bytes) -> str:
    return hashlib.sha256(request.partition(b"\r\n\r\n")[2]).hexdigest()
