"""Samples work, and guides show them unchanged."""

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import requests

from kit.free_ports import free_port
from payments.sample_events import SampleEvents
from tests.journeys.service import wait_until_open
from webhooks.exams import exam_runner
from webhooks.exams.exam import judge
from webhooks.exams.exam_requests import KINDS, requests_of

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
SAMPLES = DOCS / "samples"
VECTORS = json.loads((PROJECT / "tests" / "data" / "signing_vectors.json").read_text())
WEBHOOK = VECTORS["webhook"]
BODY, SIGNATURE = WEBHOOK["body"].encode(), WEBHOOK["signature"]


@dataclass(frozen=True)
class Language:
    """How to run the samples of a language, and whether CI requires it."""

    command: tuple[str, ...]
    verify: str
    sign: str
    is_required: bool = False

    def require(self) -> None:
        """Skip the test without the language, or fail it in CI."""
        program = self.command[0]
        if not shutil.which(program):
            if self.is_required and os.environ.get("CI") == "true":
                pytest.fail(f"{program} is missing.")
            pytest.skip(f"{program} is not installed.")

    def run(self, sample: str, *arguments: str, body: bytes, **environment: str):
        self.require()
        return subprocess.run(
            [*self.command, SAMPLES / sample, *arguments],
            input=body,
            env=os.environ | environment,
            capture_output=True,
            timeout=60,
            check=False,
        )


JAVA = ("java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
LANGUAGES = {
    "python": Language((sys.executable,), "verify.py", "sign.py", is_required=True),
    "node": Language(("node",), "verify.js", "sign.js", is_required=True),
    "bash": Language(("bash",), "verify.sh", "sign.sh", is_required=True),
    "java": Language(JAVA, "Verify.java", "Sign.java"),
    "php": Language(("php",), "verify.php", "sign.php", is_required=True),
    "go": Language(("go", "run"), "verify.go", "sign.go", is_required=True),
}
SIGNERS = LANGUAGES | {"requests": Language((sys.executable,), "", "sign_requests.py")}

DELIVERIES = {
    "right": (BODY, SIGNATURE, True),
    "empty body": (b"", WEBHOOK["empty_body_signature"], True),
    "another body": (BODY + b"\n", SIGNATURE, False),
    "one digit": (BODY, SIGNATURE[:-1] + ("0" if SIGNATURE[-1] != "0" else "1"), False),
    "too short": (BODY, SIGNATURE[:-1], False),
    "too long": (BODY, SIGNATURE + "0", False),
    "none": (BODY, "", False),
    "not ASCII": (BODY, "é" * 32, False),
}


def at_once(function, items):
    """Call the function for each item concurrently, because most of the time is spent starting programs."""
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(function, items))


@pytest.mark.long
class TestVerifyingSamples:
    @pytest.mark.parametrize("name", LANGUAGES)
    def test_distinguish_genuine_deliveries(self, name):
        language = LANGUAGES[name]

        def judge(delivery):
            body, signature, _ = delivery
            return language.run(
                f"webhooks/{language.verify}", signature, body=body, WEBHOOK_HASH_KEY=WEBHOOK["hash_key"]
            )

        judged = at_once(judge, DELIVERIES.values())

        found = {
            case: (run.stdout.decode().strip(), run.returncode)
            for case, run in zip(DELIVERIES, judged, strict=True)
        }
        assert found == {
            case: ("valid", 0) if is_genuine else ("invalid", 1)
            for case, (_, _, is_genuine) in DELIVERIES.items()
        }

    @pytest.mark.parametrize("name", LANGUAGES)
    def test_reject_another_key(self, name):
        language = LANGUAGES[name]

        judged = language.run(
            f"webhooks/{language.verify}", SIGNATURE, body=BODY, WEBHOOK_HASH_KEY="whk_sandbox_another"
        )

        assert (judged.stdout.decode().strip(), judged.returncode) == ("invalid", 1)


@pytest.mark.long
class TestSigningSamples:
    @pytest.mark.parametrize("name", SIGNERS)
    def test_sign_like_the_vectors(self, name):
        language = SIGNERS[name]

        def sign(vector):
            return language.run(
                f"signing/{language.sign}",
                vector["method"],
                vector["target"],
                body=base64.b64decode(vector["body_base64"]),
                SLUICE_API_KEY=VECTORS["api_key"],
                SLUICE_SECRET_KEY=VECTORS["secret_key"],
                SLUICE_TIMESTAMP=vector["timestamp"],
                SLUICE_NONCE=vector["nonce"],
            )

        signed = at_once(sign, VECTORS["requests"])

        assert [run.stdout.decode().splitlines() for run in signed] == [
            [
                f"X-Api-Key: {VECTORS['api_key']}",
                f"X-Timestamp: {vector['timestamp']}",
                f"X-Nonce: {vector['nonce']}",
                f"X-Signature: {vector['signature']}",
            ]
            for vector in VECTORS["requests"]
        ]

    @pytest.mark.parametrize("name", SIGNERS)
    def test_use_the_current_time_and_a_new_nonce(self, name):
        language = SIGNERS[name]

        def sign(_):
            run = language.run(
                f"signing/{language.sign}",
                "get",
                "/api/banks",
                body=b"",
                SLUICE_API_KEY=VECTORS["api_key"],
                SLUICE_SECRET_KEY=VECTORS["secret_key"],
            )
            return dict(line.split(": ", 1) for line in run.stdout.decode().splitlines())

        first, second = at_once(sign, range(2))

        for headers in (first, second):
            assert re.fullmatch(r"[0-9]{10}", headers["X-Timestamp"])
            assert re.fullmatch(r"[A-Za-z0-9_-]{16,128}", headers["X-Nonce"])
            parts = (headers["X-Timestamp"], headers["X-Nonce"], "GET", "/api/banks")
            text = "\n".join([*parts, hashlib.sha256(b"").hexdigest()])
            expected = hmac.digest(VECTORS["secret_key"].encode(), text.encode(), "sha256").hex()
            assert headers["X-Signature"] == expected
        assert first["X-Nonce"] != second["X-Nonce"]


def built_receiver(folder):
    """Return the Go receiver, built. `go run` would leave its child behind when it is stopped."""
    program = folder / "receiver"
    command = ["go", "build", "-o", str(program), SAMPLES / "webhooks" / "receiver.go"]
    subprocess.run(command, check=True, timeout=300)
    return str(program)


RECEIVERS = {
    "python": lambda port, _: (sys.executable, "receiver.py", str(port)),
    "node": lambda port, _: ("node", "receiver.js", str(port)),
    "php": lambda port, _: ("php", "-S", f"127.0.0.1:{port}", "receiver.php"),
    "go": lambda port, folder: (built_receiver(folder), str(port)),
}


@contextmanager
def receiving(name, folder):
    LANGUAGES[name].require()
    port = free_port()
    process = subprocess.Popen(
        RECEIVERS[name](port, folder),
        cwd=SAMPLES / "webhooks",
        env=os.environ | {"WEBHOOK_HASH_KEY": WEBHOOK["hash_key"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_open(port, process)
        yield f"http://127.0.0.1:{port}/hooks"
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.long
class TestReceivers:
    @pytest.mark.parametrize("name", RECEIVERS)
    def test_pass_the_exam(self, name, tmp_path):
        events = SampleEvents(SimpleNamespace(currencies=["NGN"]))
        requests_sent = requests_of(
            kinds=KINDS,
            hash_key=WEBHOOK["hash_key"],
            events=events,
            tag=secrets.token_hex(4),
            now=datetime.now(UTC),
        )
        answers = {}

        with receiving(name, tmp_path) as url:
            exam_runner.send(requests_sent, url, answers, progress=lambda _: None)

        results = judge(requests_sent, answers, is_over=True)
        found = {result.probe.name: (result.verdict.value, result.cause) for result in results}
        found.pop("prompt")  # says how busy this machine is
        assert {name: cause for name, (verdict, cause) in found.items() if verdict != "passed"} == {}


class TestReceiver:
    def test_receives_each_event_once_and_rejects_unsigned_requests(self):
        port = free_port()
        body = WEBHOOK["body"].replace(
            '"response_code"', '"response_summary":"Payment completed","response_code"'
        )
        signature = hmac.digest(WEBHOOK["hash_key"].encode(), body.encode(), "sha256").hex()
        receiver = subprocess.Popen(
            [sys.executable, SAMPLES / "webhooks" / "receiver.py", str(port)],
            env=os.environ | {"WEBHOOK_HASH_KEY": WEBHOOK["hash_key"]},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            wait_until_open(port, receiver)
            answers = [
                requests.post(
                    f"http://127.0.0.1:{port}/hooks",
                    data=body,
                    headers={"X-Service-Signature": given},
                    timeout=10,
                ).status_code
                for given in (signature, signature, "0" * 64, "")
            ]
        finally:
            receiver.terminate()
            printed, _ = receiver.communicate(timeout=10)

        assert answers == [HTTPStatus.NO_CONTENT] * 2 + [HTTPStatus.BAD_REQUEST] * 2
        assert printed.splitlines()[1:] == [
            "payment.success VA-1 success Payment completed",
            "refused: wrong signature",
            "refused: wrong signature",
        ]


GUIDES = sorted(DOCS.rglob("*.md"))
PAGES = [PROJECT / "README.md", *GUIDES]
FILES = sorted(path for path in SAMPLES.glob("*/*") if path.is_file())
SHOWN = re.compile(r"^\[(samples/\S+)\]\(\1\)\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
ADDRESS = re.compile(r"\b(?:https?|wss?|postgres|redis)://[^\s`'\"<>)\]|]+")
HOSTS = {"127.0.0.1", "localhost", "example.com", "example.org", "example.net"}
PROVIDERS = (".checkout.com", ".paystack.co")  # whose addresses operators set


def name_of(path):
    return str(path.relative_to(PROJECT))


class TestGuides:
    def test_show_every_sample_once_and_unchanged(self):
        shown = [sample for guide in GUIDES for sample in SHOWN.findall(guide.read_text())]

        files = {str(path.relative_to(DOCS)): path.read_text() for path in FILES}
        assert sorted(name for name, _ in shown) == sorted(files)
        for name, text in shown:
            assert text == files[name], f"docs/{name} and the guide that shows it differ."

    def test_have_no_dead_links(self, subtests):
        for page in PAGES:
            with subtests.test(page=page):
                for link in LINK.findall(FENCE.sub("", page.read_text())):
                    parts = urlsplit(link)
                    if parts.scheme:
                        continue
                    target = (page.parent / parts.path).resolve() if parts.path else page
                    assert target.exists(), f"{link} has no target."
                    if parts.fragment:
                        assert parts.fragment in anchors(target), f"{link} points to no heading."

    def test_mention_only_example_hosts(self, subtests):
        for page in [*PAGES, *FILES]:
            with subtests.test(page=page):
                for address in ADDRESS.findall(page.read_text()):
                    host = urlsplit(address.rstrip(".,;:")).hostname or ""
                    assert host in HOSTS or host.endswith((".example", ".example.com", *PROVIDERS)), address

    def test_show_a_delivery_with_a_valid_signature(self):
        guide = (DOCS / "webhooks.md").read_text()
        head, body = re.search(r"^```http\n(.*?)\n\n(.*?)\n```$", guide, re.MULTILINE | re.DOTALL).groups()
        headers = dict(line.split(": ", 1) for line in head.splitlines()[1:])

        expected = hmac.digest(WEBHOOK["hash_key"].encode(), body.encode(), "sha256").hex()

        assert f"`{WEBHOOK['hash_key']}`" in guide
        assert headers["X-Service-Signature"] == expected
        assert headers["Content-Length"] == str(len(body))
        event = json.loads(body)
        assert headers["X-Service-Idempotency-Key"] == event["id"] == event["event_id"]
        assert headers["X-Service-Event"] == event["event"]

    def test_show_a_signing_example_from_the_vectors(self):
        guide = (DOCS / "signing.md").read_text()

        examples = [
            vector
            for vector in VECTORS["requests"]
            if f"```text\n{vector['string_to_sign']}\n```" in guide
            and f"```text\n{vector['signature']}\n```" in guide
        ]

        assert len(examples) == 1
        assert VECTORS["secret_key"] in guide


def anchors(page):
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
