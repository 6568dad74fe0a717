"""What the ledger says of banks and acquirers is matched, or an open break has it: no row of it can go missing."""

from datetime import timedelta

import pytest
from django.utils import timezone
from freezegun import freeze_time

from cash.models import Break
from kit.db import clock
from ledger.invariants import check
from ledger.models import Entry
from ledger.services import Kind
from payments.invariants.cash.expected_lines import INVARIANTS
from payments.services.journals.drafts import Leg
from payments.services.reconciliation import breaks
from payments.services.transfers.incoming import Notice, receive_notification
from tests import orders
from tests.bank_statements import bank_account, csv_statement, import_statement
from tests.disputed import declare_moved, payment_of
from tests.journals import adjusted
from tests.settling import today
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db


def broken():
    (checked,) = check(INVARIANTS)
    return sorted(checked.broken)


def names(*kinds):
    """Return how the entries of these kinds are named."""
    entries = {entry.kind: entry.pk for entry in Entry.objects.all()}
    return sorted(f"entry {entries[kind]}: {item} of gtbank" for kind, item in kinds)


def end_breaks():
    Break.objects.filter(line=None, ended_at=None).update(ended_at=timezone.now(), ended_by=Break.End.LINE)


@pytest.fixture
def month_ago():
    with freeze_time(timezone.now() - timedelta(days=30)):
        yield


@pytest.fixture
def moved(month_ago, ada, api):
    """Return a bank account of which one line of each kind was expected a month ago."""
    account = bank_account(pays_out=["sandbox"], receives=["sandbox", "hosting_bank"])
    fill_wallet(ada.business, 900_000, bank_account="gtbank")
    payment_of(api)
    api.post("/api/payments", orders.payout(amount=250_000))
    receive_notification(
        Notice(
            bank_reference="NIP-1",
            account_number="0000000000",
            amount=700,
            currency="NGN",
            sender_name="Ada",
        ),
        clock=timezone.now,
    )
    adjusted(
        None,
        0,
        legs=(Leg(Kind.BANK, "gtbank", 900), Leg(Kind.COSTS, "transfer", -900)),
        entry=Entry.objects.first(),
    )
    return account


EXPECTED = (
    ("card", "payment"),
    ("payout_sent", "payout"),
    ("suspense_in", "unclaimed"),
    ("top_up", "top_up"),
    ("journal_house", "journal"),
)


def test_is_named_without_a_break(moved, tmp_path):
    import_statement(tmp_path, csv_statement((clock.now().date(), 1, "INTEREST")))
    with freeze_time(timezone.now() + timedelta(days=20)):
        later = csv_statement((today(), 1, "INTEREST"), opening="1000.01")
        import_statement(tmp_path, later)
    assert broken() == []

    end_breaks()

    assert broken() == names(*EXPECTED)


def test_of_a_day_of_cards_waits_for_a_statement(moved):
    assert broken() == names(*(each for each in EXPECTED if each[0] != "card"))


def test_that_is_matched_needs_no_break(moved, tmp_path):
    day = today()
    lines = (
        (day, -250_000),
        (day, 700, "NIP-1"),
        (day, 900_000),
        (day, -900),
        (day + timedelta(days=1), 50_000),
    )
    with freeze_time(timezone.now() + timedelta(days=20)):
        import_statement(tmp_path, csv_statement(*lines, (today(), 1, "INTEREST")))
    end_breaks()

    assert broken() == []


def test_is_expected_by_the_account_that_names_a_former_address(month_ago, api):
    bank_account(kind="acquirer", connector_account="former", receives=["sandbox"])
    payment = payment_of(api)
    declare_moved(payment, former="former", present=payment.account)

    assert broken() == names(("card", "payment"))


def test_isnt_expected_without_a_tied_account(moved):
    moved.pays_out, moved.receives = [], []
    moved.save()

    assert broken() == names(("top_up", "top_up"), ("journal_house", "journal"))


def test_isnt_expected_within_two_weeks(ada, api):
    bank_account(pays_out=["sandbox"])
    fill_wallet(ada.business, 900_000)
    api.post("/api/payments", orders.payout(amount=250_000))

    assert broken() == []


def test_is_found_by_breaks_of_every_account(moved):
    with freeze_time(timezone.now() + timedelta(days=20)):
        breaks.update_all(now=clock.now())

    assert broken() == []
