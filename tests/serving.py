"""Run a local HTTP server in a thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import TypeVar

from payments.simulators.http_server import SimulatorServer

Simulator = TypeVar("Simulator", bound=SimulatorServer)


@contextmanager
def serving(server: HTTPServer) -> Iterator[None]:
    """Serve until the end of the block, and then close the server."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def simulator_serving(server: Simulator) -> Iterator[Simulator]:
    """Serve a simulator until the end of the block, and then stop it with the calls that it keeps waiting."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(5)
