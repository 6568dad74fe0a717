"""The command-line tool against a running sandbox, in this process."""

import io
import json
import secrets
import stat
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sluice import webhooks
from sluice.cli import exam, logs
from sluice.cli.main import main
from sluice.cli.output import money
from sluice.credentials import from_sandbox

pytestmark = pytest.mark.long


@pytest.fixture
def run(sandbox, card, tmp_path, monkeypatch, capfdbinary):
    """Return a function that runs `sluice` with a stored profile and returns its code, output and errors."""
    secret = from_sandbox(sandbox).secret_key.encode()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["login", "--sandbox", str(sandbox)]) == 0
    capfdbinary.readouterr()

    def command(*arguments, body=b""):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(body)))
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse
            code = ended.code
        printed = capfdbinary.readouterr()
        for output in (printed.out, printed.err):
            assert not output or output.endswith(b"\n")
            assert card["pan"].encode() not in output or "--list" in arguments  # scenarios have test cards
            assert secret not in output
        return code, printed.out.decode(), printed.err.decode()

    return command


@pytest.fixture
def pay(run, card):
    def make(**changes):
        reference = f"cli-{secrets.token_hex(4)}"
        order = {
            "request_type": "payment",
            "payment_method": "card",
            "reference": reference,
            "amount": 250_000,
        }
        order |= {"currency": "NGN", "redirect_url": "https://shop.example/done", "source": card}
        code, out, _ = run(
            "payments", "create", "--body", "-", "--json", body=json.dumps(order | changes).encode()
        )
        return code, json.loads(out)

    return make


class TestProfiles:
    def test_are_stored_for_their_owner_only_shown_and_forgotten(self, run, sandbox, tmp_path):
        file = tmp_path / "sluice" / "profiles.json"
        keys = from_sandbox(sandbox)

        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        code, out, _ = run("whoami", "--json")
        document = json.loads(out)
        assert (code, document["api_key"]) == (0, keys.api_key)
        assert {"currency": "USD", "available": 0, "pending": 0}.items() <= document["balances"][-1].items()
        assert "USD 0.00 available, USD 0.00 pending" in run("whoami")[1]
        assert run("logout")[0] == 0
        assert json.loads(file.read_text()) == {}
        assert run("logout")[0] == 1

    def test_are_not_stored_if_the_keys_are_wrong(self, run, sandbox, tmp_path):
        keys = from_sandbox(sandbox)

        code, _, errors = run(
            "login", "--name", "x", "--base-url", keys.base_url, "--api-key", keys.api_key, "--secret-stdin",
            body=b"sk_canary\n",
        )  # fmt: skip

        assert code == 1
        assert "invalid_signature" in errors
        assert "canary" not in errors
        assert "x" not in json.loads((tmp_path / "sluice" / "profiles.json").read_text())


class TestDisputes:
    def test_are_found_and_answered(self, run, pay):
        _, payment = pay(amount=10_077)
        run("advance", "payment", payment["reference"])
        (found,) = json.loads(run("disputes", "list", "--payment", payment["reference"], "--json")[1])
        assert found["id"] in run("disputes", "list", "--status", "needs_response")[1]

        text = run("disputes", "evidence", found["id"], "--kind", "delivery", "--file", "-", body=b"win\n")
        assert (text[0], "delivery" in text[1]) == (0, True)
        shown = run("disputes", "submit", found["id"], "--leave-out", "other_payments")[1]
        assert "status        under_review" in shown
        assert "NGN 100.77" in shown

        run("advance", "payment", payment["reference"])
        assert "comes back    NGN 100.77" in run("disputes", "get", found["id"])[1]
        code, _, errors = run("disputes", "accept", found["id"])
        assert (code, "invalid_state" in errors or "won" in errors) == (1, True)


class TestPayments:
    def test_are_made_shown_listed_and_refunded(self, run, pay):
        code, payment = pay()

        assert (code, payment["status"]) == (0, "success")
        shown = run("payments", "get", payment["reference"])[1]
        assert "NGN 2,500.00" in shown
        assert json.loads(run("payments", "list", "--limit", "1", "--json")[1])[0]["id"] == payment["id"]
        refund = run(
            "payments",
            "refund",
            payment["reference"],
            "--reference",
            payment["reference"] + "-r",
            "--amount",
            "100",
        )
        assert (refund[0], "NGN 1.00" in refund[1]) == (0, True)
        shown = run("payments", "get", payment["reference"])[1]
        assert "refunded      NGN 1.00\nrefundable    NGN 2,499.00" in shown

    def test_end_with_1_if_they_fail_or_are_refused(self, run, pay):
        code, payment = pay(amount=10_051)
        assert (code, payment["response_code"]) == (1, "20051")

        code, out, errors = run("payments", "get", "no-such-payment")
        assert (code, out) == (1, "")
        assert "404 not_found" in errors
        assert run("payments", "create", "--body", "-", body=b'{"request_type": "payout"}')[0] == 1

    def test_are_captured_voided_and_advanced(self, run, pay):
        first, second, third = (pay(capture=False)[1]["reference"] for _ in range(3))

        code, out, _ = run("payments", "capture", first, "--amount", "1000")
        assert (code, "authorised    NGN 2,500.00\ncaptured      NGN 10.00" in out) == (0, True)
        assert "Payment voided" in run("payments", "void", second)[1]
        assert "authorisation" in run("advance", "payment", third)[1]
        assert run("advance", "payment", third)[0] == 1

    def test_are_settled_now(self, run, pay):
        pay()
        code, out, _ = run("advance", "day", "pending", "--json")
        pay()

        assert (code, json.loads(out)["batches"][-1]["status"]) == (0, "pending")
        assert "released" in run("advance", "day")[1]
        assert run("advance", "day")[1] == "Nothing to settle.\n"
        assert run("advance", "day", "initiated")[0] == 2

    @pytest.mark.parametrize("body", [b"nonsense", b"[]"])
    def test_end_with_2_for_a_body_that_is_no_request(self, run, body):
        assert run("payments", "create", "--body", "-", body=body)[0] == 2


def test_listen_says_which_event_was_probably_meant(run):
    code, _, errors = run("listen", "--events", "payment.succeeded")

    assert (code, "did you mean payment.success?" in errors) == (2, True)


class TestTrigger:
    def test_plays_the_first_scenario_of_an_event_and_says_that_nothing_listens(self, run, monkeypatch):
        monkeypatch.setattr("sluice.cli.trigger.WAIT_SECONDS", 1.0)

        code, out, _ = run("trigger", "payment.mismatch", "--json")

        document = json.loads(out)
        assert (code, document["scenario"]) == (0, "payment.mismatch")
        assert document["event"] is None
        assert "Not waited" in run("trigger", "refund.success", "--no-wait")[1]

    def test_without_an_endpoint_names_the_command_that_needs_none(self, run):
        code, out, _ = run("trigger", "payment.failed.20051")  # a scenario's name

        assert code == 0
        assert "`configure_webhook --events …,payment`, or run `sluice listen`." in out

    def test_names_the_listeners_that_get_a_copy(self, run, client):
        listener = client.sandbox.listener("trigger-test")
        listener.begin(["payment.success"])

        copied, other = (run("trigger", event)[1] for event in ("payment.success", "payout.success"))
        document = json.loads(run("trigger", "payment.success", "--json")[1])
        listener.end()

        assert "Copied to the listener trigger-test." in copied
        assert "run `sluice listen`" not in copied
        assert "Copied" not in other
        assert document["listeners"] == ["trigger-test"]

    def test_without_a_subscription_names_what_a_listener_must_ask_for(self, run):
        out = run("trigger", "refund.success")[1]

        assert "`configure_webhook --events …,refund`, or run `sluice listen --events refund.success`." in out

    def test_changes_what_the_scenario_allows(self, run):
        code, out, _ = run("trigger", "payment.success", "--set", "pay.amount=5000", "--no-wait", "--json")

        reference = json.loads(out)["references"][0]
        assert code == 0
        assert json.loads(run("payments", "get", reference, "--json")[1])["amount"] == 5000

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["payment.chargeback"], "payment.success"),
            (["payment.succeeded"], "Did you mean payment.success?"),
            ([], "payment.success"),
            (["payment.success", "--scenario", "no.such"], "payment.success"),
            (["payment.success", "--set", "pay.colour=red"], "pay.amount"),
            (["payment.success", "--set", "pay.amount=many"], "not JSON"),
            (["payment.success", "--set", "pay.amount=1.5"], "integer"),
            (["payment.success", "--set", "pay.amount"], "STEP.PATH=VALUE"),
        ],
    )
    def test_ends_with_2_and_names_what_exists(self, run, arguments, said):
        code, out, errors = run("trigger", *arguments)

        assert (code, out) == (2, "")
        assert said in errors

    def test_lists_all_scenarios(self, run):
        assert "payment.3ds.approved" in run("trigger", "--list")[1]
        assert len(json.loads(run("trigger", "--list", "--json")[1])) > 40


class TestEvents:
    def test_are_listed_and_missed_with_an_error(self, run):
        assert run("events", "list")[0] == 0
        assert json.loads(run("events", "list", "--json", "--state", "dead")[1]) == []
        assert run("events", "show", "00000000-0000-0000-0000-000000000000")[0] == 1
        assert run("events", "list", "--state", "lost")[0] == 2


class TestLogs:
    def test_follow_every_request_once(self, client, pay):
        follower = logs.Follower(client, None)
        follower.new()
        references = {pay()[1]["reference"] for _ in range(3)}

        found = []
        for _ in range(60):
            found += follower.new()
            if len([entry for entry in found if entry.method == "POST"]) >= 3:
                break
            logs.time.sleep(0.1)

        ids = [entry.id for entry in found]
        assert len(references) == 3
        assert len(set(ids)) == len(ids)
        assert sum(entry.method == "POST" for entry in found) >= 3


class TestDoctor:
    def test_finds_nothing_wrong(self, run):
        code, out, _ = run("doctor", "--json")

        found = {each["check"]: each for each in json.loads(out)["checks"]}
        assert (code, {each["result"] for each in found.values()} <= {"ok", "warning"}) == (0, True)
        assert "full access" in found["key"]["detail"]


class Receiver(BaseHTTPRequestHandler):
    """Refuses forgeries and accepts everything else, or also refuses `refused`."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        right = webhooks.sign(body, self.server.key)
        is_genuine = self.headers.get("X-Service-Signature", "") == right
        self.send_response(204 if is_genuine and self.server.refused not in body else 400)
        self.end_headers()

    def log_message(self, *_):
        """Print nothing."""


@contextmanager
def receiving(key, refused=b"\0"):
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.key, server.refused = key, refused
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}/hooks"
        server.shutdown()


class TestExam:
    @pytest.fixture
    def listener(self, client):
        """The listener that is examined. Other tests would find it for an hour."""
        made = client.sandbox.listener("examined")
        made.begin()
        yield made
        made.end()

    @pytest.mark.parametrize(("refused", "failed"), [(b"\0", []), (b'"new_field"', ["unknown_field"])])
    def test_of_a_local_receiver_ends_with_1_if_a_probe_failed(
        self, run, listener, refused, failed, monkeypatch
    ):
        monkeypatch.setattr(exam, "PAUSE", 0.1)
        key = listener.begin().hash_key

        with receiving(key, refused) as address:
            code, printed, said = run("exam", "--forward-to", address, "--name", "examined", "--json")

        found = {each["probe"]: each["result"] for each in json.loads(printed)["results"]}
        assert code == bool(failed)
        assert [probe for probe, result in found.items() if result == "failed"] == failed
        assert found["large"] == ("not_run" if failed else "passed")
        assert f"Signing key: {key}" in said
        assert "How often did your system act upon exam-" in said
        assert "/dashboard/webhooks/exam/?id=" in said

    def test_of_an_endpoint_needs_one(self, run):
        code, printed, said = run("exam")

        assert (code, printed) == (1, "")
        assert "Save a webhook URL first." in said

    def test_has_a_name_with_an_address_only(self, run):
        assert run("exam", "--name", "laptop")[0] == 2
        assert run("exam", "--forward-to", "nowhere at all")[0] == 2

    @pytest.mark.usefixtures("listener")
    def test_says_when_nothing_receives(self, run):
        code, printed, said = run("exam", "--forward-to", "127.0.0.1:9", "--name", "examined")

        assert code == 1
        assert "How often" not in said
        assert "The connection was refused." in printed
        assert printed.splitlines()[-1] == "The exam failed."


class TestNotReached:
    def test_ends_with_3(self, run, monkeypatch):
        monkeypatch.setattr("sluice.caller.FIRST_WAIT", 0)

        code, out, errors = run("payments", "list", "--base-url", "http://127.0.0.1:1")

        assert (code, out) == (3, "")
        assert "could not be reached" in errors


class TestLiveKeys:
    @pytest.fixture
    def live(self, run, monkeypatch):
        for name, value in {
            "BASE_URL": "https://127.0.0.1:1",
            "API_KEY": "pk_live_1",
            "SECRET_KEY": "sk_live_1",
        }.items():
            monkeypatch.setenv(f"SLUICE_{name}", value)
        monkeypatch.setattr("sluice.caller.FIRST_WAIT", 0)
        return run

    def test_are_not_used_for_a_change_without_a_yes(self, live):
        code, _, errors = live("payments", "void", "order-1")
        assert (code, "--yes" in errors) == (1, True)

        assert live("payments", "void", "order-1", "--yes")[0] == 3
        assert live("payments", "list")[0] == 3


def test_amounts_are_printed_as_money():
    assert [money(*each) for each in [(250_000, "NGN"), (5, "JPY"), (1_234, "KWD"), (-5, "USD")]] == [
        "NGN 2,500.00", "JPY 5", "KWD 1.234", "USD -0.05",
    ]  # fmt: skip


def test_makes_and_finds_links_payouts_and_accounts(run):
    name = f"cli-{secrets.token_hex(4)}"
    made = run("links", "create", "--once", "--reference", name, "--amount", "250000", "--currency", "NGN")
    assert made[0] == 0
    assert run("links", "get", name) == made
    assert name in run("links", "list")[1]
    assert "NGN 2,500.00" in made[1]

    payout = {"reference": name, "amount": 1_500_000, "currency": "NGN"}
    payout["customer"] = {"name": "Bisi Ade", "account_number": "0123456789", "bank_code": "058"}
    code, out, _ = run("payouts", "create", "--body", "-", body=json.dumps(payout).encode())
    assert code == 0
    assert "NGN 15,000.00" in out
    assert run("payouts", "get", name)[0] == 0
    listed = json.loads(run("payouts", "list", "--json")[1])
    assert {each["request_type"] for each in listed} == {"payout"}

    person = {"first_name": "Ada", "last_name": "Obi", "email": "ada@example.com"}
    account = {"type": "dynamic", "currency": "NGN", "reference": name, **person}
    opened = run("accounts", "create", "--body", "-", body=json.dumps(account).encode())
    assert opened[0] == 0
    assert run("accounts", "get", name) == opened
    assert name in run("accounts", "list")[1]
