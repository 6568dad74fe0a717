"""The collections, run as their users run them: by newman and bru, against a live sandbox."""

import base64
import io
import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import requests

from config.environment.env import PROJECT
from tests.journeys.service import start_service

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]  # bru compiles its libraries for each script

VECTORS = PROJECT / "tests" / "data" / "signing_vectors.json"
APPROVE, CANCEL = "Approve a payout batch", "Cancel a payout batch"
HARNESS = Path(__file__).with_name("sign_vectors.cjs")
ODD_URL = "{{base_url}}/api/events?reference=~%3a:b c'é|<>\"^`&limit=1"
ODD_BODY = '{"account_number": "{{account}}", "bank_code": "058", "naïve": "Ṣọ̀ ✓ 😀"}'


class Newman:
    """Runs the collection for Postman."""

    def __init__(self, tools, sandbox, folder):
        self.command = str(tools / "newman")
        self.file = folder / "collection.json"
        self.file.write_bytes(download(sandbox, "postman.json"))

    @property
    def script(self):
        (event,) = json.loads(self.file.read_text())["event"]
        return "\n".join(event["script"]["exec"])

    def start(self, name, *folders, **variables):
        report = self.file.with_name(f"{name}.json")
        options = ["--reporters", "json", "--reporter-json-export", str(report)]
        options += [word for folder in folders for word in ("--folder", folder.rsplit("/", 1)[-1])]
        return start(self.command, "run", str(self.file), *options, *given(variables), cwd=self.file.parent)

    def report(self, name):
        """Return what ran: the names of requests, the statuses of responses, and everything that failed."""
        run = json.loads(self.file.with_name(f"{name}.json").read_text())["run"]
        failed = [f"{each['source']['name']}: {each['error']['message']}" for each in run["failures"]]
        statuses = [each["response"]["code"] for each in run["executions"]]
        return [each["item"]["name"] for each in run["executions"]], statuses, failed

    def add_odd_requests(self):
        document = json.loads(self.file.read_text())
        url, _, query = ODD_URL.partition("?")
        address = {"host": ["{{base_url}}"], "path": ["api", "events"]}
        pairs = [dict(zip(("key", "value"), pair.split("="), strict=True)) for pair in query.split("&")]
        get = {"method": "GET", "url": {"raw": ODD_URL, **address, "query": pairs}}
        content_type = {"key": "Content-Type", "value": "application/json"}
        post = {
            "method": "POST",
            "url": url.replace("events", "banks/resolve"),
            "header": [content_type],
            "body": {"mode": "raw", "raw": ODD_BODY},
        }
        items = [{"name": "get", "request": get}, {"name": "post", "request": post}]
        self.file.write_text(
            json.dumps(document | {"item": [*document["item"], {"name": "odd", "item": items}]})
        )


class Bru:
    """Runs the collection for Bruno."""

    def __init__(self, tools, sandbox, folder):
        self.command = str(tools / "bru")
        self.folder = folder
        zipfile.ZipFile(io.BytesIO(download(sandbox, "bruno.zip"))).extractall(folder)

    @property
    def script(self):
        text = (self.folder / "collection.bru").read_text()
        return text.partition("script:pre-request {\n")[2].partition("\n}\n")[0]

    def start(self, name, *folders, **variables):
        options = ["-r", *folders, "--reporter-json", str(self.folder / f"{name}.json")]
        return start(self.command, "run", *options, *given(variables), cwd=self.folder)

    def report(self, name):
        (run,) = json.loads((self.folder / f"{name}.json").read_text())
        checks = [(each, check) for each in run["results"] for check in each["assertionResults"]]
        failed = [f"{each['name']}: {check}" for each, check in checks if check["status"] != "pass"]
        failed += [f"{each['name']}: {each['error']}" for each in run["results"] if each["error"]]
        failed += [each["request"]["url"] for each in run["results"] if "{{" in each["request"]["url"]]
        statuses = [each["response"]["status"] for each in run["results"]]
        return [each["name"] for each in run["results"]], statuses, failed

    def add_odd_requests(self):
        odd = self.folder / "odd"
        odd.mkdir()
        get = f"meta {{\n  name: get\n  type: http\n  seq: 1\n}}\n\nget {{\n  url: {ODD_URL}\n}}\n"
        url = ODD_URL.partition("?")[0].replace("events", "banks/resolve")
        post = (
            f"meta {{\n  name: post\n  type: http\n  seq: 2\n}}\n\npost {{\n  url: {url}\n  body: json\n}}\n"
        )
        (odd / "get.bru").write_text(get)
        (odd / "post.bru").write_text(f"{post}\nbody:json {{\n  {ODD_BODY}\n}}\n")


def download(sandbox, name):
    return requests.get(f"{sandbox.base_url}/api/collections/{name}", timeout=30).content


def given(variables):
    return [word for name, value in variables.items() for word in ("--env-var", f"{name}={value}")]


def start(*command, cwd):
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def keys_of(client):
    return {"api_key": client.credentials.api_key, "secret_key": client.credentials.secret_key}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    """A sandbox with the rate limits of the default settings."""
    defaults = {"RATE_LIMIT_WRITES": "100", "RATE_LIMIT_READS": "300"}
    with start_service(tmp_path_factory.mktemp("sandbox"), **defaults) as running:
        yield running


@pytest.fixture(scope="module")
def programs(tools, sandbox, tmp_path_factory):
    return {
        "postman": Newman(tools, sandbox, tmp_path_factory.mktemp("postman")),
        "bruno": Bru(tools, sandbox, tmp_path_factory.mktemp("bruno")),
    }


@pytest.fixture(scope="module")
def whole_runs(programs, sandbox):
    """Both collections, run as a whole at the same time, each by a business of its own."""
    callers = {"postman": sandbox.client, "bruno": sandbox.open_business("Bisi Bikes")}
    started = [programs[name].start("whole", **keys_of(caller)) for name, caller in callers.items()]
    for process in started:
        process.communicate(timeout=380)
    return {name: programs[name].report("whole") for name in callers}


@pytest.mark.parametrize("name", ["postman", "bruno"])
def test_whole_collection_runs_without_a_failure(whole_runs, name):
    names, _, failed = whole_runs[name]

    assert failed == []
    assert len(names) > 100


def test_both_send_the_same_requests_in_the_same_order(whole_runs):
    postman, bruno = whole_runs["postman"], whole_runs["bruno"]

    def seen(run):
        """Return names and statuses. The accounts of a batch may still be checked when it is approved, and only a batch
        that was approved can be sent before it is cancelled.
        """
        statuses = dict(zip(*run[:2], strict=True))
        approvals = {status for name, status in statuses.items() if name.startswith(APPROVE)}
        assert statuses[CANCEL] == 200 or 200 in approvals
        return [
            (name, name == CANCEL or name.startswith(APPROVE) or status)
            for name, status in zip(*run[:2], strict=True)
        ]

    assert seen(bruno) == seen(postman)


@pytest.mark.parametrize("name", ["postman", "bruno"])
class TestSigningScript:
    def test_signs_each_vector(self, programs, name, tmp_path):
        script = tmp_path / "script.js"
        script.write_text(programs[name].script)
        vectors = json.loads(VECTORS.read_text())

        command = [shutil.which("node"), str(HARNESS), name, str(script), str(VECTORS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

        for result, vector in zip(json.loads(done.stdout), vectors["requests"], strict=True):
            assert result["signed"] == vector["string_to_sign"]
            assert result["url"] == f"https://sluice.example:8443{vector['target']}"
            assert result["body"] == base64.b64decode(vector["body_base64"]).decode()
            assert result["headers"] == {
                "X-Api-Key": vectors["api_key"],
                "X-Timestamp": vector["timestamp"],
                "X-Nonce": vector["nonce"],
                "X-Signature": vector["signature"],
            }

    def test_signs_what_is_sent(self, programs, sandbox, name):
        program = programs[name]
        program.add_odd_requests()

        program.start("odd", "odd", **keys_of(sandbox.client), account="0123456789").communicate(timeout=100)

        names, statuses, _ = program.report("odd")
        assert (names, statuses) == (["get", "post"], [400, 400])  # 401 if the signature were wrong

    def test_names_a_key_that_is_missing(self, programs, sandbox, name):
        api_key = sandbox.credentials.api_key

        programs[name].start("keyless", "Banks", api_key=api_key).communicate(timeout=100)

        *_, failed = programs[name].report("keyless")
        assert any("Set the variable secret_key" in failure for failure in failed), failed

    def test_refuses_to_play_scenarios_with_a_live_key(self, programs, sandbox, name):
        keys = keys_of(sandbox.client) | {"api_key": "pk_live_x"}
        folder = "Scenarios/payment.success"

        programs[name].start("live", folder, **keys).communicate(timeout=100)

        _, statuses, failed = programs[name].report("live")
        assert any("Scenarios run in the sandbox only" in failure for failure in failed), failed
        assert statuses in ([401], ["error"])  # newman sends it without a signature, bru not at all
