"""Write a response without waiting for the client, so that clients that read slowly occupy no threads.

A thread sends what the client takes at once and keeps the rest in memory, up to a bound; the event loop of the worker
sends that later. Decision 0074.
"""

import select
import ssl
from typing import IO, Any

RESPONSE_BUFFERED = 2 * 1024 * 1024  # bytes of one response; a thread waits for the client to take the rest
SEND_TIMEOUT = 30  # seconds without progress after which a response is abandoned
CHUNK = 64 * 1024  # bytes for one send


class BufferedResponse:
    """Stands for the socket where gunicorn writes a response to."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self.unsent = bytearray()
        self._is_new = True  # nothing was written yet
        self._headers = b""

    def sendall(self, data: bytes) -> None:
        """Send what the client takes now, and keep the rest. The headers, which are written first, wait for the body.

        Raises:
            BrokenPipeError: the client has not read anything for `SEND_TIMEOUT` seconds.

        """
        if self._is_new:
            self._is_new, self._headers = False, data
            return
        headers, self._headers = self._headers, b""
        self.send(headers + data)

    def send(self, data: bytes) -> None:
        """Send data without waiting for more: gunicorn's "100 Continue".

        Raises:
            BrokenPipeError: see `sendall`.

        """
        has_waited = bool(self.unsent)
        self.unsent += data
        if not has_waited:  # retrying for each of many small pieces would cost more than the response
            self.send_rest()
        while len(self.unsent) > RESPONSE_BUFFERED:
            self._wait_for_client()
            self.send_rest()

    def end(self) -> None:
        """Send the headers if no body followed them. What is written next is another response.

        Raises:
            OSError: the client disconnected.

        """
        if self._headers:
            self.sendall(b"")
        self._is_new = True

    def sendfile(self, file: IO[bytes], offset: int, count: int) -> None:
        file.seek(offset)
        while count and (data := file.read(min(count, CHUNK))):
            count -= len(data)
            self.sendall(data)

    def send_rest(self) -> bool:
        """Send what the client takes now; return whether it took anything. Never blocks.

        Raises:
            OSError: the client disconnected. The rest is discarded.

        """
        before = len(self.unsent)
        try:
            while self.unsent:
                del self.unsent[: self._sock.send(self.unsent[:CHUNK])]
        except (BlockingIOError, ssl.SSLWantWriteError):
            pass
        except OSError:
            self.unsent.clear()
            raise
        return len(self.unsent) < before

    def _wait_for_client(self) -> None:
        writable = select.poll()
        writable.register(self._sock, select.POLLOUT)
        if not writable.poll(SEND_TIMEOUT * 1000):
            self.unsent.clear()
            raise BrokenPipeError("the client does not read its response")

    def shutdown(self, _how: int) -> None:
        """Refuse: gunicorn would wait here until the client closes. The event loop does that."""
        raise OSError("the event loop closes the connection")

    def close(self) -> None:
        """Do nothing, for the same reason."""
