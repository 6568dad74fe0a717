"""Card payments on the statements of banks, in the sums of days, and on those of acquirers, one by one."""

from datetime import UTC, date, datetime, timedelta

import pytest
from freezegun import freeze_time

from cash.models import Break, Match, MatchedItem
from kit.db import clock
from ledger.invariants import check
from ledger.models import Account
from payments.invariants.registry import INVARIANTS
from payments.models import Holiday, Transaction
from payments.services.reconciliation import breaks
from payments.services.reconciliation.arrivals import arrived
from tests.bank_statements import MAPPING, bank_account, csv_statement, import_statement
from tests.disputed import declare_moved, payment_of
from tests.refunds import refund

pytestmark = pytest.mark.django_db

FRIDAY = datetime(2026, 1, 9, 10, tzinfo=UTC)
OF_ACQUIRER = {"name": "acquirer", "kind": "acquirer", "number": "ACQ1", "receives": ["sandbox"]}


@pytest.fixture(autouse=True)
def friday():
    with freeze_time(FRIDAY) as moment:
        yield moment


@pytest.fixture
def gtbank(friday):
    return bank_account(receives=["sandbox"])


def kinds(**of):
    return sorted(MatchedItem.objects.filter(**of).values_list("kind", "amount"))


def why():
    return sorted(Match.objects.values_list("why", flat=True))


def open_breaks():
    return list(
        Break.objects.filter(ended_at=None).order_by("pk").values_list("kind", "bank_amount", "ledger_amount")
    )


def house(kind, name=""):
    return Account.objects.get(business=None, currency="NGN", kind=kind, name=name).balance


def pay(api, *amounts):
    return [payment_of(api, amount=amount) for amount in amounts]


class TestDayAndSum:
    def test_line_is_the_payments_of_a_day_less_refunds(self, api, gtbank, tmp_path):
        first, second = pay(api, 50_000, 30_000)
        api.post(f"/api/payments/{first.reference}/refunds", {"reference": "r1", "amount": 20_000})

        import_statement(tmp_path, csv_statement(("2026-01-12", 60_000, "ACQ-1")))

        assert (why(), open_breaks()) == (["day and sum"], [])
        assert kinds() == [("card_refund", -20_000), ("payment", 30_000), ("payment", 50_000)]
        assert (house("acquirer_receivable"), house("bank", "gtbank")) == (60_000, -160_000)
        assert arrived([first.pk, second.pk]) == {first.pk, second.pk}

    def test_days_of_a_weekend_are_one_line(self, api, gtbank, tmp_path, friday):
        pay(api, 50_000)
        friday.tick(timedelta(days=1))
        pay(api, 30_000)

        import_statement(tmp_path, csv_statement(("2026-01-12", 80_000, "ACQ-1")))

        assert kinds() == [("payment", 30_000), ("payment", 50_000)]

    def test_what_the_acquirer_told_it_keeps_is_a_cost(self, api, gtbank, tmp_path):
        pay(api, 50_000)
        Transaction.objects.update(rail_cost=750)

        import_statement(tmp_path, csv_statement(("2026-01-12", 49_250, "ACQ-1")))

        assert kinds() == [("cost", -750), ("payment", 50_000)]
        assert (house("acquirer_receivable"), house("costs", "provider")) == (50_000, -750)

    def test_two_lines_of_the_sum_are_not_guessed(self, api, gtbank, tmp_path):
        pay(api, 50_000)

        import_statement(
            tmp_path, csv_statement(("2026-01-12", 50_000, "ACQ-1"), ("2026-01-12", 50_000, "ACQ-2"))
        )

        assert kinds() == []
        assert open_breaks() == [("unknown", 50_000, 0)] * 2

    def test_line_that_names_the_acquirer_differs(self, api, gtbank, tmp_path):
        pay(api, 50_000, 30_000)

        import_statement(tmp_path, csv_statement(("2026-01-12", 79_000, "X1", "SANDBOX SETTLEMENT")))

        assert open_breaks() == [("differs", 79_000, 80_000)]
        assert kinds() == []

    @pytest.mark.parametrize(("days", "found"), [(3, []), (4, [("missing", 0, 80_000)])])
    def test_is_missing_after_the_next_business_day(self, api, gtbank, friday, days, found):
        pay(api, 50_000, 30_000)
        friday.tick(timedelta(days=days))

        breaks.update(gtbank, now=clock.now())

        assert open_breaks() == found

    @pytest.mark.parametrize(("days", "found"), [(4, []), (5, [("missing", 0, 80_000)])])
    def test_is_not_due_on_a_holiday(self, api, gtbank, friday, days, found):
        Holiday.objects.create(currency="NGN", day=date(2026, 1, 12), name="Declared on Thursday")
        pay(api, 50_000, 30_000)
        friday.tick(timedelta(days=days))

        breaks.update(gtbank, now=clock.now())

        assert open_breaks() == found

    def test_days_before_and_on_a_holiday_are_one_line(self, api, gtbank, tmp_path, friday):
        Holiday.objects.create(currency="NGN", day=date(2026, 1, 12), name="Declared on Thursday")
        pay(api, 50_000)
        friday.tick(timedelta(days=3))
        pay(api, 30_000)

        import_statement(tmp_path, csv_statement(("2026-01-13", 80_000, "ACQ-1")))

        assert kinds() == [("payment", 30_000), ("payment", 50_000)]

    def test_later_line_ends_the_break_and_is_late(self, api, gtbank, tmp_path, friday):
        pay(api, 50_000)
        friday.tick(timedelta(days=5))
        breaks.update(gtbank, now=clock.now())

        import_statement(tmp_path, csv_statement(("2026-01-14", 50_000, "ACQ-1")))

        ended = Break.objects.order_by("pk").values_list("kind", "ended_by", "ledger_amount")
        assert list(ended) == [("missing", "line", 50_000), ("late", "line", 50_000)]

    def test_people_match_a_sum_whose_difference_is_a_cost(self, api, gtbank, tmp_path):
        (paid,) = pay(api, 50_000)
        import_statement(tmp_path, csv_statement(("2026-01-12", 49_000, "X1", "SANDBOX")))

        breaks.match_breaks(
            [Break.objects.get().pk],
            reason="Fees of January",
            actor=breaks.Actor(name="ada"),
            now=clock.now(),
            costs="provider",
        )

        assert kinds() == [("cost", -1_000), ("payment", 50_000)]
        assert (open_breaks(), house("costs", "provider"), arrived([paid.pk])) == ([], -1_000, {paid.pk})
        assert breaks.update(gtbank, now=clock.now()) == 0


class TestDaysOfNothing:
    """Payments and refunds of a day are the same sum, so no bank has a line for them."""

    def test_day_has_arrived_when_a_statement_covers_it(self, api, gtbank, tmp_path, friday):
        (paid,) = pay(api, 50_000)
        refund_all(api, paid)
        import_statement(tmp_path, csv_statement(("2026-01-09", 1, "INTEREST")))
        assert arrived([paid.pk]) == set()

        friday.tick(timedelta(days=5))
        import_statement(tmp_path, csv_statement(("2026-01-12", 1, "INTEREST"), opening="1000.01"))

        assert kinds() == [("card_refund", -50_000), ("payment", 50_000)]
        assert arrived([paid.pk]) == {paid.pk}
        assert [each.invariant.name for each in check(INVARIANTS) if not each.holds] == []
        assert breaks.update(gtbank, now=clock.now()) == 0

    def test_day_is_part_of_the_weekend_that_is_due_with_it(self, api, gtbank, tmp_path, friday):
        (paid,) = pay(api, 50_000)
        refund_all(api, paid)
        friday.tick(timedelta(days=1))
        (later,) = pay(api, 30_000)

        import_statement(tmp_path, csv_statement(("2026-01-12", 30_000, "ACQ-1")))

        assert (why(), open_breaks()) == (["day and sum"], [])
        assert arrived([paid.pk, later.pk]) == {paid.pk, later.pk}

    def test_days_that_are_due_together_add_to_nothing(self, api, gtbank, tmp_path, friday):
        (paid,) = pay(api, 50_000)
        friday.tick(timedelta(days=1))
        refund_all(api, paid)
        friday.tick(timedelta(days=4))

        import_statement(tmp_path, csv_statement(("2026-01-13", 1, "INTEREST")))

        assert open_breaks() == [("unknown", 1, 0)]
        assert arrived([paid.pk]) == {paid.pk}


def refund_all(api, paid):
    request = {"reference": f"r-{paid.reference}", "amount": paid.amount}
    assert api.post(f"/api/payments/{paid.reference}/refunds", request).status_code == 201


class TestStatementsOfAcquirers:
    def statement(self, *lines):
        """Return a file of lines (day, amount in minor units, reference, kind), which opens and closes with 0."""
        return csv_statement(*lines, opening="0.00").replace("Narration", "Kind")

    def test_payments_and_costs_are_told_one_by_one(self, api, friday, tmp_path):
        account = bank_account(
            csv_mapping=MAPPING | {"kind": "Kind", "text": "Kind"},
            connector_account=pay(api, 50_000)[0].account,
            **OF_ACQUIRER,
        )
        paid = Transaction.objects.get()
        file = self.statement(
            ("2026-01-09", 50_000, paid.retrieval_reference_number, "payment"),
            ("2026-01-09", -750, "F1", "interchange fee"),
        )

        import_statement(tmp_path, file, account="acquirer")

        assert why() == ["a cost that the acquirer reported", "the bank's reference"]
        assert (open_breaks(), kinds()) == ([], [("cost", -750), ("payment", 50_000)])
        assert house("acquirer", account.connector_account) == -49_250
        assert (house("acquirer_receivable"), house("costs", "interchange")) == (50_000, -750)
        assert arrived([paid.pk]) == {paid.pk}

    def test_payments_from_before_and_after_the_account_moved_are_expected(self, api, friday, tmp_path):
        mapping = MAPPING | {"kind": "Kind", "text": "Kind"}
        (paid,) = pay(api, 50_000)
        bank_account(csv_mapping=mapping, connector_account="former", **OF_ACQUIRER)
        declare_moved(paid, former="former", present=paid.account)

        import_statement(
            tmp_path,
            self.statement(("2026-01-09", 50_000, paid.retrieval_reference_number, "payment")),
            account="acquirer",
        )

        assert (open_breaks(), kinds()) == ([], [("payment", 50_000)])

    def test_reference_that_looks_like_a_card_number_is_found(self, api, friday, tmp_path):
        bank_account(
            csv_mapping=MAPPING | {"kind": "Kind", "text": "Kind"},
            connector_account=pay(api, 50_000)[0].account,
            **OF_ACQUIRER,
        )
        Transaction.objects.update(retrieval_reference_number="600912006621")
        file = self.statement(("2026-01-09", 50_000, "600912006621", "payment"))

        import_statement(tmp_path, file, account="acquirer")

        assert why() == ["the bank's reference"]

    def test_cost_of_the_amount_of_a_refund_is_a_cost(self, api, tmp_path):
        (paid,) = pay(api, 50_000)
        api.post(f"/api/payments/{paid.reference}/refunds", {"reference": "r1", "amount": 750})
        bank_account(
            csv_mapping=MAPPING | {"kind": "Kind", "text": "Kind"},
            connector_account=paid.account,
            **OF_ACQUIRER,
        )
        file = self.statement(
            ("2026-01-09", 50_000, paid.retrieval_reference_number, "payment"),
            ("2026-01-09", -750, "F1", "interchange fee"),
        )

        import_statement(tmp_path, file, account="acquirer")

        assert kinds() == [("cost", -750), ("payment", 50_000)]

    def test_sum_that_was_paid_out_is_told_once(self, api, tmp_path):
        (paid,) = pay(api, 50_000)
        bank_account(
            csv_mapping=MAPPING | {"kind": "Kind", "text": "Kind"},
            connector_account=paid.account,
            **OF_ACQUIRER,
        )
        file = self.statement(*(("2026-01-09", -49_250, paid.pk, "paid_out") for _ in range(2)))

        import_statement(tmp_path, file, account="acquirer")

        assert kinds() == [("paid_out", -49_250)]
        assert open_breaks() == [("unknown", -49_250, 0)]

    def test_file_without_balances_says_what_was_paid_out(self, api, friday, tmp_path):
        (paid,) = pay(api, 50_000)
        columns = {"date": "Date", "amount": "Amount", "reference": "RRN", "fee": "Fee", "settled": "sum"}
        bank_account(csv_mapping=columns, connector_account=paid.account, **OF_ACQUIRER)
        file = f"Date,RRN,Amount,Fee\n2026-01-09,{paid.retrieval_reference_number},500.00,7.50\n"

        import_statement(tmp_path, file, account="acquirer")

        assert kinds() == [("cost", -750), ("paid_out", -49_250), ("payment", 50_000)]
        assert (house("bank_clearing"), house("acquirer_receivable")) == (-49_250, 50_000)
        assert arrived([paid.pk]) == set()

        bank_account(receives=["sandbox"])
        import_statement(tmp_path, csv_statement(("2026-01-12", 49_250, "ACQ-1")))

        assert kinds(kind="settlement") == [("settlement", 49_250)]
        assert arrived([paid.pk]) == {paid.pk}

    @pytest.mark.parametrize("sign", ["", "-"], ids=["kept", "deducted"])
    def test_fee_that_is_given_back_with_a_refund_is_no_cost(self, api, friday, tmp_path, sign):
        (paid,) = pay(api, 50_000)
        refund(api, paid.reference, amount=20_000)
        columns = {"date": "Date", "amount": "Amount", "reference": "RRN", "fee": "Fee", "settled": "sum"}
        bank_account(csv_mapping=columns, connector_account=paid.account, **OF_ACQUIRER)
        kept, back = f"{sign}7.50", f"{'' if sign else '-'}3.00"
        rows = [(paid.retrieval_reference_number, "500.00", kept), ("REFUND", "-200.00", back)]
        file = "Date,RRN,Amount,Fee\n" + "".join(f"2026-01-09,{','.join(row)}\n" for row in rows)

        import_statement(tmp_path, file, account="acquirer")

        assert dict(kinds()) == {"payment": 50_000, "card_refund": -20_000, "cost": -450, "paid_out": -29_550}

    @pytest.mark.parametrize(("days", "found"), [(4, []), (5, [("missing", 0, 50_000)])])
    def test_payment_is_missing_after_two_business_days(self, api, friday, days, found):
        (paid,) = pay(api, 50_000)
        account = bank_account(connector_account=paid.account, **OF_ACQUIRER)
        friday.tick(timedelta(days=days))

        breaks.update(account, now=clock.now())

        assert open_breaks() == found
