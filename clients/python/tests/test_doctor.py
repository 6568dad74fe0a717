"""`sluice doctor`, against a service that has one fault at a time."""

import io
import json
import socket
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time

import pytest

from sluice.cli.main import main
from sluice.version import __version__

ALL = [
    "proxies",
    "variables",
    "keys",
    "name",
    "tcp",
    "tls",
    "livez",
    "versions",
    "clock",
    "read",
    "key",
    "rate",
]


class Service:
    """Answers as a service does. A test changes what it answers."""

    def __init__(self):
        self.off = 0
        self.answers = {
            "/livez": (200, {"status": "ok"}),
            "/api/openapi.json": (200, {"info": {"version": __version__}}),
            "/api/balance": (200, {"data": [{"currency": "NGN", "available": 0, "pending": 0}]}),
            "/api/banks/resolve": (400, {"code": "invalid_request"}),
        }
        self.left = 299
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                status, document = service.answers[self.path]
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = json.dumps(document).encode()
                self.send_response_only(status)
                self.send_header("Date", formatdate(time() + service.off, usegmt=True))
                self.send_header("RateLimit-Policy", '"reads";q=300;w=1')
                self.send_header("RateLimit", f'"reads";r={service.left};t=1')
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815  (the name that http.server calls)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()


@pytest.fixture
def service():
    made = Service()
    yield made
    made.server.shutdown()


@pytest.fixture
def doctor(service, tmp_path, monkeypatch, capsys):
    """Return a function that runs `sluice doctor` and returns its code and its findings by their names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("SANDBOX_DATA", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def run(**environment):
        keys = {"SLUICE_BASE_URL": service.url, "SLUICE_API_KEY": "pk_1", "SLUICE_SECRET_KEY": "sk_canary"}
        for name, value in (keys | environment).items():
            monkeypatch.setenv(name, value)
        code = main(["doctor", "--json"])
        out = capsys.readouterr().out
        assert "canary" not in out
        document = json.loads(out)
        assert document["ok"] is (code == 0)
        return code, {each["check"]: each for each in document["checks"]}

    return run


def test_finds_nothing_where_all_is_well(doctor):
    code, found = doctor()

    assert code == 0
    assert list(found) == ALL
    assert {each["result"] for each in found.values()} == {"ok"}
    assert "full access" in found["key"]["detail"]
    assert "299 of 300" in found["rate"]["detail"]


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        ("/livez", (404, {}), "answered 404"),
        ("/livez", (200, {"hello": "world"}), "Is this the address of a Sluice"),
        ("/api/balance", (401, {"code": "unknown_key", "detail": "No."}), "sluice login"),
        ("/api/balance", (401, {"code": "invalid_signature"}), "Copy the secret key again"),
    ],
)
def test_ends_with_1_and_says_what_to_do(doctor, service, path, answer, said):
    service.answers[path] = answer
    check = {"/livez": "livez", "/api/balance": "read"}[path]

    code, found = doctor()

    assert code == 1
    assert found[check]["result"] == "wrong"
    assert list(found)[-1] == check
    assert said in found[check]["detail"] + found[check]["advice"]


def test_knows_a_read_only_key(doctor, service):
    service.answers["/api/banks/resolve"] = (403, {"code": "key_may_not_write"})

    code, found = doctor()

    assert (code, found["key"]["detail"]) == (0, "accepted, read-only")


def test_warns_of_another_version_and_of_few_calls_left(doctor, service):
    service.answers["/api/openapi.json"] = (200, {"info": {"version": "9.9.9"}})
    service.left = 3

    code, found = doctor()

    assert code == 0
    assert found["versions"]["result"] == found["rate"]["result"] == "warning"
    assert "service 9.9.9" in found["versions"]["detail"]


@pytest.mark.parametrize(("off", "result", "side"), [(-100, "warning", "fast"), (600, "wrong", "slow")])
def test_measures_the_clock(doctor, service, off, result, side):
    service.off = off

    code, found = doctor()

    assert (code, found["clock"]["result"]) == (int(result == "wrong"), result)
    seconds, _, direction = found["clock"]["detail"].split()
    assert (abs(int(seconds) - abs(off)) <= 3, direction) == (True, side)
    assert list(found) == ALL


def test_warns_of_proxies_and_misspelt_variables_without_their_values(doctor):
    code, found = doctor(HTTPS_PROXY="http://ada:canary@proxy", SLUICE_API_KYE="canary")
    assert code == 0
    assert (found["proxies"]["result"], found["proxies"]["detail"]) == ("warning", "HTTPS_PROXY set")
    assert found["variables"]["detail"] == "SLUICE_API_KYE is not read"


def test_names_the_misspelt_variable_that_leaves_no_keys(doctor):
    code, found = doctor(SLUICE_SECRET_KEY="", SLUICE_SECRT_KEY="canary")

    assert code == 1
    assert found["variables"]["advice"] == "Did you mean SLUICE_SECRET_KEY?"
    assert (found["keys"]["result"], list(found)[-1]) == ("wrong", "keys")


def test_finds_a_name_that_does_not_resolve(doctor, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", unknown)

    code, found = doctor(SLUICE_BASE_URL="https://pay.invalid")

    assert (code, list(found)[-1]) == (1, "name")
    assert found["name"]["detail"] == "pay.invalid: Name or service not known"


def test_finds_a_port_that_nothing_listens_to_and_one_without_tls(doctor, service):
    code, found = doctor(SLUICE_BASE_URL="http://127.0.0.1:1")
    assert (code, list(found)[-1], found["tcp"]["result"]) == (1, "tcp", "wrong")

    code, found = doctor(SLUICE_BASE_URL=service.url.replace("http:", "https:"))
    assert (code, list(found)[-1], found["tls"]["result"]) == (1, "tls", "wrong")


def test_prints_a_line_for_each_finding_with_what_to_do(doctor, service, capsys):
    service.answers["/livez"] = (404, {})
    doctor()

    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "wrong    livez      answered 404" in lines
    assert lines[-1].startswith(" " * 20 + "Is this the address")
