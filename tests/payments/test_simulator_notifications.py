"""Notifications of simulators over HTTP."""

from payments.simulators.http_server import Conversation, SimulatorServer, status_of, written
from tests.serving import serving


class Echo(Conversation):
    """Answers with 204, and notes what was asked."""

    def _note(self) -> None:
        self.server.asked.append((self.path, self.read_body()))
        self.wfile.write(written(204, {}, b""))

    do_POST = _note  # noqa: N815  (the name of the library)


def test_are_sent_to_the_address_with_its_query():
    server = SimulatorServer(Echo, port=0)
    server.asked = []
    with serving(server):
        status = status_of(f"{server.url}/hooks?shop=7&x=%2F", {}, b"{}", timeout=5)

    assert (status, server.asked) == (204, [("/hooks?shop=7&x=%2F", b"{}")])


def test_have_no_status_without_an_answer():
    server = SimulatorServer(Echo, port=0)
    server.server_close()

    assert status_of(f"{server.url}/", {}, b"{}", timeout=5) == 0
