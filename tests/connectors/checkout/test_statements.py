"""Payouts of Checkout.com as statements of our account there: payments, and costs by kind from decimals."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from cash.models import Break, MatchedItem, Statement, StatementLine
from connectors.checkout import statements
from connectors.checkout.api.references import reference_of
from ledger.models import Account
from ledger.services import Kind
from payments.models import CardOperation, Transaction
from payments.services.journals.drafts import Leg
from tests.bank_statements import bank_account, import_statement
from tests.connectors.checkout.connecting import URL, requery
from tests.disputed import declare_moved
from tests.journals import adjusted

pytestmark = pytest.mark.django_db

COLUMNS = "Payout ID,Payment ID,Action ID,Action Type,Reference,Processed On,Breakdown Type,Holding Currency,Holding Currency Amount"


@pytest.fixture
def account_of(simulator):
    """Return a function that makes our account at Checkout.com, which names a channel."""
    simulator.account.base_url = URL

    def make(channel):
        return bank_account(
            name="checkout",
            kind="acquirer",
            connector_account=f"checkout:{channel}",
            receives=["checkout"],
            csv_mapping={},
        )

    return make


@pytest.fixture
def account(account_of, simulator):
    return account_of(simulator.identity.channel)


def costs():
    found = Account.objects.filter(kind="costs").order_by("name").values_list("name", "balance")
    return {name: -balance for name, balance in found}


def test_payout_is_payments_costs_by_kind_and_what_was_paid_out(pay, account, simulator):
    pay()
    simulator.clock.advance(2)
    day = simulator.clock.now().astimezone(UTC).date() + timedelta(days=1)
    simulator.clock.advance(86_400)

    call_command("import_statement", "--account", "checkout", "--day", day.isoformat())

    assert sorted(MatchedItem.objects.exclude(kind="cost").values_list("kind", "amount")) == [
        ("paid_out", -49_356),
        ("payment", 50_000),
    ]
    assert costs() == {"interchange": 575, "provider": 5, "scheme": 64}
    assert (Statement.objects.get().closing, Break.objects.count()) == (0, 0)
    call_command("check_ledger")


def test_payout_is_read_for_an_account_that_names_the_former_channel(pay, account_of, simulator):
    account_of("former")
    pay()
    paid = Transaction.objects.get()
    declare_moved(paid, former="checkout:former", present=paid.account)
    simulator.clock.advance(2)
    day = simulator.clock.now().astimezone(UTC).date() + timedelta(days=1)
    simulator.clock.advance(86_400)

    call_command("import_statement", "--account", "checkout", "--day", day.isoformat())

    assert MatchedItem.objects.get(kind="payment").item == paid.pk


def test_payout_whose_report_is_late_is_on_the_next_statement(pay, account, simulator):
    pay()
    simulator.clock.advance(86_400)
    day = simulator.clock.now().astimezone(UTC).date()
    call_command("import_statement", "--account", "checkout", "--day", day.isoformat())
    pay()
    simulator.clock.advance(2)
    simulator.tick()
    simulator.ledger.settle(until=day + timedelta(days=1))
    late = {"created_on": datetime.combine(day, time(23, 59), UTC)}
    simulator.ledger.reports = {key: replace(each, **late) for key, each in simulator.ledger.reports.items()}

    call_command("import_statement", "--account", "checkout", "--day", str(day + timedelta(days=1)))

    assert MatchedItem.objects.filter(kind="payment").count() == 2
    assert (Statement.objects.count(), Break.objects.count()) == (2, 0)


class TestFile:
    def row(self, part, amount, *, kind="Capture", payment="pay_1", action="act_1", reference=""):
        moment = datetime(2026, 3, 9, 12, tzinfo=UTC).isoformat()
        return f"000000000042,{payment},{action},{kind},{reference},{moment},{part},NGN,{amount}"

    def read(self, folder, *rows):
        content = "\n".join([COLUMNS, *rows]) + "\n"
        return import_statement(folder, content, "--format", "checkout", account="checkout")

    def test_what_rounding_leaves_is_a_cost(self, pay, account, tmp_path):
        pay()
        payment = Transaction.objects.get().acquirer_reference

        self.read(
            tmp_path,
            self.row("Capture", "500", payment=payment),
            *(self.row(name, "-0.006") for name in ("Interchange Fee", "Scheme Fee", "Gateway Fee")),
        )

        assert costs() == {"interchange": 1, "provider": 1, "rounding": -1, "scheme": 1}
        assert MatchedItem.objects.get(kind="paid_out").amount == -49_998

    def test_refund_that_was_paid_twice_is_a_break_that_two_people_book(
        self, api, pay, account, simulator, tmp_path
    ):
        paid = pay().json()
        simulator.clock.advance(5)
        asked = {"reference": "rf-1", "amount": 20_000}
        assert api.post(f"/api/payments/{paid['reference']}/refunds", asked).status_code == 201
        simulator.clock.advance(5)
        requery()
        refund, payment = (
            CardOperation.objects.get(kind="refund", status="success"),
            Transaction.objects.get(),
        )
        captured = self.row("Capture", "500", payment=payment.acquirer_reference)
        twice = [
            self.row("Refund", "-200", kind="Refund", action=action, reference=reference_of(refund.pk))
            for action in ("act_2", "act_3")
        ]

        self.read(tmp_path, captured, *twice)

        found = Break.objects.get()
        assert (found.kind, found.bank_amount) == ("unknown", -20_000)
        legs = Leg(Kind.ACQUIRER, account.connector_account, 20_000), Leg(Kind.WRITE_OFFS, "", -20_000)
        adjusted(None, 0, legs=legs, transaction=None, explained=found)
        found.refresh_from_db()
        assert found.ended_by == Break.End.JOURNAL
        assert Account.objects.get(kind="write_offs").balance == -20_000
        call_command("check_ledger")

    def test_payout_below_zero_pays_nothing_and_is_carried_over(self, account, tmp_path):
        """They may debit our bank for it or set it off. Until one of both is seen, the balance there is below zero."""
        self.read(tmp_path, self.row("Refund", "-200", kind="Refund"))

        assert Statement.objects.get().closing == -20_000
        assert not StatementLine.objects.filter(kind="paid_out").exists()

    def test_payout_below_zero_of_an_earlier_day_isnt_told_again(
        self, account, tmp_path, transport, monkeypatch
    ):
        rows = [self.row("Refund", "-200", kind="Refund")]
        self.read(tmp_path, *rows)
        self.fetched(monkeypatch, {statements.ACTIONS: [COLUMNS, *rows]})

        call_command("import_statement", "--account", "checkout", "--day", "2026-03-12")

        assert Statement.objects.count() == 1

    @pytest.mark.parametrize(("paid", "closing"), [("300.00", 0), ("500.00", -20_000)])
    @pytest.mark.usefixtures("account", "transport")
    def test_next_payout_may_set_it_off(self, tmp_path, monkeypatch, paid, closing):
        self.read(tmp_path, self.row("Refund", "-200", kind="Refund"))
        captured = self.row("Capture", "500").replace("000042", "000043").replace("03-09", "03-11")
        told = ["Payout ID,Payout Amount", f"000000000043,{paid}"]
        self.fetched(monkeypatch, {statements.ACTIONS: [COLUMNS, captured], statements.PAYOUTS: told})

        call_command("import_statement", "--account", "checkout", "--day", "2026-03-12")

        assert Statement.objects.latest("last_day").closing == closing
        assert not StatementLine.objects.filter(kind="difference").exists()

    def fetched(self, monkeypatch, reports):
        listed = [{"id": f"rpt_{kind}", "type": kind, "files": [{"id": "file_1"}]} for kind in reports]
        monkeypatch.setattr(statements, "_reports", lambda *_: listed)
        monkeypatch.setattr(
            statements, "_downloaded", lambda acquirer, report, file: "\n".join(reports[report["type"]])
        )

    def test_part_of_an_unknown_kind_is_a_break(self, account, tmp_path):
        self.read(tmp_path, self.row("Operational Funding", "20", kind="Adjustment"))

        assert list(Break.objects.values_list("kind", "bank_amount")) == [("unknown", 2_000)]

    @pytest.mark.parametrize("content", ["", "a,b\n1,2\n", f"{COLUMNS}\n1,2,3\n", '{"day": "x"}'])
    def test_anything_else_is_refused(self, account, tmp_path, content):
        with pytest.raises(CommandError) as refused:
            import_statement(tmp_path, content, "--format", "checkout", account="checkout")

        assert refused.value.returncode == 2

    def test_payout_in_two_reports_is_one(self, account, transport, monkeypatch):
        report = {"id": "rpt_1", "type": statements.ACTIONS, "files": [{"id": "file_1"}]}
        content = "\n".join([COLUMNS, self.row("Capture", "500"), self.row("Gateway Fee", "-1")])
        monkeypatch.setattr(statements, "_reports", lambda *_: [report, report | {"id": "rpt_2"}])
        monkeypatch.setattr(statements, "_downloaded", lambda *_: content)

        call_command("import_statement", "--account", "checkout", "--day", "2026-03-10")

        assert (costs(), Statement.objects.get().lines_count) == ({"provider": 100}, 3)

    def test_payout_of_an_earlier_day_isnt_told_again(self, account, transport, monkeypatch, tmp_path):
        rows = [self.row("Capture", "500"), self.row("Gateway Fee", "-1")]
        self.read(tmp_path, *rows)
        told = {"id": "rpt_1", "type": statements.ACTIONS, "files": [{"id": "file_1"}]}
        monkeypatch.setattr(statements, "_reports", lambda *_: [told])
        monkeypatch.setattr(statements, "_downloaded", lambda *_: "\n".join([COLUMNS, *rows]))

        call_command("import_statement", "--account", "checkout", "--day", "2026-03-12")

        assert (costs(), Statement.objects.count()) == ({"provider": 100}, 1)

    def test_day_with_payouts_in_another_currency_only_is_empty(self, account, transport, monkeypatch):
        told = {"id": "rpt_1", "type": statements.ACTIONS, "files": [{"id": "file_1"}]}
        content = "\n".join([COLUMNS, self.row("Capture", "500").replace("NGN", "USD")])
        monkeypatch.setattr(statements, "_reports", lambda *_: [told])
        monkeypatch.setattr(statements, "_downloaded", lambda *_: content)

        call_command("import_statement", "--account", "checkout", "--day", "2026-03-12")

        assert not Statement.objects.exists()

    def test_other_payout_of_an_imported_day_is_refused(self, account, tmp_path):
        self.read(tmp_path, self.row("Capture", "500"))

        with pytest.raises(CommandError, match="imported with other lines"):
            self.read(tmp_path, self.row("Capture", "700").replace("000042", "000043"))

        assert Statement.objects.count() == 1
