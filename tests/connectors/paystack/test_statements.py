"""Settlements of Paystack as statements of our account there, and what of them the bank's statement has."""

import json
from contextlib import suppress
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from freezegun import freeze_time

from cash.models import Break, MatchedItem, Statement
from ledger.models import Account
from payments.models import Transaction
from payments.services.reconciliation import provider_statements
from payments.services.reconciliation.arrivals import arrived
from tests import orders
from tests.bank_statements import bank_account, csv_statement, import_statement
from tests.connectors.paystack.client import SUCCESS
from tests.connectors.paystack.connected import INTEGRATION, PAYMENTS, paystack_connected

pytestmark = pytest.mark.django_db

DAY = "2026-03-10"  # on which the simulator's clock stands


@pytest.fixture
def paystack(settings, api):
    settings.CARD_ACQUIRER, settings.PAYSTACK_CARDS = "paystack", "direct"
    with paystack_connected(settings, api) as connected:
        yield connected
    call_command("check_ledger")


@pytest.fixture(autouse=True)
def account(paystack):
    with freeze_time("2026-03-08T12:00:00Z"):
        return bank_account(
            name="paystack",
            kind="provider",
            number="PAYSTACK1",
            connector_account=f"paystack:{INTEGRATION}",
            receives=["paystack"],
            csv_mapping={},
        )


def pay(paystack):
    source = orders.card_source(pan=SUCCESS["number"], cvv=SUCCESS["cvv"])
    reference = paystack.api.post(PAYMENTS, orders.card_payment(source=source)).json()["reference"]
    return Transaction.objects.get(reference=reference)


def refund(paystack, paid, amount):
    asked = {"reference": "rf-1", "amount": amount, "reason": "Too small"}
    assert paystack.api.post(f"{PAYMENTS}/{paid.reference}/refunds", asked).status_code == 201
    paystack.requery_later()


def import_day(day=DAY):
    call_command("import_statement", "--account", "paystack", "--day", day)


def matched():
    return sorted(MatchedItem.objects.values_list("kind", "amount"))


def house(kind, name=""):
    return Account.objects.get(business=None, currency="NGN", kind=kind, name=name).balance


def test_settlement_is_payments_costs_and_what_was_paid_out(paystack):
    pay(paystack)
    paystack.command(settle=True)

    import_day()

    assert matched() == [("cost", -750), ("paid_out", -49_250), ("payment", 50_000)]
    assert (Statement.objects.get().format, Statement.objects.get().closing) == ("told", 0)
    assert (house("costs", "provider"), house("acquirer_receivable")) == (-750, 50_000)
    assert house("bank_clearing") == -49_250
    assert not Account.objects.filter(kind="provider").exists()  # it owes nothing after that day
    assert not Break.objects.exists()


def test_payments_have_arrived_when_the_bank_has_the_sum(paystack, tmp_path):
    paid = pay(paystack)
    paystack.command(settle=True)
    import_day()
    assert arrived([paid.pk]) == set()

    bank_account(receives=["paystack"])
    import_statement(tmp_path, csv_statement(("2026-03-11", 49_250, "B1", "PAYSTACK")))

    assert (arrived([paid.pk]), house("bank_clearing")) == ({paid.pk}, 100_000)
    assert ("settlement", 49_250) in matched()


def test_refunds_are_deducted(paystack):
    paid = pay(paystack)
    refund(paystack, paid, 20_000)
    paystack.command(settle=True)

    import_day()

    assert ("card_refund", -20_000) in matched()
    assert ("paid_out", -29_250) in matched()
    assert not Break.objects.exists()


def test_settlement_of_a_day_that_was_imported_is_on_the_next_statement(paystack):
    for _ in range(2):
        pay(paystack)
        paystack.command(settle=True)
        import_day() if not Statement.objects.exists() else import_day("2026-03-11")

    import_day("2026-03-12")

    assert matched() == sorted([("cost", -750), ("paid_out", -49_250), ("payment", 50_000)] * 2)
    assert (Statement.objects.count(), Break.objects.count()) == (2, 0)


def test_settlement_before_the_first_statement_is_none_of_it(paystack):
    pay(paystack)
    paystack.command(settle=True)

    import_day("2026-03-11")

    assert not Statement.objects.exists()


def test_debt_is_the_closing_balance_until_a_settlement_deducts_it(paystack):
    refund(paystack, pay(paystack), 50_000)
    paystack.command(settle=True)
    import_day()

    assert (Statement.objects.get().closing, Break.objects.count()) == (-750, 0)

    paystack.pass_time(86_400)
    pay(paystack)
    paystack.command(settle=True)
    import_day("2026-03-11")

    assert ("paid_out", -48_500) in matched()
    assert (Statement.objects.latest("pk").closing, Break.objects.count()) == (0, 0)


def test_deduction_that_nothing_explains_is_a_break(paystack):
    pay(paystack)
    paystack.simulator.integration.books.owed = 700
    paystack.command(settle=True)

    import_day()

    assert list(Break.objects.values_list("kind", "bank_amount")) == [("unknown", -700)]
    assert Statement.objects.get().closing == 0


def test_schedule_reads_each_day_once(paystack):
    pay(paystack)
    paystack.command(settle=True)
    later = timezone.now().replace(year=2026, month=3, day=12)

    for _ in range(2):
        provider_statements.import_due(now=later)

    assert Statement.objects.get().first_day.isoformat() == DAY


class TestReconcile:
    """With --connector, before it reports."""

    def reconcile(self, *more, to="2026-03-12"):
        output = StringIO()
        with suppress(SystemExit):
            call_command("reconcile", "--from", DAY, "--to", to, "--json", *more, stdout=output)
        [document] = json.loads(output.getvalue())["accounts"]
        return document

    def test_requests_the_days_without_a_statement(self, paystack):
        pay(paystack)
        paystack.command(settle=True)

        for _ in range(2):
            document = self.reconcile("--connector", "paystack")

        assert (document["matched"], document["unread"], document["breaks"]) == (3, [], [])
        assert Statement.objects.count() == 1

    def test_without_it_requests_nothing(self, paystack):
        pay(paystack)
        paystack.command(settle=True)

        self.reconcile()

        assert not Statement.objects.exists()

    def test_says_which_day_could_not_be_read(self, paystack):
        pay(paystack)
        paystack.command(settle=True)
        paystack.plan("GET /settlement: fail 500")

        with pytest.raises(SystemExit, match="1"):
            call_command("reconcile", "--from", DAY, "--to", DAY, "--connector", "paystack")
        paystack.plan("GET /settlement: fail 500")
        [unread] = self.reconcile("--connector", "paystack")["unread"]

        assert unread == {"day": DAY, "reason": provider_statements.UNAVAILABLE}
        assert not Statement.objects.exists()

    def test_does_not_request_a_day_that_is_not_over(self, paystack):
        today = timezone.now().date().isoformat()
        with freeze_time(f"{DAY}T12:00:00Z"):
            assert self.reconcile("--connector", "paystack", to=today)["unread"] == []


@pytest.mark.parametrize("day", ["2026-03-32", "2026-03-01"])
def test_day_without_settlement_imports_nothing(paystack, day):
    if day == "2026-03-32":
        with pytest.raises(CommandError, match="--day must be a day"):
            import_day(day)
    else:
        import_day(day)

    assert not Statement.objects.exists()


def row_of(paid, *, day=DAY):
    """Return a payment as the answer about a settlement has it."""
    return {
        "id": int(paid.acquirer_reference),
        "reference": paid.pk.hex,
        "amount": 50_000,
        "fees": 750,
        "channel": "card",
        "paid_at": f"{day}T12:00:00.000Z",
    }


def answer_about(*paid, day=DAY):
    return json.dumps({"status": True, "data": [row_of(each, day=day) for each in paid]})


class TestFile:
    def test_answer_about_a_settlement_can_be_imported_with_the_bank_account(self, paystack, tmp_path):
        paid = pay(paystack)
        bank_account(receives=["paystack"])

        document = import_statement(tmp_path, answer_about(paid), "--format", "paystack")

        assert (document["account"], document["matched"]) == ("paystack", 3)

    @pytest.mark.parametrize("day", [DAY, "2026-03-09"])
    def test_beside_the_fetched_settlement_is_no_second_fee(self, paystack, tmp_path, day):
        first, second = pay(paystack), pay(paystack)
        import_statement(tmp_path, answer_about(first, day=day), "--format", "paystack", account="paystack")
        paystack.command(settle=True)

        with suppress(CommandError):  # a day has one statement
            import_day()
        import_day("2026-03-11")

        assert matched() == sorted([("cost", -750), ("paid_out", -49_250), ("payment", 50_000)] * 2)
        assert not Break.objects.exists()
        content = answer_about(second, day="2026-03-08")
        with pytest.raises(CommandError, match="no new payments"):
            import_statement(tmp_path, content, "--format", "paystack", account="paystack")

    def test_says_nothing_about_a_debt(self, paystack, tmp_path):
        refund(paystack, pay(paystack), 50_000)
        paystack.command(settle=True)
        import_day()

        content = answer_about(pay(paystack), day="2026-03-11")
        import_statement(tmp_path, content, "--format", "paystack", account="paystack")

        assert (Statement.objects.latest("pk").closing, Break.objects.count()) == (-750, 0)

    def test_without_the_sum_that_was_paid_out_is_what_remains(self, paystack, tmp_path):
        settlement = {"id": 7, "transactions": [row_of(pay(paystack))], "effective_amount": None}
        content = json.dumps({"day": DAY, "settlements": [settlement]})

        import_statement(tmp_path, content, "--format", "paystack", account="paystack")

        assert matched() == [("cost", -750), ("paid_out", -49_250), ("payment", 50_000)]

    @pytest.mark.parametrize(
        "content",
        [
            "[]",
            "no JSON",
            '{"data": []}',
            '{"data": [{"amount": 1}]}',
            '{"data": [{"amount": 1.5, "fees": 0, "paid_at": "2026-03-10T12:00:00Z"}]}',
            '{"day": "2026-03-10", "settlements": [{"id": 1, "total_fees": 5, "transactions": []}]}',
        ],
    )
    def test_anything_else_is_refused(self, tmp_path, content):
        with pytest.raises(CommandError) as refused:
            import_statement(tmp_path, content, "--format", "paystack", account="paystack")

        assert refused.value.returncode == 2
        assert not Statement.objects.exists()


def test_rehearsed_import_of_a_day_stores_nothing(paystack):
    pay(paystack)
    paystack.command(settle=True)
    out = StringIO()

    call_command("import_statement", "--account", "paystack", "--day", DAY, "--dry-run", "--json", stdout=out)

    told = json.loads(out.getvalue())
    assert [(each["lines"], each["is_new"]) for each in told["statements"]] == [(3, True)]
    assert told["matched"] == 0
    assert not Statement.objects.exists()
    assert not MatchedItem.objects.exists()


def test_day_that_is_not_over_is_refused_in_production(paystack, settings):
    pay(paystack)
    paystack.command(settle=True)
    settings.SANDBOX = False

    with freeze_time("2026-03-10T22:59:59Z"), pytest.raises(CommandError, match="isn't over in Lagos"):
        import_day()

    assert not Statement.objects.exists()
