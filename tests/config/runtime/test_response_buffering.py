"""When the parts of a response are sent."""

import socket

import pytest

from config.runtime.response_buffering import BufferedResponse


@pytest.fixture
def connection():
    server, client = socket.socketpair()
    with server, client:
        server.setblocking(False)
        client.setblocking(False)
        yield BufferedResponse(server), client


class TestHeaders:
    def test_are_sent_with_the_body(self, connection):
        response, client = connection
        response.sendall(b"headers ")
        with pytest.raises(BlockingIOError):
            client.recv(100)
        response.sendall(b"body ")
        assert client.recv(100) == b"headers body "
        response.sendall(b"more")
        assert client.recv(100) == b"more"

    def test_are_sent_without_a_body(self, connection):
        response, client = connection
        response.sendall(b"headers")
        response.end()
        assert client.recv(100) == b"headers"

    def test_of_the_next_response_wait_too(self, connection):
        response, client = connection
        for _ in range(2):
            response.sendall(b"headers ")
            response.sendall(b"body")
            response.end()
            assert client.recv(100) == b"headers body"

    def test_follow_an_interim_response(self, connection):
        response, client = connection
        response.send(b"100 Continue")
        assert client.recv(100) == b"100 Continue"
        response.sendall(b"headers ")
        response.sendall(b"body")
        assert client.recv(100) == b"headers body"
