import io
import json
import subprocess
import sys
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

from sluice import Sluice, signing, webhooks
from sluice.cli import exam, trigger
from sluice.cli.main import main
from sluice.cli.streams import safe
from sluice.credentials import NoCredentials, profiles_file
from sluice.transport import Response

VECTORS = json.loads(Path(__file__, "../../../../tests/data/signing_vectors.json").resolve().read_text())
SOURCE = Path(__file__, "../../src").resolve()
KEYS = {
    "SLUICE_BASE_URL": "https://pay.example",
    "SLUICE_API_KEY": "pk_sandbox_1",
    "SLUICE_SECRET_KEY": "sk_sandbox_canary",
}
WEBHOOK = VECTORS["webhook"]


@pytest.fixture
def sluice(tmp_path, monkeypatch, capfdbinary):
    """Return a function that runs `sluice` in this process, in an empty folder, with these variables only."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, body=b"", **environment):
        monkeypatch.setattr("os.environ", {"HOME": str(tmp_path), **environment})
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(body)))
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse
            code = ended.code
        printed = capfdbinary.readouterr()
        return SimpleNamespace(returncode=code, stdout=printed.out, stderr=printed.err)

    return run


def _profile(folder, mode=0o600, **keys):
    file = folder / ".config" / "sluice" / "profiles.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"default": keys}))
    file.chmod(mode)
    return file


class TestSign:
    def test_prints_headers_that_the_signature_fits(self, sluice):
        done = sluice("sign", "post", "/api/payments?a=%3a", "--body", "-", body=b'{"amount":1}', **KEYS)

        headers = dict(line.split(": ", 1) for line in done.stdout.decode().splitlines())
        text = signing.string_to_sign(
            timestamp=headers["X-Timestamp"],
            nonce=headers["X-Nonce"],
            method="POST",
            target="/api/payments?a=%3a",
            body=b'{"amount":1}',
        )
        assert done.returncode == 0
        assert headers["X-Signature"] == signing.sign("sk_sandbox_canary", text)
        assert done.stdout.endswith(b"\n")

    def test_prints_json(self, sluice):
        document = json.loads(sluice("sign", "GET", "/api/banks", "--json", **KEYS).stdout)

        assert document.keys() == {"headers", "string_to_sign"}
        assert document["string_to_sign"].split("\n")[2:4] == ["GET", "/api/banks"]

    def test_prints_a_curl_command_that_sends_the_file_as_it_is(self, sluice, tmp_path):
        Path(tmp_path, "it's an order.json").write_bytes(b'{"a": 1}\n')

        printed = sluice(
            "sign", "POST", "/api/payments", "--body", "it's an order.json", "--curl", **KEYS
        ).stdout.decode()

        shell = f"curl() {{ printf '%s\\n' \"$@\"; }}; {printed}"
        words = (
            subprocess.run(["sh", "-c", shell], capture_output=True, check=True).stdout.decode().splitlines()
        )
        assert words[-1] == "https://pay.example/api/payments"
        assert "@it's an order.json" in words

    def test_never_prints_the_secret(self, sluice):
        for option in ("--headers", "--curl", "--json"):
            done = sluice("sign", "GET", "/api/banks", option, **KEYS)
            assert b"canary" not in done.stdout + done.stderr

    @pytest.mark.parametrize(
        "arguments",
        [
            ["sign", "GET", "api/banks"],
            ["sign", "GET"],
            ["sign", "GET", "/api/banks", "--curl", "--headers"],
            ["sign", "POST", "/api/payments", "--body", "missing.json"],
            ["unknown"],
            [],
        ],
    )
    def test_ends_with_2_for_wrong_usage(self, sluice, arguments):
        done = sluice(*arguments, **KEYS)

        assert done.returncode == 2
        assert done.stderr
        assert b"Traceback" not in done.stderr


class TestWhoCalls:
    def test_is_the_environment_before_the_default_profile(self, sluice, tmp_path):
        _profile(tmp_path, base_url="https://other.example", api_key="pk_other", secret_key="sk_other")

        assert b"pk_sandbox_1" in sluice("sign", "GET", "/api/banks", **KEYS).stdout
        assert b"pk_other" in sluice("sign", "GET", "/api/banks").stdout
        assert b"pk_other" in sluice("sign", "GET", "/api/banks", "--profile", "default", **KEYS).stdout

    def test_is_the_sandbox_of_this_folder_otherwise(self, sluice, tmp_path):
        folder = tmp_path / "var" / "sandbox"
        folder.mkdir(parents=True)
        keys = {"base_url": "http://127.0.0.1:8000", "api_key": "pk_here", "secret_key": "sk_here"}
        (folder / "credentials.json").write_text(json.dumps(keys))

        assert b"pk_here" in sluice("sign", "GET", "/api/banks").stdout

    @pytest.mark.parametrize(
        "address",
        [
            "https://evil.example",
            "http://127.0.0.1@evil.example",
            "http://localhost.evil.example",
            "http://[",
        ],
    )
    def test_is_no_sandbox_of_another_machine(self, sluice, tmp_path, address):
        folder = tmp_path / "var" / "sandbox"
        folder.mkdir(parents=True)
        keys = {"base_url": address, "api_key": "pk_here", "secret_key": "sk_here"}
        (folder / "credentials.json").write_text(json.dumps(keys))

        done = sluice("sign", "GET", "/api/banks")

        assert (done.returncode, done.stdout) == (2, b"")
        assert b"a sandbox is on this machine" in done.stderr

    def test_is_the_sandbox_that_was_started_last(self, sluice, tmp_path):
        (tmp_path / "var").mkdir()
        (tmp_path / "elsewhere").mkdir()
        keys = {"base_url": "http://127.0.0.1:8100", "api_key": "pk_elsewhere", "secret_key": "sk_here"}
        (tmp_path / "elsewhere" / "credentials.json").write_text(json.dumps(keys))
        current = {"folder": str(tmp_path / "elsewhere"), "base_url": "http://127.0.0.1:8100"}
        (tmp_path / "var" / "sandbox.current").write_text(json.dumps(current))

        assert b"pk_elsewhere" in sluice("sign", "GET", "/api/banks").stdout

    def test_is_said_to_be_missing_with_what_to_do(self, sluice, tmp_path):
        done = sluice("sign", "GET", "/api/banks")

        assert done.returncode == 2
        assert f"in {tmp_path}/var/sandbox." in done.stderr.decode()
        assert b"`sluice login --sandbox DIR` or SANDBOX_DATA=DIR (make run prints it)" in done.stderr
        assert b"SLUICE_API_KEY" in done.stderr

    def test_is_refused_if_others_can_read_the_profiles(self, sluice, tmp_path):
        file = _profile(tmp_path, 0o644, base_url="https://a.example", api_key="pk_1", secret_key="sk_canary")

        done = sluice("sign", "GET", "/api/banks")

        assert done.returncode == 2
        assert f"chmod 600 {file}".encode() in done.stderr
        assert b"canary" not in done.stderr

    def test_names_the_missing_variable(self, sluice):
        done = sluice("sign", "GET", "/api/banks", SLUICE_API_KEY="pk_1")

        assert done.returncode == 2
        assert b"SLUICE_BASE_URL, SLUICE_SECRET_KEY as well" in done.stderr

    def test_is_said_to_be_missing_to_a_program(self, monkeypatch):
        for name in KEYS:
            monkeypatch.delenv(name, raising=False)

        with pytest.raises(NoCredentials) as refused:
            Sluice.from_env()

        assert str(refused.value) == (
            "Set SLUICE_BASE_URL, SLUICE_API_KEY and SLUICE_SECRET_KEY, or use Sluice.from_sandbox()."
        )

    def test_keeps_profiles_where_the_desktop_says(self, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

        assert profiles_file() == tmp_path / "sluice" / "profiles.json"


class TestExam:
    @pytest.fixture
    def examine(self, monkeypatch, capfd):
        """Return a function that ends an exam at a terminal, and what was printed and saved."""

        def run(duplicate, typed):
            saved = []
            results = [SimpleNamespace(probe="duplicate", result=duplicate, cause="Cause.")]
            ended = SimpleNamespace(id="e-1", state="failed", question="How often?", results=results)
            sandbox = SimpleNamespace(
                exam=lambda endpoint_id: ended, report_exam=lambda _, acted: saved.append(acted)
            )
            client = nullcontext(SimpleNamespace(sandbox=sandbox, base_url="https://pay.example"))
            monkeypatch.setattr(exam, "connect_to_sandbox", lambda options: client)
            terminal = io.StringIO(typed)
            terminal.isatty = lambda: True
            monkeypatch.setattr("sys.stdin", terminal)
            assert main(["exam"]) == 1
            return capfd.readouterr(), saved

        return run

    @pytest.mark.parametrize(
        ("typed", "saved", "told"),
        [
            ("more\n", ["more"], "Answer saved."),
            ("\n", [], "https://pay.example/dashboard/webhooks/exam/?id=e-1"),
            ("two\n", [], "two is not 0, 1 or more: nothing was saved."),
        ],
    )
    def test_prints_the_results_and_then_asks(self, examine, typed, saved, told):
        printed, reported = examine("passed", typed)

        assert printed.out == "passed  duplicate  Cause.\nThe exam failed.\n"
        assert "How often? 0, 1 or more (Enter: later)" in printed.err
        assert told in printed.err
        assert reported == saved

    def test_does_not_ask_if_the_duplicate_was_not_sent(self, examine):
        printed, reported = examine("not_run", "1\n")

        assert "How often?" not in printed.err
        assert reported == []

    def test_prints_one_line_for_all_that_was_not_run_for_the_same_reason(self):
        results = [
            SimpleNamespace(probe=probe, result=result, cause=cause)
            for probe, result, cause in (
                ("genuine", "passed", "Cause."),
                ("duplicate", "failed", "Cause."),
                ("at_once", "not_run", "Not run, because duplicate failed."),
                ("other_layout", "failed", "Cause."),
                ("lost_acknowledgement", "not_run", "Not run, because duplicate failed."),
                ("unicode", "not_run", "Not run, because other_layout failed."),
            )
        ]

        assert list(exam.rows_of(results))[3:] == [
            ("not_run", "2 probes", "Not run, because duplicate failed."),
            ("not_run", "unicode", "Not run, because other_layout failed."),
        ]

    def test_names_the_event_if_the_system_did_not_act(self, examine):
        printed, saved = examine("passed", "0\n")

        assert saved == ["0"]
        assert (
            "Does it wait for the right event? The names are payment.success, payment.failed," in printed.err
        )


class TestEvents:
    ID = "00000000-0000-4000-8000-000000000000"
    RECORD = SimpleNamespace(
        event="payment.success",
        id=ID,
        event_id="11111111-1111-4111-8111-111111111111",
        state="waiting",
        created_at="2026-01-31T12:00:00Z",
        next_attempt_at="2126-01-31T12:00:00Z",
        attempts_made=1,
        subject=SimpleNamespace(reference="order-1042"),
    )

    @pytest.mark.parametrize(
        ("status", "explanation", "told"),
        [
            (400, "The endpoint answered 400.", "Your endpoint answered 400; next attempt in "),
            (None, "The connection was refused.", "The connection was refused; next attempt in "),
        ],
    )
    def test_trigger_shows_a_refused_attempt(self, status, explanation, told):
        attempts = [
            SimpleNamespace(status=500, explanation=""),
            SimpleNamespace(status=status, explanation=explanation),
        ]
        found = SimpleNamespace(attempts=attempts)
        client = SimpleNamespace(events=SimpleNamespace(get=lambda event_id: found))

        (line,) = trigger._refusal(self.RECORD, trigger._refused(client, self.RECORD))

        assert line.startswith(told)
        assert line.endswith(f". See `sluice events show {self.ID}`.")

    def test_advance_says_when_the_next_attempt_is_due(self, monkeypatch, capfd):
        due = datetime.now(timezone.utc) + timedelta(hours=7, minutes=13, seconds=30)
        record = SimpleNamespace(**vars(self.RECORD) | {"next_attempt_at": due.isoformat()})
        sandbox = SimpleNamespace(advance_event=lambda event_id: record)
        client = nullcontext(SimpleNamespace(sandbox=sandbox))
        monkeypatch.setattr("sluice.cli.advance.connect_to_sandbox", lambda options: client)

        assert main(["advance", "event", self.ID]) == 0
        assert f"next attempt {due.isoformat()} (in 7 h 13 min)" in capfd.readouterr().out

    @pytest.mark.parametrize("attempts_made", [0, 1])
    def test_say_that_an_attempt_is_in_progress(self, monkeypatch, capfd, attempts_made):
        sent = SimpleNamespace(
            **vars(self.RECORD) | {"next_attempt_at": None, "attempts_made": attempts_made, "attempts": []}
        )
        client = SimpleNamespace(events=SimpleNamespace(get=lambda event_id: sent))
        monkeypatch.setattr("sluice.cli.events.connect", lambda options: nullcontext(client))

        assert main(["events", "show", self.ID]) == 0
        assert "An attempt is in progress." in capfd.readouterr().out
        assert "an attempt is in progress" in trigger._delivery(
            sent, None, SimpleNamespace(no_wait=False), []
        )

    def test_trigger_says_no_more_of_what_was_delivered(self):
        delivered = SimpleNamespace(**vars(self.RECORD) | {"state": "delivered"})

        assert trigger._refused(None, delivered) is None
        assert list(trigger._refusal(delivered, None)) == []

    def test_are_shown_with_the_reference_of_their_subject(self, monkeypatch, capfd):
        shown = SimpleNamespace(**vars(self.RECORD), attempts=[])
        listed = SimpleNamespace(data=[self.RECORD])
        found = SimpleNamespace(get=lambda event_id: shown, list=lambda **filters: listed)
        client = nullcontext(SimpleNamespace(events=found))
        monkeypatch.setattr("sluice.cli.events.connect", lambda options: client)

        for command in (["list"], ["show", self.ID]):
            assert main(["events", *command]) == 0
            assert capfd.readouterr().out.splitlines()[0].endswith("  order-1042")

    def test_are_named_by_the_id_that_shows_and_resends_them(self, monkeypatch, capfd):
        """At further endpoints, `event_id` is the id of another delivery, or of none."""
        shown = SimpleNamespace(**vars(self.RECORD), attempts=[])
        found = SimpleNamespace(
            get=lambda given: shown,
            resend=lambda given, to: shown,
            list=lambda **filters: SimpleNamespace(data=[shown]),
        )
        client = nullcontext(SimpleNamespace(events=found))
        monkeypatch.setattr("sluice.cli.events.connect", lambda options: client)
        monkeypatch.setattr("sluice.cli.events.connect_to_change", lambda options, _: client)

        for command in (["list"], ["show", self.ID], ["resend", self.ID]):
            assert main(["events", *command]) == 0
            printed = capfd.readouterr().out
            assert self.ID in printed
            assert shown.event_id not in printed
        no_wait = SimpleNamespace(no_wait=False)
        assert trigger._delivery(shown, None, no_wait, []).startswith(f"payment.success {self.ID}: waiting")

    def test_are_listed_of_one_endpoint(self, monkeypatch):
        filters = {}
        found = SimpleNamespace(list=lambda **given: filters.update(given) or SimpleNamespace(data=[]))
        client = nullcontext(SimpleNamespace(events=found))
        monkeypatch.setattr("sluice.cli.events.connect", lambda options: client)

        assert main(["events", "list", "--endpoint", "e-1"]) == 0
        assert filters["endpoint_id"] == "e-1"


class TestAdvance:
    BATCH = SimpleNamespace(
        day="2026-11-28", number=1, status="released", count=2, net=150_000, currency="NGN", reference="wk48", counts={"success": 2}
    )  # fmt: skip
    PAYMENT = SimpleNamespace(
        advanced="dispute",
        reference="order-1042",
        amount=50_077,
        currency="NGN",
        status="success",
        response_summary="Success",
        disputes=[SimpleNamespace(stage="chargeback", status="expired")],
    )

    @pytest.mark.parametrize(
        ("command", "called", "shown"),
        [
            (["payment", "order-1042", "--until", "watch"], ("advance_payment", "order-1042", "watch"), "success (Success)"),
            (["dispute", "CB-1"], ("advance_payment", "CB-1"), "order-1042 has chargeback expired"),
            (["batch", "wk48"], ("advance_payout_batch", "wk48", None), "wk48 is released: 2 success"),
            (["reserve", "ID"], ("return_reserve", "ID"), "NGN 1,500.00"),
        ],
    )  # fmt: skip
    def test_calls_the_sandbox_and_shows_what_happened(self, monkeypatch, capfd, command, called, shown):
        calls = []

        def answering(name, answer):
            return lambda *values: calls.append((name, *values)) or answer

        sandbox = SimpleNamespace(
            advance_payment=answering("advance_payment", self.PAYMENT),
            advance_payout_batch=answering("advance_payout_batch", self.BATCH),
            return_reserve=answering("return_reserve", SimpleNamespace(batches=[self.BATCH])),
        )
        client = nullcontext(SimpleNamespace(sandbox=sandbox))
        monkeypatch.setattr("sluice.cli.advance.connect_to_sandbox", lambda options: client)

        assert main(["advance", *command]) == 0

        assert calls == [called]
        assert shown in capfd.readouterr().out


class TestVerify:
    @pytest.fixture
    def verify(self, sluice):
        def run(signature, body, key=WEBHOOK["hash_key"]):
            return sluice("verify", signature, "--json", body=body, WEBHOOK_HASH_KEY=key)

        return run

    def test_says_that_a_signature_is_right(self, verify):
        done = verify(WEBHOOK["signature"], WEBHOOK["body"].encode())

        assert (done.returncode, json.loads(done.stdout)) == (0, {"valid": True, "causes": []})

    @pytest.mark.parametrize(
        ("signature", "body", "cause"),
        [
            (WEBHOOK["signature"], WEBHOOK["body"] + "\n", "line feed"),
            (WEBHOOK["signature"].upper(), WEBHOOK["body"], "lower case"),
            (WEBHOOK["signature"] + " ", WEBHOOK["body"], "blanks"),
            (WEBHOOK["signature"], json.dumps(json.loads(WEBHOOK["body"]), indent=2), "written again"),
            (WEBHOOK["signature"][:32], WEBHOOK["body"], "64 hex digits"),
        ],
    )
    def test_names_the_usual_mistakes(self, verify, signature, body, cause):
        done = verify(signature, body.encode())

        document = json.loads(done.stdout)
        assert (done.returncode, document["valid"]) == (1, False)
        assert cause in " ".join(document["causes"])

    def test_says_in_words_what_to_check_with_another_key(self, sluice):
        done = sluice(
            "verify", WEBHOOK["signature"], body=WEBHOOK["body"].encode(), WEBHOOK_HASH_KEY="whk_canary"
        )

        assert done.returncode == 1
        assert b"key of this endpoint" in done.stdout
        assert b"canary" not in done.stdout + done.stderr

    def test_says_which_event_was_probably_meant(self, sluice):
        body, key = b'{"event": "payment.succeeded"}', "whk_test"

        done = sluice("verify", webhooks.sign(body, key), body=body, WEBHOOK_HASH_KEY=key)

        assert (done.returncode, done.stdout) == (0, b"The signature is right.\n")
        assert b"There is no event payment.succeeded. Did you mean payment.success?" in done.stderr

    def test_ends_with_2_without_a_key(self, sluice):
        assert sluice("verify", WEBHOOK["signature"]).returncode == 2


def test_is_a_module_that_can_be_run():
    command = [sys.executable, "-m", "sluice", "--version"]
    done = subprocess.run(command, env={"PYTHONPATH": str(SOURCE)}, capture_output=True, check=True)

    assert done.stdout.startswith(b"sluice ")


class TestUnfriendlyHost:
    """The outcome decides the exit code, whatever becomes of the output."""

    BANKS = (
        "import sys; from types import SimpleNamespace; from sluice.cli.output import show; from sluice.cli import main as it;"
        "from unittest import mock; module = SimpleNamespace();"
        "run = lambda options: show({'name': '₦ é \\x9b2J'}, options, lines=lambda: ['₦ é']) or 1;"
        "options = lambda *_: SimpleNamespace(parse_args=lambda _: SimpleNamespace(run=run, json='--json' in sys.argv));"
        "mock.patch.object(it, '_parser', options).start(); sys.exit(it.main())"
    )

    def _run(self, shell, *, encoding="utf-8"):
        environment = {"PYTHONPATH": str(SOURCE), "PYTHONIOENCODING": encoding, "CODE": self.BANKS}
        command = f'"{sys.executable}" -c "$CODE" {shell}'
        return subprocess.run(["bash", "-c", command], env=environment, capture_output=True, check=False)

    @pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
    def test_prints_in_any_encoding(self, encoding):
        done = self._run("--json", encoding=encoding)

        assert (done.returncode, done.stderr) == (1, b"")
        assert json.loads(done.stdout) == {"name": "₦ é \x9b2J"}
        assert b"\\u20a6" in self._run("", encoding=encoding).stdout

    @pytest.mark.parametrize("shell", [">/dev/full", ">&-", "| true; exit ${PIPESTATUS[0]}"])
    def test_keeps_the_outcome_if_the_output_is_lost(self, shell):
        done = self._run(shell)

        assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
        assert (b"could not be written: No space left" in done.stderr) == ("full" in shell)

    @pytest.mark.parametrize("ending", ["\r", " ", "\n"])
    def test_signs_with_no_key_that_has_a_line_end(self, sluice, ending):
        done = sluice("sign", "GET", "/api/banks", **KEYS | {"SLUICE_SECRET_KEY": f"sk_canary{ending}"})

        assert (done.returncode, done.stdout) == (2, b"")
        assert b"SLUICE_SECRET_KEY of the environment" in done.stderr
        assert b"canary" not in done.stderr

    def test_needs_no_home_directory(self, sluice, monkeypatch):
        def no_home():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "home", no_home)

        assert sluice("sign", "GET", "/api/banks", **KEYS).returncode == 0
        assert b"there is no sandbox" in sluice("sign", "GET", "/api/banks").stderr
        done = sluice("sign", "GET", "/api/banks", "--profile", "shop")
        assert (done.returncode, b"set HOME" in done.stderr) == (2, True)

    def test_escapes_what_a_terminal_acts_upon(self):
        terminal = SimpleNamespace(isatty=lambda: True)

        assert safe("a\x1b[2J\x9b\x7f\u202eb\n", terminal) == "a\\u001b[2J\\u009b\\u007f\\u202eb\n"
        assert safe("\x1b", io.StringIO()) == "\x1b"


class TestLookups:
    @pytest.fixture(autouse=True)
    def service(self, monkeypatch):
        at = "2026-01-31T08:00:00Z"
        refund = SimpleNamespace(
            created_at=at, status="success", amount=250_000, currency="NGN", reference="refund-1"
        )
        found = {"order-1": SimpleNamespace(data=[refund])}
        client = SimpleNamespace(
            balance=SimpleNamespace(
                get=lambda: [SimpleNamespace(currency="NGN", available=250_000, pending=-5)]
            ),
            banks=SimpleNamespace(
                list=lambda: [
                    SimpleNamespace(code="058", nip_code="000013", country="NGA", name="Guaranty Trust Bank")
                ]
            ),
            refunds=SimpleNamespace(list=lambda payment, limit: found[payment]),
        )
        monkeypatch.setattr("sluice.cli.lookups.connect", lambda _: nullcontext(client))

    def test_shows_amounts_as_money(self, sluice):
        assert sluice("balance").stdout == b"NGN 2,500.00  available  NGN -0.05  pending\n"
        expected = b"2026-01-31T08:00:00Z  success  NGN 2,500.00  refund-1\n"
        assert sluice("refunds", "list", "order-1").stdout == expected

    def test_lists_banks_by_their_codes(self, sluice):
        assert sluice("banks").stdout == b"058  000013  NGA  Guaranty Trust Bank\n"


class TestLinks:
    @pytest.fixture
    def sent(self, monkeypatch):
        """Return what was sent. The service answers with it."""
        sent = []
        rest = {"id": "l-1", "status": "active", "url": "https://pay.example/l/2dn", "amount_range": None}
        rest |= {"uses_paid": 0, "amount_paid": 0, "max_uses": None}

        def create(**request):
            sent.append(request)
            return SimpleNamespace(**rest | request)

        client = SimpleNamespace(payment_links=SimpleNamespace(create=create))
        monkeypatch.setattr("sluice.cli.links.connect_to_change", lambda *_: nullcontext(client))
        return sent

    def test_once_makes_a_link_for_one_payment_and_prints_its_url(self, sluice, sent):
        done = sluice("links", "create", "--once", "--amount", "250000", "--currency", "NGN")

        reference = sent[0].pop("reference")
        assert sent == [{"title": reference, "amount": 250_000, "currency": "NGN", "max_uses": 1}]
        lines = done.stdout.decode().splitlines()
        assert "amount        NGN 2,500.00" in lines
        assert "paid          0 of 1" in lines
        assert "url           https://pay.example/l/2dn" in lines

    def test_options_change_a_body(self, sluice, sent):
        body = {"reference": "r-1", "title": "Book", "amount": 5, "currency": "NGN", "max_uses": 3}
        sluice("links", "create", "--once", "--title", "Pen", "--body", "-", body=json.dumps(body).encode())

        assert sent == [body | {"title": "Pen", "max_uses": 1}]


class TestRefunds:
    @pytest.mark.parametrize("fault", [Response(503, {}, b"{}"), KeyboardInterrupt()])
    def test_without_an_answer_can_be_repeated(self, sluice, monkeypatch, fault):
        """The command chose the reference: the same command again would refund twice."""
        sent = []

        def send(_, request):
            sent.append(json.loads(request.body)["reference"])
            if isinstance(fault, KeyboardInterrupt):
                raise fault
            return fault

        monkeypatch.setattr("sluice.transport.HttpTransport.send", send)
        monkeypatch.setattr("sluice.caller.FIRST_WAIT", 0)

        done = sluice("payments", "refund", "order-1", "--amount", "100", **KEYS)

        assert done.returncode != 0
        assert set(sent) == {sent[0]}
        assert f"--reference {sent[0]}" in done.stderr.decode()


class TestEndpoints:
    ENDPOINT = {
        "id": "e-1", "url": "https://shop.example/hooks", "subscribed_events": ["payment", "refund.success"],
        "enabled": True, "description": "Warehouse", "standard_webhooks": True, "api_version": "2026-11-01",
        "created_at": "2026-01-31T08:00:00.000Z",
    }  # fmt: skip
    WITH_KEY = ENDPOINT | {"hash_key": "whk_sandbox_1"}

    @pytest.fixture
    def answered(self, sluice, monkeypatch):
        """Return a function that runs `sluice endpoints` against one answer, and returns the result and the request."""
        sent = []

        def run(*arguments, status=200, document=None):
            def send(_, request):
                sent.append((request.method, request.target, request.body and json.loads(request.body)))
                return Response(status, {}, b"" if document is None else json.dumps(document).encode())

            monkeypatch.setattr("sluice.transport.HttpTransport.send", send)
            return sluice("endpoints", *arguments, **KEYS), sent[-1]

        return run

    def test_are_listed(self, answered):
        page = {"data": [self.ENDPOINT, self.ENDPOINT | {"enabled": False}], "next": None, "previous": None}

        done, request = answered("list", document=page)

        assert request == ("GET", "/api/webhook-endpoints", b"")
        first, second = done.stdout.decode().splitlines()
        assert first == "enabled   https://shop.example/hooks  payment,refund.success  Warehouse  e-1"
        assert second.startswith("disabled  https")

    def test_are_created_and_show_their_key(self, answered):
        done, request = answered(
            "create", "--url", "https://shop.example/hooks", "--events", "payment,refund.success",
            "--standard-webhooks", status=201, document=self.WITH_KEY,
        )  # fmt: skip

        wanted = {"url": "https://shop.example/hooks", "subscribed_events": ["payment", "refund.success"]}
        assert request == ("POST", "/api/webhook-endpoints", wanted | {"standard_webhooks": True})
        lines = done.stdout.decode().splitlines()
        assert "signing key   whk_sandbox_1" in lines
        assert "standard      also the headers of Standard Webhooks" in lines
        assert "their secret  whsec_d2hrX3NhbmRib3hfMQ==" in lines

    def test_are_looked_up_as_json(self, answered):
        done, request = answered("get", "e-1", "--json", document=self.ENDPOINT)

        assert request[:2] == ("GET", "/api/webhook-endpoints/e-1")
        assert json.loads(done.stdout) == self.ENDPOINT

    @pytest.mark.parametrize(
        ("options", "changes"),
        [
            (["--disable"], {"enabled": False}),
            (["--enable", "--no-standard-webhooks"], {"enabled": True, "standard_webhooks": False}),
            (
                ["--description", "", "--events", "payout"],
                {"description": "", "subscribed_events": ["payout"]},
            ),
            (["--api-version", "2026-11-01"], {"api_version": "2026-11-01"}),
        ],
    )
    def test_are_changed_in_what_is_given_only(self, answered, options, changes):
        _, request = answered("update", "e-1", *options, document=self.ENDPOINT)

        assert request == ("PATCH", "/api/webhook-endpoints/e-1", changes)

    def test_get_another_key(self, answered):
        done, request = answered("rotate", "e-1", "--overlap-hours", "24", document=self.WITH_KEY)

        assert request == ("POST", "/api/webhook-endpoints/e-1/rotate", {"overlap_hours": 24})
        assert b"whk_sandbox_1" in done.stdout

    def test_are_deleted(self, answered):
        done, request = answered("delete", "e-1", "--json", status=204)

        assert request[:2] == ("DELETE", "/api/webhook-endpoints/e-1")
        assert json.loads(done.stdout) == {"deleted": "e-1"}

    def test_the_first_can_not_be_deleted(self, answered):
        detail = {
            "status": 409,
            "code": "invalid_state",
            "title": "Conflict",
            "detail": "Disable it instead.",
        }

        done, _ = answered("delete", "e-1", status=409, document=detail)

        assert (done.returncode, done.stdout) == (1, b"")
        assert b"Disable it instead." in done.stderr


class TestPayouts:
    def test_refuses_a_body_that_is_no_payout(self, sluice):
        done = sluice("payouts", "create", "--body", "-", body=b'{"request_type":"payment"}')

        assert (done.returncode, done.stdout) == (2, b"")
        assert b"The body is no payout" in done.stderr


class TestPayoutBatches:
    HEAD = "\ufeffBeneficiary;Bank;Account number;Amount (NGN);Narration;Reference;Purpose\n"

    @pytest.fixture
    def sent(self, monkeypatch):
        """Return the requests that are sent."""
        requests = []
        made = SimpleNamespace(
            reference="b", title="t", status="checking", currency="NGN", counts={}, sums={}
        )
        made.fees, made.missing, made.waits_for, made.id = 0, 0, None, "1"
        listed = [("Access Bank", "044"), ("Guaranty Trust Bank", "058")]
        named = [SimpleNamespace(name=name, code=code) for name, code in listed]
        banks = SimpleNamespace(list=lambda: named)
        stored = SimpleNamespace(create=lambda **request: requests.append(request) or made)
        for action in ("approve", "cancel", "retry"):
            setattr(stored, action, lambda ref, _a=action, **body: requests.append((_a, ref, body)) or made)
        client = SimpleNamespace(banks=banks, payout_batches=stored)
        monkeypatch.setattr("sluice.cli.payout_batches.connect_to_change", lambda *_: nullcontext(client))
        return requests

    def test_of_a_csv_file_have_the_same_reference_each_time(self, sluice, sent):
        rows = "Kano; Dye;access;0690213447;1,500.5;;\n".replace("Kano; Dye", '"Kano; Dye"')
        body = (self.HEAD + rows + "Bisi Alabi;GTBank;0124559810;20;Week 48;bisi-1;Salary\n").encode()

        for _ in range(2):
            assert sluice("payout-batches", "create", "--csv", "-", body=body).returncode == 0

        first, second = sent
        assert first == second
        customer = {"name": "Kano; Dye", "account_number": "0690213447", "bank_code": "044"}
        reference = f"{first['reference']}-1"
        assert first["payouts"][0] == {
            "reference": reference, "amount": 150_050, "currency": "NGN", "customer": customer
        }  # fmt: skip
        assert first["payouts"][1]["customer"]["bank_code"] == "058"
        second_row = [first["payouts"][1][each] for each in ("reference", "narration", "purpose")]
        assert second_row == ["bisi-1", "Week 48", "salary"]

    def test_are_approved_with_reasons_cancelled_and_retried(self, sluice, sent):
        accepted = ["--accept", "bisi-1=Two invoices=one payment", "--accept", "ada-1=Known"]
        assert sluice("payout-batches", "approve", "wk48", *accepted).returncode == 0
        for action in ("cancel", "retry"):
            assert sluice("payout-batches", action, "wk48").returncode == 0

        reasons = {"bisi-1": "Two invoices=one payment", "ada-1": "Known"}
        approval = {"accept": reasons, "as_far_as_balance": False}
        assert sent == [("approve", "wk48", approval), ("cancel", "wk48", {}), ("retry", "wk48", {})]
        assert sluice("payout-batches", "approve", "wk48", "--accept", "bisi-1").returncode == 2

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (HEAD + "Ada;044;0690213447;1.500,00", "Row 1: the amount '1.500,00' can't be read"),
            (HEAD + "Ada;044;0690213447;1.555", "Row 1: the amount '1.555'"),
            ("Name,Bank,Amount\nAda,044,1", "no column for account_number"),
            (HEAD, "no rows"),
            (HEAD + 'Ada;044;0690213447;1;"Rent\nBisi;058;0124559810;1;', "a quotation mark isn't closed"),
        ],
    )
    def test_guess_nothing_of_a_file(self, sluice, sent, body, said):
        done = sluice("payout-batches", "create", "--csv", "-", body=body.encode())

        assert (done.returncode, sent) == (2, [])
        assert said in done.stderr.decode()


def test_events_show_prints_the_receivers_answer_in_the_line_of_its_attempt(sluice, monkeypatch):
    attempt = SimpleNamespace(number=1, started_at="2026-01-31T08:00:00Z", status=500, error="http_error")
    attempt.total_ms, attempt.explanation = 12.0, "The endpoint answered 500."
    attempt.response_body = "no such\r\ntable\u2028hooks"
    event = SimpleNamespace(event="payment.success", state="dead", created_at="2026-01-31T08:00:00Z")
    event.subject, event.attempts, event.next_attempt_at = None, [attempt], None
    client = SimpleNamespace(events=SimpleNamespace(get=lambda _: event))
    monkeypatch.setattr("sluice.cli.events.connect", lambda _: nullcontext(client))

    lines = sluice("events", "show", "00000000-0000-4000-8000-000000000000").stdout.decode().splitlines()

    assert len(lines) == 2
    assert lines[1].endswith("The endpoint answered 500.  no such table hooks")
