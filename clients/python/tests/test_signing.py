import base64
import json
import re
from pathlib import Path

import pytest

from sluice import signing

VECTORS = json.loads(Path(__file__, "../../../../tests/data/signing_vectors.json").resolve().read_text())


@pytest.mark.parametrize("vector", VECTORS["requests"], ids=lambda vector: vector["name"])
def test_reproduces_the_vectors(vector):
    parts = {name: vector[name] for name in ("timestamp", "nonce", "method", "target")}
    body = base64.b64decode(vector["body_base64"])

    text = signing.string_to_sign(body=body, **parts)

    assert text == vector["string_to_sign"]
    assert signing.sign(VECTORS["secret_key"], text) == vector["signature"]


@pytest.mark.parametrize("vector", VECTORS["requests"], ids=lambda vector: vector["name"])
def test_headers_have_the_signature_of_the_vectors(vector):
    headers = signing.headers(
        api_key=VECTORS["api_key"],
        secret_key=VECTORS["secret_key"],
        method=vector["method"].lower(),
        target=vector["target"],
        body=base64.b64decode(vector["body_base64"]),
        timestamp=int(vector["timestamp"]),
        nonce=vector["nonce"],
    )

    assert headers == {
        "X-Api-Key": VECTORS["api_key"],
        "X-Timestamp": vector["timestamp"],
        "X-Nonce": vector["nonce"],
        "X-Signature": vector["signature"],
    }


def test_each_request_has_its_own_nonce():
    nonces = {
        signing.headers(api_key="pk_1", secret_key="sk_1", method="GET", target="/api/banks")["X-Nonce"]
        for _ in range(100)
    }

    assert len(nonces) == 100
    assert all(re.fullmatch("[A-Za-z0-9_-]{16,128}", nonce) for nonce in nonces)
