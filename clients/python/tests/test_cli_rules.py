"""What holds for every command: options, exit codes, live keys, Ctrl-C, and what is never printed."""

import argparse
import base64
import io
import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sluice.cli.main import COMMANDS, _parser, main

VECTORS = json.loads(Path(__file__, "../../../../tests/data/signing_vectors.json").resolve().read_text())
SOURCE = Path(__file__, "../../src").resolve()
PAN = "4084084084084081"
UNREACHABLE = "http://127.0.0.1:1"
EVENT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def run(tmp_path, monkeypatch, capfdbinary):
    """Return a function that runs `sluice` in this process, in an empty folder with keys in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("SANDBOX_DATA", raising=False)
    monkeypatch.setattr("sluice.caller.FIRST_WAIT", 0)

    def command(*arguments, body=b"", key="pk_sandbox_1", address=UNREACHABLE):
        keys = {"BASE_URL": address, "API_KEY": key, "SECRET_KEY": "sk_canary"}
        for name, value in keys.items():
            monkeypatch.setenv(f"SLUICE_{name}", value)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(body)))
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse
            code = ended.code
        printed = capfdbinary.readouterr()
        for output in (printed.out, printed.err):
            assert not output or output.endswith(b"\n")
            assert b"canary" not in output
            assert b"Traceback" not in output
            assert b"\x1b" not in output
        return code, printed.out.decode(), printed.err.decode()

    return command


def _commands(parser=None, words=()):
    """Yield the words and the parser of each command that does something itself."""
    parser = parser or _parser([])
    inner = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not inner:
        yield words, parser
    for action in inner:
        for name, each in action.choices.items():
            yield from _commands(each, (*words, name))


LEAVES = {" ".join(words): parser for words, parser in _commands()}


def test_every_command_has_an_example_json_profile_and_base_url(subtests):
    for command, parser in LEAVES.items():
        with subtests.test(command=command):
            options = {option for action in parser._actions for option in action.option_strings}

            assert {"--help", "--json", "--profile", "--base-url"} <= options
            assert parser.epilog.startswith(f"Example: sluice {command}")
            assert not any("secret" in option and option != "--secret-stdin" for option in options)


def test_every_command_is_listed():
    assert {command.split()[0] for command in LEAVES} == set(COMMANDS)


# Arguments with which each command gets as far as the network.
CALLS = {
    "login": ["--base-url", UNREACHABLE, "--api-key", "pk_1", "--secret-stdin"],
    "whoami": [],
    "collections": ["postman", "--output", "api"],
    "trigger": ["payment.success"],
    "events list": [],
    "events show": [EVENT],
    "events resend": [EVENT],
    "payments create": ["--body", "-"],
    "payments get": ["order-1"],
    "payments list": [],
    "payments capture": ["order-1"],
    "payments void": ["order-1"],
    "payments cancel": ["order-1"],
    "payments refund": ["order-1"],
    "logs tail": [],
    "advance payment": ["order-1"],
    "advance dispute": [EVENT],
    "advance batch": ["suppliers-48"],
    "advance reserve": [EVENT],
    "advance event": [EVENT],
    "advance day": [],
    "accounts list": [],
    "accounts get": ["customer-7"],
    "accounts create": ["--body", "-"],
    "links list": [],
    "links get": ["order-1"],
    "links create": ["--once"],
    "payouts list": [],
    "payouts get": ["salary-1"],
    "payouts create": ["--body", "-"],
    "payout-batches list": [],
    "payout-batches get": ["suppliers-48"],
    "payout-batches create": ["--csv", "-"],
    "payout-batches approve": ["suppliers-48"],
    "payout-batches cancel": ["suppliers-48"],
    "payout-batches retry": ["suppliers-48"],
    "disputes list": [],
    "disputes get": [EVENT],
    "disputes evidence": [EVENT, "--kind", "delivery", "--text", "Handed over"],
    "disputes submit": [EVENT],
    "disputes accept": [EVENT],
    "endpoints list": [],
    "endpoints get": [EVENT],
    "endpoints create": ["--url", "https://shop.example/hooks"],
    "endpoints update": [EVENT, "--disable"],
    "endpoints delete": [EVENT],
    "endpoints rotate": [EVENT],
    "balance": [],
    "banks": [],
    "refunds list": ["order-1"],
    "exam": [],
}
BODIES = {
    "login": b"sk_canary\n",
    "payments create": b'{"reference":"r-1"}',
    "payouts create": b'{"reference":"r-1"}',
    "accounts create": b'{"reference":"r-1"}',
    "payout-batches create": b"Name,Bank,Account number,Amount\nAda Obi,044,0690213447,1\n",
}


def test_every_command_that_calls_the_service_is_among_them():
    offline = {"logout", "sign", "verify", "doctor"}
    with_own_tests = {"listen", "exam"}  # they do not end at the first failure

    assert set(CALLS) <= set(LEAVES) <= set(CALLS) | offline | with_own_tests


@pytest.mark.parametrize("command", ["events show", "events resend", "advance event"])
def test_says_which_command_shows_ids_of_events(run, command):
    code, out, errors = run(*command.split(), "foo")

    assert (code, out) == (2, "")
    assert "foo is no id of an event; sluice events list shows them" in errors


def test_help_names_the_states_of_a_day(run):
    _, out, _ = run("advance", "--help")

    assert "pending, approved, released (default) or rejected" in " ".join(out.split())


class TestExitCodes:
    @pytest.mark.parametrize("command", CALLS)
    def test_is_3_where_the_service_is_not_reached(self, run, command):
        code, out, errors = run(*command.split(), *CALLS[command], body=BODIES.get(command, b""))

        assert (code, out) == (3, "")
        assert "could not be reached" in errors

    @pytest.mark.parametrize("command", CALLS)
    def test_is_2_for_an_address_that_can_be_none(self, run, command):
        given = [each if each != UNREACHABLE else "pay.example" for each in CALLS[command]]
        body = BODIES.get(command, b"")

        code, out, errors = run(*command.split(), *given, body=body, address="pay.example")

        assert (code, out) == (2, "")
        assert "https://pay.example.com" in errors

    @pytest.mark.parametrize("command", LEAVES)
    def test_is_2_for_an_option_that_does_not_exist(self, run, command):
        code, out, errors = run(*command.split(), "--no-such-option")

        assert (code, out) == (2, "")
        assert "usage:" in errors

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["payments", "create", "--body", "-"], "not JSON"),
            (["payments", "create", "--body", "missing.json"], "No such file"),
            (["login", "--base-url", UNREACHABLE, "--api-key", "pk_1", "--secret-stdin"], "all needed"),
            (["login", "--base-url", UNREACHABLE, "--api-key", "sk_1", "--secret-stdin"], "begins with pk_"),
            (["whoami", "--profile", "missing"], "no profile missing"),
            (["sign", "GET", "/api/banks", "--nonce", "short"], "16 to 128"),
            (["sign", "POST", "/api/payments", "--body", '{"amount": 1}'], "--body takes a file"),
            (["payments", "capture", "order-1", "--amount", "100.50"], "NGN 2,500.00 is 250000"),
            (["payments", "get", ""], "is no reference"),
            (["endpoints", "update", EVENT], "Say what changes"),
            (["endpoints", "update", EVENT, "--enable", "--disable"], "not allowed with"),
            (["endpoints", "rotate", EVENT, "--overlap-hours", "nan"], "no number of hours"),
            (["endpoints", "create"], "--url"),
        ],
    )
    def test_is_2_for_what_can_not_be_used(self, run, arguments, said):
        code, out, errors = run(*arguments)

        assert (code, out) == (2, "")
        assert said in errors

    def test_is_2_for_an_amount_that_is_no_whole_number(self, run):
        code, _, errors = run("payments", "create", "--body", "-", body=b'{"amount": 1.5}')

        assert (code, "amount must be an int" in errors) == (2, True)

    def test_is_1_where_there_is_nothing_to_forget(self, run):
        assert run("logout")[0] == 1

    def test_is_130_for_ctrl_c(self, run, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("sluice.transport.HttpTransport.send", interrupted)

        assert run("payments", "list")[:2] == (130, "")

    def test_is_2_at_the_end_of_the_input(self, run, monkeypatch):
        def ended(*_):
            raise EOFError

        monkeypatch.setattr("getpass.getpass", ended)

        assert run("login", "--base-url", UNREACHABLE, "--api-key", "pk_1")[0] == 2


class TestLiveKeys:
    @pytest.mark.parametrize(
        "command",
        [
            ["trigger", "payment.success"],
            ["trigger", "--list"],
            ["payments", "create", "--scenario", "payment.success"],
            ["advance", "payment", "order-1"],
            ["advance", "event", EVENT],
            ["advance", "day"],
            ["listen"],
            ["exam"],
        ],
    )
    def test_do_nothing_of_the_sandbox(self, run, command):
        for arguments in (command, [*command, "--yes"]):
            code, out, errors = run(*arguments, key="pk_live_1")
            assert (code, out) == (1, "")
            assert "only in the sandbox" in errors

    @pytest.mark.parametrize(
        "command",
        [
            ["payments", "create", "--body", "-"],
            ["payments", "capture", "order-1"],
            ["payments", "void", "order-1"],
            ["payments", "refund", "order-1"],
            ["payout-batches", "create", "--csv", "-"],
            ["payout-batches", "approve", "suppliers-48"],
            ["payout-batches", "cancel", "suppliers-48"],
            ["payout-batches", "retry", "suppliers-48"],
            ["disputes", "evidence", EVENT, "--kind", "delivery", "--file", "-"],
            ["disputes", "submit", EVENT],
            ["disputes", "accept", EVENT, "--amount", "100"],
            ["endpoints", "create", "--url", "https://shop.example/hooks"],
            ["endpoints", "update", EVENT, "--disable"],
            ["endpoints", "delete", EVENT],
            ["endpoints", "rotate", EVENT],
            ["events", "resend", EVENT],
        ],
    )
    def test_change_nothing_without_a_yes(self, run, command):
        body = BODIES.get(" ".join(command[:2]), b"")
        code, out, errors = run(*command, key="pk_live_1", body=body)
        assert (code, out) == (1, "")
        assert "--yes" in errors

        assert run(*command, "--yes", key="pk_live_1", body=body)[0] == 3

    @pytest.mark.parametrize(("answer", "code"), [("y\n", 3), ("n\n", 1), ("\n", 1), ("", 1)])
    def test_ask_at_a_terminal(self, run, monkeypatch, answer, code):
        class Terminal(io.TextIOWrapper):
            def isatty(self):
                return True

        monkeypatch.setattr("io.TextIOWrapper", Terminal)

        ended, out, errors = run("payments", "void", "order-1", key="pk_live_1", body=answer.encode())

        assert (ended, out) == (code, "")
        assert "Void order-1 with the live key pk_live_1" in errors

    @pytest.mark.parametrize(
        "arguments",
        [
            ["payments", "get", PAN],
            ["payments", "refund", "order-1", "--reason", f"card {PAN}", "--yes"],
            ["logs", "tail", "--path", "/api/payments/4084 0840 8408 4081"],
            ["sign", "GET", f"/api/payments?pan={PAN}"],
        ],
    )
    def test_take_no_card_number_as_an_argument(self, run, arguments):
        code, out, errors = run(*arguments, key="pk_live_1")

        assert (code, out) == (2, "")
        assert "card number" in errors
        assert PAN not in errors

    def test_take_other_numbers(self, run):
        for reference in ("20261124000123", "2348031230007", "356938035643809"):
            assert run("payments", "get", reference, key="pk_live_1")[0] == 3


class TestSign:
    @pytest.mark.parametrize("vector", VECTORS["requests"], ids=lambda vector: vector["name"])
    def test_reproduces_the_vectors(self, run, monkeypatch, vector, tmp_path):
        body = tmp_path / "body"
        body.write_bytes(base64.b64decode(vector["body_base64"]))
        profile = {"base_url": "https://pay.example", "api_key": VECTORS["api_key"]}
        file = tmp_path / "sluice" / "profiles.json"
        file.parent.mkdir()
        file.touch(0o600)
        file.write_text(json.dumps({"vectors": profile | {"secret_key": VECTORS["secret_key"]}}))

        code, out, errors = run(
            "sign", vector["method"], vector["target"], "--body", str(body), "--json",
            "--timestamp", vector["timestamp"], "--nonce", vector["nonce"], "--profile", "vectors",
        )  # fmt: skip

        document = json.loads(out)
        assert (code, errors) == (0, "")
        assert document["string_to_sign"] == vector["string_to_sign"]
        assert document["headers"]["X-Signature"] == vector["signature"]

    def test_says_how_a_target_must_be_sent_that_can_not_be_sent_as_it_is(self, run):
        code, out, errors = run("sign", "GET", "/api/x:y~?q=%3a bé", "--curl")

        assert code == 0
        assert "/api/x:y~?q=%3a%20b%C3%A9" in errors
        assert out.endswith("/api/x:y~?q=%3a%20b%C3%A9'\n")


class TestProfiles:
    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o700])
    def test_are_refused_before_the_secret_is_asked_for(self, run, tmp_path, monkeypatch, mode):
        file = tmp_path / "sluice" / "profiles.json"
        file.parent.mkdir()
        file.write_text("{}")
        file.chmod(mode)
        monkeypatch.setattr("getpass.getpass", lambda _: pytest.fail("It asked for the secret."))

        code, out, errors = run("login", "--base-url", UNREACHABLE, "--api-key", "pk_1")

        assert (code, out) == (2, "")
        assert f"chmod 600 {file}" in errors

    def test_apply_to_an_address_alone_only_with_their_keys(self, run, monkeypatch):
        code, _, errors = run("whoami", key="")

        assert (code, "Set SLUICE_API_KEY" in errors) == (2, True)


def test_says_once_that_it_uses_a_sandbox_elsewhere(run, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "var").mkdir()
    keys = {"base_url": UNREACHABLE, "api_key": "pk_sandbox_2", "secret_key": "sk_canary"}
    (elsewhere / "credentials.json").write_text(json.dumps(keys))
    (tmp_path / "var" / "sandbox.current").write_text(json.dumps({"folder": str(elsewhere)}))
    monkeypatch.setattr("sluice.credentials.VARIABLES", ("NO_BASE_URL", "NO_API_KEY", "NO_SECRET_KEY"))

    code, out, errors = run("sign", "GET", "/api/banks")
    assert (code, "pk_sandbox_2" in out) == (0, True)
    assert errors == f"Using the sandbox in {elsewhere}, which was started last.\n"

    monkeypatch.setenv("SANDBOX_DATA", str(elsewhere))
    assert run("sign", "GET", "/api/banks")[2] == ""


class Log(BaseHTTPRequestHandler):
    """A service whose request log has a new entry each time."""

    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self):
        Log.count += 1
        entry = {"id": str(Log.count), "at": "2026-01-01T00:00:00.000Z", "method": "GET", "status": 200}
        entry |= {
            "target": "/api/" + "x" * 5000,
            "code": None,
            "milliseconds": 1,
            "key": "pk_1",
            "request_id": "r",
        }
        body = json.dumps({"data": [entry], "next": None}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_ctrl_c_leaves_no_half_line(tmp_path, options):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Log)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    keys = {"SLUICE_BASE_URL": f"http://127.0.0.1:{server.server_port}", "SLUICE_API_KEY": "pk_1"}
    program = "import sluice.cli.logs; sluice.cli.logs.EVERY = 0; from sluice.cli.main import main; raise SystemExit(main())"
    # The parent may ignore Ctrl-C, as a shell's background jobs do, and its children would too.
    program = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {program}"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "logs", "tail", *options],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "SLUICE_SECRET_KEY": "sk", **keys},
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    server.shutdown()

    assert process.returncode == 130
    assert (first + out).endswith(b"\n")
    assert errors == b"\n"
    for line in (first + out).splitlines():
        assert json.loads(line)["id"] if options else b"/api/xxx" in line
