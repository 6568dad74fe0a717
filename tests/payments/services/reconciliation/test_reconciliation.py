"""Statements of the acquirer and the bank, compared with the ledger."""

import contextlib
import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from ledger.models import Entry, Posting
from merchants.models import Business
from payments.models import CardOperation, Reconciliation, ReconciliationLine, Transaction
from payments.rules import bank_statement_parser
from payments.rules.bank_statement_parser import InvalidStatement
from payments.services.transfers.incoming import Notice, receive_notification
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.settling import today
from tests.wallets import fill_wallet
from virtual_accounts.models import Transfer

pytestmark = pytest.mark.django_db

HEADING = "reference,amount,currency,day,direction"


@pytest.fixture
def reconcile(tmp_path):
    """Return a function that runs the command on some lines and returns its JSON document."""

    def run(*lines, options=(), heading=HEADING):
        file = tmp_path / "statement.csv"
        file.write_text("\n".join([heading, *lines]) + "\n")
        out = StringIO()
        try:
            call_command("reconcile", "--file", str(file), "--json", *period(), *options, stdout=out)
            code = 0
        except SystemExit as ended:
            code = ended.code
        return json.loads(out.getvalue()) | {"exit": code}

    return run


def pay(api, **changes):
    order = orders.card_payment(**changes)
    api.post("/api/payments", order)
    return Transaction.objects.get(reference=order["reference"])


def pay_out(api, **changes):
    order = orders.payout(**changes)
    api.post("/api/payments", order)
    return Transaction.objects.get(reference=order["reference"])


def refund_payment(api, payment, amount):
    request = {"reference": orders.new_reference("rf"), "amount": amount}
    api.post(f"/api/payments/{payment.reference}/refunds", request)
    return CardOperation.objects.get(reference=request["reference"])


def line(reference, amount, *, currency="NGN", day=None, direction="in"):
    return f"{reference},{amount},{currency},{day or today()},{direction}"


def period():
    return "--from", str(today()), "--to", str(today())


def counts(document):
    return {name: count for name, count in document["counts"].items() if count}


class TestReconcile:
    @pytest.mark.parametrize("name", ["retrieval_reference_number", "acquirer_transaction_id", "reference"])
    def test_finds_a_card_payment_by_any_of_its_references(self, api, reconcile, name):
        payment = pay(api)

        found = reconcile(line(getattr(payment, name), 50_000))

        assert counts(found) == {"matched": 1}
        assert found["exit"] == 0

    def test_expects_the_captured_amount_of_a_partial_capture(self, api, reconcile):
        payment = pay(api, amount=100_000, capture=False)
        api.post(f"/api/payments/{payment.reference}/capture", {"amount": 40_000})

        assert counts(reconcile(line(payment.reference, 40_000))) == {"matched": 1}

    def test_finds_outgoing_payouts_and_refunds(self, api, reconcile):
        payment, payout = pay(api), pay_out(api)
        refund = refund_payment(api, payment, 10_000)

        found = reconcile(
            line(payment.retrieval_reference_number, 50_000),
            line(refund.reference, 10_000, direction="out"),
            line(payout.reference, 250_000, direction="out"),
        )

        assert counts(found) == {"matched": 3}

    def test_finds_a_transfer_by_the_bank_s_reference(self, api, reconcile):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
        payment = api.post("/api/payments", orders.transfer_payment(account["id"])).json()
        number = payment["virtual_account_details"]["account_number"]
        for amount in (50_000, 70_000):  # the second one matches no payment, but has arrived
            api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": amount})
        first, second = Transfer.objects.order_by("received_at", "id")

        found = reconcile(line(first.bank_reference, 50_000), line(second.bank_reference, 70_000))

        assert counts(found) == {"matched": 2}

    def test_distinguishes_refunds_of_one_payment_by_amount(self, api, reconcile):
        payment = pay(api)
        for amount in (10_000, 20_000):
            refund_payment(api, payment, amount)
        number = payment.retrieval_reference_number

        found = reconcile(
            line(number, 50_000),
            line(number, 20_000, direction="out"),
            line(number, 10_000, direction="out"),
        )

        assert counts(found) == {"matched": 3}

    @pytest.mark.parametrize("name", ["retrieval_reference_number", "system_trace_audit_number", "reference"])
    def test_finds_a_refund_by_its_own_references(self, api, reconcile, name):
        payment = pay(api)
        refund = refund_payment(api, payment, 20_000)
        another = refund_payment(api, payment, 20_000)

        found = reconcile(
            line(payment.retrieval_reference_number, 50_000),
            line(getattr(another, name), 20_000, direction="out"),
            line(getattr(refund, name), 20_000, direction="out"),
        )

        assert counts(found) == {"matched": 3}

    @pytest.mark.parametrize("name", ["retrieval_reference_number", "system_trace_audit_number"])
    def test_finds_a_deferred_capture_by_its_own_numbers(self, api, reconcile, name):
        payment = pay(api, capture=False)
        api.post(f"/api/payments/{payment.reference}/capture", {"amount": 20_000})
        capture = CardOperation.objects.get(kind="capture")

        assert counts(reconcile(line(getattr(capture, name), 20_000))) == {"matched": 1}
        assert counts(reconcile(line(payment.retrieval_reference_number, 20_000))) == {"matched": 1}

    def test_does_not_match_a_reference_of_two_businesses(self, api, other_api, reconcile):
        for of_business in (api, other_api):
            of_business.post("/api/payments", orders.card_payment(reference="1001"))

        found = reconcile(line("1001", 50_000))

        assert counts(found) == {"missing_here": 1, "missing_there": 2}
        assert found["missing_here"][0]["differences"] == {"reference": ["1001", "2 entries"]}

    def test_prefers_an_rrn_to_a_reference_of_another_business(self, api, other_api, reconcile):
        payment = pay(api)
        same = pay(other_api, reference=payment.retrieval_reference_number, amount=50_100)

        found = reconcile(
            line(payment.retrieval_reference_number, 50_100), line(same.retrieval_reference_number, 50_100)
        )

        assert counts(found) == {"matched": 1, "different": 1}
        assert found["different"][0]["id"] == str(payment.pk)

    def test_finds_a_payout_by_our_reference_at_the_bank(self, api, reconcile):
        payout = pay_out(api)

        assert counts(reconcile(line(payout.pk.hex, 250_000, direction="out"))) == {"matched": 1}

    def test_finds_a_transfer_that_no_account_could_accept(self, reconcile):
        unknown = Notice(
            account_number="9999999999",
            amount=70_000,
            currency="NGN",
            bank_reference="000013-1",
            sender_name="Ada Obi",
        )
        receive_notification(unknown)

        assert counts(reconcile(line("000013-1", 70_000))) == {"matched": 1}

    @pytest.mark.parametrize(
        ("changes", "difference"),
        [
            ({"amount": 49_999}, {"amount": [49_999, 50_000]}),
            ({"currency": "USD"}, {"currency": ["USD", "NGN"]}),
        ],
    )
    def test_reports_differences(self, api, reconcile, changes, difference):
        payment = pay(api)

        found = reconcile(line(payment.reference, **{"amount": 50_000} | changes))

        assert counts(found) == {"different": 1}
        assert found["different"][0]["differences"] == difference
        assert found["exit"] == 1

    def test_finds_an_entry_that_the_bank_dates_some_days_off(self, api, reconcile):
        payment, off = pay(api), today() + timedelta(days=2)

        found = reconcile(line(payment.reference, 50_000, day=off))

        assert found["different"][0]["differences"] == {"day": [str(off), str(today())]}

    @pytest.mark.parametrize(("amount", "status"), [(50_098, "pending"), (50_051, "failed")])
    def test_reports_a_success_that_is_unknown_here(self, api, reconcile, amount, status):
        payment = pay(api, amount=amount)

        found = reconcile(line(payment.reference, amount))

        assert found["different"][0]["differences"] == {"status": ["success", status]}

    def test_reports_lines_missing_here(self, api, reconcile):
        payment = pay(api)

        found = reconcile(line(payment.reference, 50_000), line("unknown", 7))

        assert counts(found) == {"matched": 1, "missing_here": 1}
        (missing,) = found["missing_here"]
        assert (missing["line"], missing["reference"], missing["amount"]) == (3, "unknown", 7)

    def test_matches_an_entry_to_one_line_only(self, api, reconcile):
        payment = pay(api)

        found = reconcile(*[line(payment.reference, 50_000)] * 2)

        assert counts(found) == {"matched": 1, "missing_here": 1}

    def test_distinguishes_incoming_and_outgoing_money(self, api, reconcile):
        payment = pay(api)

        found = reconcile(line(payment.reference, 50_000, direction="out"))

        assert counts(found) == {"missing_here": 1, "missing_there": 1}

    def test_reports_lines_missing_there(self, api, reconcile):
        payment, other = pay(api), pay(api, amount=70_000)
        pay(api, amount=50_051)  # declined: no money moved
        pay(api, currency="USD")  # another account's statement

        found = reconcile(line(payment.reference, 50_000), options=["--currency", "NGN"])

        (missing,) = found["missing_there"]
        assert (missing["id"], missing["amount"], missing["line"]) == (str(other.pk), 70_000, None)

    @pytest.mark.parametrize(("source", "missing"), [("acquirer", "card"), ("bank", "payout")])
    def test_expects_the_entries_of_its_source_only(self, api, reconcile, source, missing):
        pay(api), pay_out(api)

        found = reconcile(line("unknown", 7), options=["--source", source])

        assert [one["kind"] for one in found["missing_there"]] == [missing]

    @pytest.mark.parametrize(("options", "shown"), [(["--currency", "NGN"], "NGN"), ([], "All")])
    def test_shows_the_currency_that_it_was_narrowed_to(self, api, reconcile, options, shown):
        pay(api, currency="USD")

        reconcile(line("unknown", 7), options=["--apply", *options])

        staff = signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())
        page = staff.get("/admin/payments/reconciliation/").content.decode()
        assert f'<td class="field-compared_currency">{shown}</td>' in page

    def test_expects_every_day_of_the_period(self, api, reconcile):
        payment = pay(api)
        earlier = today() - timedelta(days=1)

        found = reconcile(line("unknown", 7, day=earlier), options=["--from", str(earlier)])

        assert [one["id"] for one in found["missing_there"]] == [str(payment.pk)]

    def test_expects_currencies_without_a_line(self, api, reconcile):
        payment, dollars = pay(api), pay(api, currency="USD")

        found = reconcile(line(payment.reference, 50_000))

        assert [one["id"] for one in found["missing_there"]] == [str(dollars.pk)]
        assert found["exit"] == 1

    def test_expects_top_ups_on_the_bank_s_statement(self, api, reconcile):
        fill_wallet(Business.objects.get(), 10**16)
        top_up = Entry.objects.get(kind="top_up")

        (missing,) = reconcile(line("unknown", 7), options=["--source", "bank"])["missing_there"]

        assert (missing["kind"], missing["id"]) == ("top_up", str(top_up.cause))
        assert counts(reconcile(line(top_up.note, 10**16))) == {"matched": 1}

    @pytest.mark.parametrize(
        "options",
        [
            ("--to", "2026-01-31"),
            ("--from", "2026-01-31"),
            ("--from", "0001-01-01", "--to", "2026-01-31"),
            ("--from", "2026-02-01", "--to", "2026-01-31"),
        ],
    )
    def test_needs_a_period(self, tmp_path, options):
        with pytest.raises(CommandError, match="Example: ") as ended:
            call_command("reconcile", "--file", str(tmp_path / "any.csv"), *options)

        assert ended.value.returncode == 2


class TestApply:
    def test_is_required_to_record_a_report(self, api, reconcile):
        found = reconcile(line(pay(api).reference, 50_000))

        assert found["recorded"] is None
        assert not Reconciliation.objects.exists()

    def test_records_every_line_with_actor_and_time(self, api, reconcile):
        payment, other = pay(api), pay(api)

        found = reconcile(
            line(payment.reference, 49_999),
            line("unknown", 7),
            options=["--apply", "--by", "ada@example.com"],
        )

        made = Reconciliation.objects.get(pk=found["recorded"])
        assert (made.actor, made.file_name, len(made.file_hash)) == ("ada@example.com", "statement.csv", 64)
        assert (made.matched, made.different, made.missing_here, made.missing_there) == (0, 1, 1, 1)
        kept = ReconciliationLine.objects.order_by("id").values_list("result", "reference", "entry_id")
        assert list(kept) == [
            ("different", payment.reference, payment.pk),
            ("missing_here", "unknown", None),
            ("missing_there", other.retrieval_reference_number, other.pk),
        ]

    def test_moves_no_money(self, api, reconcile):
        payment = pay(api, amount=50_098)  # pending
        before = (list(Posting.objects.values()), list(Transaction.objects.values()))

        reconcile(line(payment.reference, 50_098), options=["--apply"])

        assert (list(Posting.objects.values()), list(Transaction.objects.values())) == before


class TestFile:
    GOOD = "r1,100,NGN,2026-01-31,in"

    def errors(self, *lines, heading=HEADING):
        try:
            return bank_statement_parser.read("\n".join([heading, *lines]).encode()).errors
        except InvalidStatement as wrong:
            return wrong.errors

    def test_may_have_further_columns_in_any_order(self):
        content = b"\xef\xbb\xbfDay, Direction,note,amount,currency,reference\r\n2026-01-31,in,x,100,NGN, r1 \r\n\r\n"

        (row,) = bank_statement_parser.read(content).rows

        assert (row.reference, row.amount, row.line) == ("r1", 100, 2)

    def test_invalid_line_is_reported_without_its_contents(self, subtests):
        for wrong, column in [
            (",100,NGN,2026-01-31,in", "reference"),
            (f"{'r' * 101},100,NGN,2026-01-31,in", "reference"),
            ("r1,1.00,NGN,2026-01-31,in", "amount"),
            ("r1,-100,NGN,2026-01-31,in", "amount"),
            ("r1,0,NGN,2026-01-31,in", "amount"),
            ("r1,\uff11\uff10\uff10,NGN,2026-01-31,in", "amount"),
            ("r1,10000000000000001,NGN,2026-01-31,in", "amount"),
            ("r1,10000000000000000000,NGN,2026-01-31,in", "amount"),
            ("r1,100,NGN,9999-12-31,in", "day"),
            ("r1,100,NGN,0001-01-01,in", "day"),
            ("r1,100,naira,2026-01-31,in", "currency"),
            ("r1,100,NGN,31.01.2026,in", "day"),
            ("r1,100,NGN,2026-02-30,in", "day"),
            ("r1,100,NGN,20260131,in", "day"),
            ("r1,100,NGN,2026-01-31,credit", "direction"),
        ]:
            with subtests.test(wrong=wrong, column=column):
                (error,) = self.errors(self.GOOD, wrong)

                assert error.startswith(f"line 3: {column} must be ")
                assert "NGN,2026" not in error

    def test_reports_a_limited_number_of_invalid_lines(self):
        errors = self.errors(*["r1,x,NGN,2026-01-31,in"] * 1_000)

        assert len(errors) == 21
        assert errors[-1] == "… and 980 more."

    def test_with_too_few_or_too_many_cells_is_invalid(self):
        assert self.errors("r1,100", f"{self.GOOD},more") == (
            "line 2: 2 cells instead of 5.",
            "line 3: 6 cells instead of 5.",
        )

    @pytest.mark.parametrize(
        ("above", "separator", "encoding"),
        [
            ("", ";", "utf-8"),
            ("", "\t", "utf-16"),
            ("sep=;\r\n", ";", "utf-8-sig"),
            ("Zenith; Olú\r\n\r\n", ",", "utf-8"),
        ],
    )
    def test_of_a_spreadsheet_is_read(self, above, separator, encoding):
        text = f"{HEADING}\r\n{self.GOOD}\r\n{self.GOOD},x\r\n".replace(",", separator)

        read = bank_statement_parser.read((above + text).encode(encoding))

        (row,) = read.rows
        lines_above = above.count("\n")
        assert (row.reference, row.amount, row.line) == ("r1", 100, 2 + lines_above)
        assert read.errors == (f"line {3 + lines_above}: 6 cells instead of 5.",)

    @pytest.mark.parametrize("cut", ["6.33019E+11", "6,33019e+11", "6E+11"])
    def test_with_a_number_that_a_spreadsheet_cut_is_invalid(self, cut):
        assert self.errors(self.GOOD, f'"{cut}",100,NGN,2026-01-31,in', f'r1,"{cut}",NGN,2026-01-31,in') == (
            "line 3: a spreadsheet cut the reference; format its column as text.",
            "line 4: a spreadsheet cut the amount; format its column as text.",
        )

    def test_without_its_heading_is_refused_with_what_was_found_and_an_example(self):
        (error,) = self.errors("r2,200", heading="reference,Betrag,currency,Tag,4084084084084081")

        assert error == (
            "line 1: the heading lacks amount, day, direction. "
            "Found: reference, Betrag, currency, Tag, 408408******4081\n"
            f"Example:\n{HEADING}\n603209000042,50000,NGN,2026-02-01,in"
        )

    def test_with_a_column_twice_is_invalid(self):
        assert self.errors(heading=f"{HEADING},day") == ("line 1: the heading has day more than once.",)

    def test_without_lines_is_invalid(self):
        assert self.errors() == ("The file has a heading and no lines.",)

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"", "heading lacks"),
            (b"\xff\xfe\x00", "is not UTF-16"),
            (HEADING.encode("utf-16-le"), "heading lacks"),
            (HEADING.encode() + b"\nr1,\xff,NGN,2026-01-31,in", "line 2: this is not UTF-8."),
            (HEADING.encode() + b'\n"r1,100', "line 2: this is not CSV"),
            (HEADING.encode() + b"\nr\x001,100,NGN,2026-01-31,in", "line 2"),
        ],
    )
    def test_that_is_not_csv_is_invalid(self, content, says):
        with pytest.raises(InvalidStatement, match=says):
            bank_statement_parser.read(content)

    @given(st.binary(max_size=200))
    def test_of_any_bytes_is_read_or_rejected(self, content):
        for start in (b"", HEADING.encode() + b"\n"):
            with contextlib.suppress(InvalidStatement):
                assert bank_statement_parser.read(start + content).rows

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            (b"r1,12345678901234567,NGN,2026-01-31,in", "line 3: amount must be"),
            (b"r1,100,NGN,9999-12-31,in", "line 3: day must be"),
            (b"r1,100,NGN,0001-01-01,in", "line 3: day must be"),
            (b"r\xe91,100,NGN,2026-01-31,in", "line 3: this is not UTF-8."),
            (b'"r1"x,100,NGN,2026-01-31,in', "line 3: this is not CSV"),
            (b"r1,100", "line 3: 2 cells instead of 5."),
        ],
    )
    def test_with_an_invalid_line_is_compared_without_it_and_exits_with_2(self, api, tmp_path, wrong, says):
        first, second = pay(api), pay(api)
        good = [line(payment.reference, 50_000).encode() for payment in (first, second)]
        file = tmp_path / "statement.csv"
        file.write_bytes(b"\n".join([HEADING.encode(), good[0], wrong, good[1], b""]))
        out = StringIO()

        with pytest.raises(CommandError, match=says) as ended:
            call_command("reconcile", "--file", str(file), "--apply", "--json", *period(), stdout=out)

        assert ended.value.returncode == 2
        document = json.loads(out.getvalue())
        assert counts(document) == {"matched": 2}
        assert document["wrong_lines"] == 1
        assert document["errors"][0].startswith(says)
        assert document["recorded"] is None
        assert not Reconciliation.objects.exists()

    def test_with_an_unclosed_quotation_mark_is_compared_up_to_it(self):
        read = bank_statement_parser.read(
            f'{HEADING}\n{self.GOOD}\n"r2,100\n{self.GOOD}\n{self.GOOD}'.encode()
        )

        assert len(read.rows) == 1
        assert read.errors[0].startswith("lines 3 to 5: this is not CSV")

    def test_without_a_valid_line_exits_with_2(self, tmp_path):
        file = tmp_path / "statement.csv"
        file.write_text(f"{HEADING}\nr1,x,NGN,2026-01-31,in\n")

        with pytest.raises(CommandError, match="was not compared:\nline 2: amount must be") as ended:
            call_command("reconcile", "--file", str(file), "--apply", *period())

        assert ended.value.returncode == 2
        assert not Reconciliation.objects.exists()

    @pytest.mark.parametrize("name", ["nowhere.csv", "", "a\0b"])
    def test_that_does_not_exist_exits_with_2(self, tmp_path, name):
        with pytest.raises(CommandError, match="cannot be read") as ended:
            call_command("reconcile", "--file", str(tmp_path / name) if name else str(tmp_path), *period())

        assert ended.value.returncode == 2
