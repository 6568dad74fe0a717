"""Statements matched with the ledger, and the breaks that remain."""

import io
import json
import re
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest
from django.core.management import ManagementUtility, call_command
from django.core.management.base import CommandError
from django.utils import timezone
from freezegun import freeze_time

from cash.models import Break, Match, MatchedItem
from kit.db import clock
from ledger.models import Account
from ledger.services import Kind
from payments.models import Transaction, WatchedAuthorisation
from payments.rules.sandbox_triggers import LOST_ANSWER_ACCOUNT
from payments.services.journals.drafts import Leg
from payments.services.payouts import payout_returns
from payments.services.payouts.payout_returns import ReturnNotice
from payments.services.reconciliation import breaks, report
from payments.services.transfers import unclaimed_decisions
from payments.services.transfers.incoming import Notice, receive_notification
from tests import orders
from tests.bank_statements import bank_account, csv_statement, import_statement
from tests.journals import adjusted
from tests.transactions import captured_payment
from tests.wallets import STAFF, fill_wallet
from virtual_accounts.models import UnclaimedTransfer

pytestmark = pytest.mark.django_db

MONDAY = datetime(2026, 1, 5, 10, tzinfo=UTC)
PERIOD = ("--from", "2026-01-01", "--to", "2026-01-31")


@pytest.fixture(autouse=True)
def monday():
    with freeze_time(MONDAY) as clock:
        yield clock


@pytest.fixture
def gtbank(monday):
    return bank_account(pays_out=["sandbox"], receives=["hosting_bank"])


@pytest.fixture
def reconcile():
    """Return a function that returns the report's document with its exit code."""

    def run(*options):
        out = io.StringIO()
        try:
            call_command("reconcile", "--json", *PERIOD, *options, stdout=out)
            code = 0
        except SystemExit as ended:
            code = ended.code
        return json.loads(out.getvalue()) | {"exit": code}

    return run


@pytest.fixture
def pay_out(api, ada):
    """Return a function that pays out, and returns the payout."""
    fill_wallet(ada.business, 1_000_000)

    def send(amount):
        order = orders.payout(amount=amount)
        api.post("/api/payments", order)
        return Transaction.objects.get(reference=order["reference"])

    return send


def receive(amount, reference, account="0000000000"):
    notice = Notice(
        bank_reference=reference, account_number=account, amount=amount, currency="NGN", sender_name="Ada"
    )
    receive_notification(notice)


def open_breaks():
    return list(
        Break.objects.filter(ended_at=None).order_by("pk").values_list("kind", "bank_amount", "ledger_amount")
    )


def why():
    return list(Match.objects.values_list("why", flat=True))


def house(kind, name=""):
    return Account.objects.get(business=None, currency="NGN", kind=kind, name=name).balance


class TestMatching:
    def test_by_our_reference_anywhere_in_the_text(self, pay_out, gtbank, tmp_path, reconcile):
        payout = pay_out(50_000)

        import_statement(tmp_path, csv_statement(("2026-01-05", -50_000, "", f"NIP/{payout.pk.hex}/BISI")))

        assert (why(), open_breaks()) == (["our reference"], [])
        assert house("bank", "gtbank") == -50_000
        assert reconcile()["exit"] == 0

    def test_by_the_banks_reference(self, gtbank, tmp_path):
        receive(70_000, "NIP-1")

        import_statement(tmp_path, csv_statement(("2026-01-06", 70_000, "NIP-1")))

        assert (why(), open_breaks()) == (["the bank's reference"], [])

    def test_by_amount_and_day_if_unique(self, pay_out, gtbank, tmp_path):
        pay_out(50_000)

        import_statement(tmp_path, csv_statement(("2026-01-06", -50_000, "X1")))

        assert (why(), open_breaks()) == (["amount and day, unique"], [])

    def test_two_of_one_amount_and_day_are_not_guessed(self, pay_out, gtbank, tmp_path):
        for _ in range(2):
            pay_out(50_000)

        import_statement(
            tmp_path, csv_statement(("2026-01-05", -50_000, "X1"), ("2026-01-05", -50_000, "X2"))
        )

        assert why() == []
        assert open_breaks() == [("unknown", -50_000, 0)] * 2

    def test_line_doubled_by_the_bank_is_unknown_once(self, pay_out, gtbank, tmp_path):
        payout = pay_out(50_000)

        import_statement(tmp_path, csv_statement(*[("2026-01-05", -50_000, "", payout.pk.hex)] * 2))

        assert open_breaks() == [("unknown", -50_000, 0)]

    def test_other_amount_is_a_break_of_both(self, pay_out, gtbank, tmp_path, reconcile):
        payout = pay_out(50_000)

        import_statement(tmp_path, csv_statement(("2026-01-05", -49_000, "", payout.pk.hex)))

        assert (why(), open_breaks()) == ([], [("differs", -49_000, -50_000)])
        document = reconcile()
        assert (document["exit"], document["accounts"][0]["breaks"][0]["difference"]) == (1, 1_000)

    def test_repeated_run_changes_nothing(self, pay_out, gtbank, tmp_path):
        payout = pay_out(50_000)
        lines = [("2026-01-05", -50_000, "", payout.pk.hex), ("2026-01-05", 5, "X1")]
        import_statement(tmp_path, csv_statement(*lines))
        before = list(Break.objects.values())

        breaks.update(gtbank, now=MONDAY)

        assert list(Break.objects.values()) == before
        assert MatchedItem.objects.count() == 1

    def test_only_tied_connectors_are_expected(self, pay_out, monday):
        account = bank_account()
        pay_out(50_000)
        monday.tick(timedelta(days=3))

        breaks.update(account, now=MONDAY + timedelta(days=3))

        assert open_breaks() == []


class TestMissing:
    @pytest.mark.parametrize(("days", "found"), [(1, []), (2, [("missing", 0, -50_000)])])
    def test_from_the_end_of_the_next_business_day(self, pay_out, gtbank, monday, days, found):
        pay_out(50_000)
        monday.tick(timedelta(days=days))

        breaks.update(gtbank, now=clock.now())

        assert open_breaks() == found

    def test_ends_with_the_later_line(self, pay_out, gtbank, tmp_path, reconcile, monday):
        payout = pay_out(50_000)
        monday.tick(timedelta(days=3))
        reconcile()

        import_statement(tmp_path, csv_statement(("2026-01-08", -50_000, "", payout.pk.hex)))

        ended = Break.objects.order_by("pk").values_list("kind", "ended_by")
        assert list(ended) == [("missing", "line"), ("late", "line")]
        assert reconcile()["exit"] == 0

    def test_moves_with_its_connector_to_another_account(self, pay_out, gtbank, monday):
        access = bank_account(name="access", number="1018550902", pays_out=["http"])
        pay_out(50_000)
        monday.tick(timedelta(days=4))
        breaks.update_all(now=clock.now())
        for account, connectors in ((gtbank, []), (access, ["sandbox"])):
            account.pays_out = connectors
            account.save()

        breaks.update_all(now=clock.now())

        assert open_breaks() == [("missing", 0, -50_000)]
        assert Break.objects.get(ended_at=None).account == access

    def test_is_found_although_matching_fails_at_another_account(self, pay_out, gtbank, monday, monkeypatch):
        bank_account(name="access", number="1018550902")
        pay_out(50_000)
        monday.tick(timedelta(days=4))
        update = breaks.update

        def failing(account, **options):
            if account != gtbank:
                raise ValueError("access")
            return update(account, **options)

        monkeypatch.setattr(breaks, "update", failing)

        breaks.update_all(now=clock.now())

        assert open_breaks() == [("missing", 0, -50_000)]


class TestReturnOfAPendingPayout:
    """The payout failed. The bank may have both of its lines, or none."""

    @pytest.fixture
    def returned(self, api, ada):
        order = orders.payout(amount=50_000)
        order["customer"] |= {"account_number": LOST_ANSWER_ACCOUNT}
        fill_wallet(ada.business, 1_000_000)
        api.post("/api/payments", order)
        payout = Transaction.objects.get(reference=order["reference"])
        notice = ReturnNotice(
            bank_reference="RET-1", payout_reference=payout.pk.hex, amount=50_000, currency="NGN"
        )
        payout_returns.receive(notice, clock=clock.now)
        payout.refresh_from_db()
        assert payout.status == "failed"
        return payout

    @pytest.mark.parametrize(
        ("seen", "missing"),
        [
            ([], []),
            (["sent"], [("missing", 0, 50_000)]),
            (["back"], [("missing", 0, -50_000)]),
            (["sent", "back"], []),
        ],
    )
    def test_is_missing_if_only_the_other_line_came(self, returned, gtbank, tmp_path, seen, missing):
        lines = {
            "sent": ("2026-01-05", -50_000, "", returned.pk.hex),
            "back": ("2026-01-05", 50_000, "RET-1"),
        }
        import_statement(tmp_path, csv_statement(*[lines[each] for each in seen], ("2026-01-05", 1, "X")))

        breaks.update(gtbank, now=MONDAY + timedelta(days=4))

        assert open_breaks() == [("unknown", 1, 0), *missing]


class TestReturnOfAnUnknownPayout:
    """It may be on a statement of each of our banks in its currency."""

    @pytest.fixture
    def zenith(self, gtbank, monday):
        account = bank_account(name="zenith", number="1018550902", pays_out=["http"])
        notice = ReturnNotice(
            bank_reference="RET-1", payout_reference="unknown", amount=50_000, currency="NGN"
        )
        payout_returns.receive(notice, clock=clock.now)
        monday.tick(timedelta(days=4))
        breaks.update_all(now=clock.now())
        return account

    def test_is_missing_at_one_of_them(self, zenith):
        breaks.update_all(now=clock.now())

        assert [each.account.name for each in Break.objects.all()] == ["gtbank"]
        assert open_breaks() == [("missing", 0, 50_000)]

    def test_is_found_at_the_other_one(self, zenith, tmp_path):
        import_statement(tmp_path, csv_statement(("2026-01-06", 50_000, "RET-1")), account="zenith")
        breaks.update_all(now=clock.now())

        assert open_breaks() == []
        assert MatchedItem.objects.get().match.account == zenith

    def test_differs_at_the_other_one(self, zenith, tmp_path):
        import_statement(tmp_path, csv_statement(("2026-01-06", 49_000, "RET-1")), account="zenith")
        breaks.update_all(now=clock.now())

        assert open_breaks() == [("differs", 49_000, 50_000)]


class TestChargeOfAFailedPayment:
    @pytest.mark.parametrize(
        ("line", "missing"),
        [(None, []), (10_051, [("late_charge_back", -10_051)]), (-10_051, [("late_charge", 10_051)])],
    )
    def test_is_missing_if_only_its_other_line_came(self, ada, tmp_path, line, missing):
        paid = captured_payment(business=ada.business, now=clock.now(), amount=20_000)
        watch = WatchedAuthorisation(
            id=uuid4(), transaction=paid, opened_at=MONDAY, until=MONDAY, next_look_at=MONDAY
        )
        watch.save(force_insert=True)
        watch.find_charge("", 10_051, now=MONDAY)
        watch.end(now=MONDAY, is_returned=True)
        account = bank_account(kind="acquirer", connector_account=paid.account, receives=[paid.connector])
        lines = [("2026-01-05", 20_000, "", paid.pk.hex)]
        if line:
            lines.append(("2026-01-05", line, "", paid.pk.hex))
        import_statement(tmp_path, csv_statement(*lines))

        breaks.update(account, now=MONDAY + timedelta(days=9))

        found = Break.objects.filter(ended_at=None).values_list("item_kind", "ledger_amount")
        assert list(found) == missing


def write_off_unclaimed():
    unclaimed_decisions.write_off(
        UnclaimedTransfer.objects.get().pk, reason="Nobody's", actor=STAFF, now=clock.now()
    )


class TestUnclaimed:
    def test_line_matched_before_the_transfer_is_assigned_stays_matched(self, gtbank, tmp_path):
        receive(70_000, "NIP-1")
        import_statement(tmp_path, csv_statement(("2026-01-05", 70_000, "NIP-1")))

        assert (house("suspense"), house("bank", "gtbank"), open_breaks()) == (70_000, -170_000, [])

    def test_written_off_leaves_nothing_in_clearing_once_a_statement_has_it(self, gtbank, tmp_path):
        receive(70_000, "NIP-1")
        write_off_unclaimed()
        import_statement(tmp_path, csv_statement(("2026-01-05", 70_000, "NIP-1")))

        assert (house("suspense"), house("write_offs"), open_breaks()) == (0, 70_000, [])
        assert house("bank_clearing") == 100_000  # of the opening balance

    def test_written_off_because_it_never_came_is_explained_by_a_journal(self, gtbank, monday):
        receive(70_000, "NIP-1")
        UnclaimedTransfer.objects.update(received_at=timezone.now())  # PostgreSQL's clock isn't frozen
        write_off_unclaimed()
        monday.tick(timedelta(days=4))
        breaks.update(gtbank, now=clock.now())

        legs = Leg(Kind.BANK, "gtbank", 70_000), Leg(Kind.WRITE_OFFS, "", -70_000)
        adjusted(None, 0, legs=legs, transaction=None, explained=Break.objects.get())

        assert (house("write_offs"), house("bank_clearing"), open_breaks()) == (0, 0, [])


class TestBalances:
    def test_breaks_explain_the_difference_to_the_last_minor_unit(
        self, pay_out, gtbank, tmp_path, reconcile, monday
    ):
        payout = pay_out(50_000)
        pay_out(30_001)
        lines = [("2026-01-05", -49_000, "", payout.pk.hex), ("2026-01-06", 777, "INTEREST")]
        import_statement(tmp_path, csv_statement(*lines))
        monday.tick(timedelta(days=4))
        reconcile()

        (shown,) = report.balances_now()

        assert {each.kind for each in shown.sums} == {"differs", "unknown", "missing"}
        assert shown.bank == 100_000 - 49_000 + 777
        assert shown.ledger == 100_000 - 50_000 - 30_001
        assert shown.difference == shown.explained

    def test_gap_is_explained_until_it_is_filled(self, gtbank, tmp_path, reconcile):
        import_statement(tmp_path, csv_statement(("2026-01-05", 100, "X1")))
        import_statement(tmp_path, csv_statement(("2026-01-07", 100, "X3"), opening="1002.00"), "--after-gap")
        (shown,) = report.balances_now()
        assert (shown.difference, shown.explained, len(shown.gaps)) == (300, 300, 1)

        import_statement(tmp_path, csv_statement(("2026-01-06", 100, "X2"), opening="1001.00"))

        (shown,) = report.balances_now()
        assert (shown.difference, shown.explained, shown.gaps) == (300, 300, [])


class TestCommand:
    @pytest.mark.parametrize("option", ["--file=a.csv", "--source=bank", "--apply", "--by=ada"])
    def test_ended_options_name_the_new_ones(self, gtbank, option, capsys):
        with pytest.raises(SystemExit) as ended:
            ManagementUtility(["manage.py", "reconcile", option, *PERIOD]).execute()

        assert ended.value.code == 2
        assert re.search(r"has ended.*import_statement.*--account NAME", capsys.readouterr().err)

    def test_without_an_account_nothing_is_clean(self, db):
        with pytest.raises(CommandError, match="nothing was compared") as ended:
            call_command("reconcile", *PERIOD)

        assert ended.value.returncode == 2

    def test_period_that_no_statement_reaches_is_not_clean(self, gtbank, tmp_path, reconcile):
        document = reconcile()
        assert (document["exit"], document["accounts"][0]["has_no_statement"]) == (1, True)

        import_statement(tmp_path, csv_statement(("2026-01-05", 70_000, "NIP-1")))
        receive(70_000, "NIP-1")

        document = reconcile()
        assert (document["exit"], document["accounts"][0]["has_no_statement"]) == (0, False)

    @pytest.mark.parametrize(
        ("period", "balances"),
        [
            (("2026-01-01", "2026-01-05"), (100_000, 105_000)),
            (("2026-01-06", "2026-01-06"), (105_000, 107_000)),
            (("2026-01-06", "2026-01-08"), (105_000, 108_000)),
            (("2026-01-07", "2026-01-31"), (107_000, 108_000)),
            (("2025-12-01", "2025-12-31"), (None, None)),
        ],
    )
    def test_balances_are_of_the_period_within_a_longer_statement(self, gtbank, tmp_path, period, balances):
        days = ("2026-01-05", 5_000), ("2026-01-06", 2_000), ("2026-01-08", 1_000)
        import_statement(tmp_path, csv_statement(*days))

        found = report.of_period(gtbank, *map(date.fromisoformat, period))

        assert (found.opening, found.closing) == balances

    def test_account_that_nothing_is_tied_to_needs_no_statement(self, reconcile):
        bank_account()

        assert reconcile()["exit"] == 0

    @pytest.mark.parametrize(
        "options", [["--account", "wema"], ["--connector", "http"], ["--currency", "USD"]]
    )
    def test_filters(self, gtbank, options):
        with pytest.raises(CommandError, match="nothing was compared"):
            call_command("reconcile", *PERIOD, *options)

    def test_text(self, gtbank, tmp_path):
        import_statement(tmp_path, csv_statement(("2026-01-05", 5_000, "X1")))
        out = io.StringIO()

        with pytest.raises(SystemExit):
            call_command("reconcile", *PERIOD, stdout=out)

        assert "gtbank  NGN  opening NGN 1,000.00  closing NGN 1,050.00  0 matched" in out.getvalue()
        assert "unknown at the bank: X1  2026-01-05  bank NGN 50.00" in out.getvalue()
