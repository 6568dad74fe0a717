"""Many threads over one client, with a fork in between."""

import json
import logging
import os
import secrets
import threading

import pytest

import sluice
from sluice import signing
from sluice.credentials import from_sandbox

pytestmark = pytest.mark.long

THREADS, TURNS = 64, 4


class Recorder:
    """A transport that checks every signature and keeps every nonce."""

    def __init__(self, inner, secret_key):
        self.inner, self._secret_key, self.nonces = inner, secret_key, []

    def send(self, request):
        headers = request.headers
        text = signing.string_to_sign(
            timestamp=headers["X-Timestamp"],
            nonce=headers["X-Nonce"],
            method=request.method,
            target=request.target,
            body=request.body,
        )
        assert headers["X-Signature"] == signing.sign(self._secret_key, text)
        self.nonces.append(headers["X-Nonce"])
        return self.inner.send(request)


class Callers:
    """64 threads that look up payments, and what they got wrong."""

    def __init__(self, client, references):
        self._client, self._references, self.wrong = client, references, []
        self._threads = [threading.Thread(target=self._ask, args=[number]) for number in range(THREADS)]
        for thread in self._threads:
            thread.start()

    def join(self):
        for thread in self._threads:
            thread.join()

    def _ask(self, number):
        for turn in range(TURNS):
            reference = self._references[(number + turn) % len(self._references)]
            try:
                found = self._client.payments.get(reference).reference
            except sluice.SluiceError as problem:
                found = repr(problem)
            if found != reference:
                self.wrong.append(found)


def test_share_a_client_with_a_fork_in_between(sandbox, client, card, tmp_path, monkeypatch):
    # The child inherits stderr's lock, which no one releases there if a thread was just writing a line.
    monkeypatch.setattr(logging.getLogger("sluice"), "disabled", True)
    references = [f"threads-{secrets.token_hex(4)}" for _ in range(8)]
    for reference in references:
        client.card_checks.create(reference=reference, currency="NGN", source=card)
    keys = from_sandbox(sandbox)
    shared = sluice.Sluice(keys.base_url, keys.api_key, keys.secret_key, retries=9)
    recorder = shared._caller.transport = Recorder(shared._caller.transport, keys.secret_key)
    callers = Callers(shared, references)

    child = os.fork()
    if child == 0:
        try:
            recorder.nonces.clear()
            in_child = Callers(shared, references)
            in_child.join()
            (tmp_path / "child.json").write_text(json.dumps([in_child.wrong, recorder.nonces]))
        finally:
            os._exit(0)
    callers.join()
    os.waitpid(child, 0)
    wrong_in_child, nonces_of_child = json.loads((tmp_path / "child.json").read_text())

    nonces = [*recorder.nonces, *nonces_of_child]
    assert (callers.wrong, wrong_in_child) == ([], [])
    assert len(set(nonces)) == len(nonces) >= 2 * THREADS * TURNS
