"""Calls that both sides sign: the request with our key, and the answer for this request."""

import json
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from kit.connectors.http_client import HttpAnswer, HttpClient, HttpRequest, NoAnswer
from kit.files import bounded_json
from payments.rails.bank_signing import (
    CLIENT_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    answer_signature,
    is_signed,
    request_signature,
)

Document: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The server to call, and our key. The repr hides the key."""

    url: str
    client_id: str
    key: str
    timeout: float  # seconds for one call, from the DNS lookup to the answer's last byte
    ca_file: str = ""

    def __repr__(self) -> str:
        return f"<Peer {self.url}>"


class SignedCaller:
    """Makes calls to one peer. Thread-safe."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._path = urlsplit(peer.url).path
        self._client = HttpClient(ca_file=peer.ca_file)

    def has_room(self) -> bool:
        """Return whether another call can be made now."""
        return self._client.has_room()

    def call(self, method: str, path: str, document: Document | None = None) -> Document:
        """Make a signed call and return its answer.

        :raises NoAnswer: no answer arrived in time, its status isn't 200, or its signature is invalid
        """
        body = b"" if document is None else json.dumps(document).encode()
        timestamp = str(int(time.time()))
        asked = request_signature(
            self._peer.key, timestamp=timestamp, method=method, target=self._path + path, body=body
        )
        headers = {
            CLIENT_HEADER: self._peer.client_id,
            TIMESTAMP_HEADER: timestamp,
            SIGNATURE_HEADER: asked,
            **({"Content-Type": "application/json"} if body else {}),
        }
        request = HttpRequest(method, self._peer.url + path, headers, body)
        return self._read(self._client.call(request, timeout=self._peer.timeout), asked=asked)

    def _read(self, answer: HttpAnswer, *, asked: str) -> Document:
        if answer.status != HTTPStatus.OK:
            raise NoAnswer(f"status {answer.status}")
        expected = answer_signature(self._peer.key, asked=asked, body=answer.body)
        if not is_signed(answer.headers.get(SIGNATURE_HEADER, ""), expected):
            raise NoAnswer("not signed")
        try:
            document = bounded_json.loads(answer.body.decode())
        except ValueError as problem:
            raise NoAnswer(type(problem).__name__) from None
        if not isinstance(document, dict):
            raise NoAnswer("no object")
        return document
