"""A receiver that answers 204 to every POST, as fast as Python can: `python benchmarks/sink.py PORT`."""

import asyncio
import sys


class Sink(asyncio.Protocol):
    """Understands as much HTTP as it takes to find the end of a request with a Content-Length."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (head := self.buffer.find(b"\r\n\r\n")) >= 0:
            at = self.buffer.lower().find(b"content-length:", 0, head)
            length = int(self.buffer[at + 15 : self.buffer.find(b"\r\n", at)]) if at >= 0 else 0
            if len(self.buffer) < head + 4 + length:
                return
            self.buffer = self.buffer[head + 4 + length :]
            self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Sink, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
