"""The signing vectors of the contract: service, commands and a plain HMAC must all agree with them."""

import base64
import hashlib
import hmac
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from config.environment.env import PROJECT
from config.environment.sandbox_folder import SandboxFolder
from merchants.api import signing
from tests.factories import ApiKeyFactory

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "signing_vectors.json").read_text())
SECRET_KEY = VECTORS["secret_key"]
REQUESTS = [pytest.param(vector, id=vector["name"]) for vector in VECTORS["requests"]]


def body_of(vector):
    return base64.b64decode(vector["body_base64"])


def text_of(vector):
    return signing.string_to_sign(
        timestamp=vector["timestamp"],
        nonce=vector["nonce"],
        method=vector["method"],
        target=vector["target"],
        body=body_of(vector),
    )


class TestStringToSign:
    @pytest.mark.parametrize("vector", REQUESTS)
    def test_matches_the_vectors(self, vector):
        text = text_of(vector)

        assert text == vector["string_to_sign"]
        assert text.rsplit("\n", 1)[1] == vector["body_sha256"]

    def test_has_an_uppercase_method(self):
        text = signing.string_to_sign(timestamp="1", nonce="n", method="post", target="/", body=b"")

        assert text.split("\n")[2] == "POST"

    def test_has_four_line_feeds_and_none_at_the_end(self):
        text = signing.string_to_sign(timestamp="1", nonce="n", method="GET", target="/", body=b"\n")

        assert text.count("\n") == 4
        assert not text.endswith("\n")


class TestSignature:
    @pytest.mark.parametrize("vector", REQUESTS)
    def test_matches_the_vectors(self, vector):
        signature = signing.sign(SECRET_KEY, vector["string_to_sign"])

        assert signature == vector["signature"]

    @pytest.mark.parametrize("vector", REQUESTS)
    def test_is_a_plain_hmac(self, vector):
        plain = hmac.new(SECRET_KEY.encode(), vector["string_to_sign"].encode(), hashlib.sha256)

        assert plain.hexdigest() == vector["signature"]

    @pytest.mark.parametrize("vector", REQUESTS)
    def test_is_recognised_in_either_case(self, vector):
        text = vector["string_to_sign"]

        for spelling in (vector["signature"], vector["signature"].upper()):
            assert signing.is_signature(spelling, secret_key=SECRET_KEY, text=text)

    @pytest.mark.parametrize("vector", REQUESTS)
    def test_matches_no_other_request(self, vector):
        others = [other for other in VECTORS["requests"] if other["name"] != vector["name"]]

        for other in others:
            text = other["string_to_sign"]
            assert not signing.is_signature(vector["signature"], secret_key=SECRET_KEY, text=text)

    @pytest.mark.parametrize("wrong", ["", "é" * 64, "0" * 63, "0" * 65, "zz" * 32])
    def test_that_is_malformed_is_rejected_without_an_exception(self, wrong):
        assert not signing.is_signature(wrong, secret_key=SECRET_KEY, text="anything")


class TestWebhookSignature:
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (VECTORS["webhook"]["body"], VECTORS["webhook"]["signature"]),
            ("", VECTORS["webhook"]["empty_body_signature"]),
        ],
    )
    def test_is_a_plain_hmac_over_the_raw_body(self, body, expected):
        hash_key = VECTORS["webhook"]["hash_key"]

        plain = hmac.new(hash_key.encode(), body.encode(), hashlib.sha256).hexdigest()

        assert plain == expected


@pytest.fixture
def vector_key(db):
    """A key pair with the vectors' own id and secret."""
    return ApiKeyFactory(public_id=VECTORS["api_key"], secret=SECRET_KEY)


def sign_request(*arguments, **options):
    printed = io.StringIO()
    call_command("sign_request", *arguments, stdout=printed, api_key=VECTORS["api_key"], **options)
    return printed.getvalue()


def sign_vector(vector, **options):
    options = {"timestamp": vector["timestamp"], "nonce": vector["nonce"]} | options
    return sign_request(vector["method"], vector["target"], **options)


def stdin_of(monkeypatch, body):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(body)))


@pytest.mark.usefixtures("vector_key")
class TestSignRequestCommand:
    @pytest.mark.parametrize("vector", REQUESTS)
    def test_matches_the_vectors(self, vector):
        printed = sign_vector(vector, body=body_of(vector).decode(), json=True)

        document = json.loads(printed)
        assert document["string_to_sign"] == vector["string_to_sign"]
        assert document["headers"] == {
            "X-Api-Key": VECTORS["api_key"],
            "X-Timestamp": vector["timestamp"],
            "X-Nonce": vector["nonce"],
            "X-Signature": vector["signature"],
        }

    @pytest.mark.parametrize("vector", REQUESTS)
    def test_keeps_the_bytes_of_a_body_from_standard_input(self, vector, monkeypatch):
        stdin_of(monkeypatch, body_of(vector))

        printed = sign_vector(vector, body="-", json=True)

        assert json.loads(printed)["headers"]["X-Signature"] == vector["signature"]

    def test_signs_binary_bodies(self, monkeypatch):
        vector, body = VECTORS["requests"][0], b"\xff\xfe\r\n"
        stdin_of(monkeypatch, body)

        printed = sign_vector(vector, body="-", json=True)

        text = json.loads(printed)["string_to_sign"]
        assert text.rsplit("\n", 1)[1] == hashlib.sha256(body).hexdigest()

    def test_prints_a_curl_line_that_sends_the_signed_request(self):
        vector = VECTORS["requests"][-1]

        printed = sign_vector(vector, body=body_of(vector).decode())

        arguments = shlex.split(printed)
        assert arguments[arguments.index("--data-binary") + 1].encode() == body_of(vector)
        assert f"X-Signature: {vector['signature']}" in arguments
        assert arguments[-1].endswith(vector["target"])

    @pytest.mark.parametrize(
        ("options", "named"),
        [({"nonce": "short"}, "--nonce"), ({"timestamp": "yesterday"}, "--timestamp")],
    )
    def test_rejects_what_the_service_would_reject(self, options, named):
        with pytest.raises(CommandError, match=named) as refusal:
            sign_vector(VECTORS["requests"][0], **options)

        assert refusal.value.returncode == 2

    def test_rejects_a_target_without_its_slash(self):
        with pytest.raises(CommandError, match="slash") as refusal:
            sign_request("GET", "api/banks")

        assert refusal.value.returncode == 2


class TestSignRequestWithoutKey:
    @pytest.mark.django_db
    def test_reports_the_missing_key(self):
        with pytest.raises(CommandError, match="pk_sandbox_nobody") as refusal:
            call_command("sign_request", "GET", "/api/banks", api_key="pk_sandbox_nobody")

        assert refusal.value.returncode == 1

    def test_names_the_folder_that_has_no_sandbox_and_both_ways_out(self, settings, tmp_path):
        settings.SANDBOX_FOLDER = SandboxFolder(tmp_path / "shop")

        with pytest.raises(CommandError) as refusal:
            call_command("sign_request", "GET", "/api/banks")

        assert refusal.value.returncode == 2
        assert str(refusal.value) == (
            f"There is no sandbox in {tmp_path / 'shop'}. Start one with `make run`, or name the folder of one that exists: "
            "export SANDBOX_DATA=folder."
        )

    @pytest.mark.long
    def test_runs_no_checks_and_loads_no_urls(self, tmp_path):
        """Both take longer than signing."""
        program = (
            "import runpy, sys; sys.argv = ['manage.py', 'sign_request', 'GET', '/api/banks']\n"
            "try: runpy.run_path('manage.py', run_name='__main__')\n"
            "finally: print('config.urls' in sys.modules, file=sys.stderr)\n"
        )

        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=PROJECT,
            env=os.environ | {"SANDBOX_DATA": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == "False"
        assert "There is no sandbox in" in done.stderr
