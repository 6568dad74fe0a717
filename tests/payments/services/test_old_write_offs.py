"""Write-offs of earlier releases stay in bank clearing until staff book a journal about them."""

from functools import partial
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from ledger.invariants import check
from ledger.models import Account, Entry
from ledger.services import Kind
from payments.invariants.registry import INVARIANTS
from payments.models import InvalidState, Journal, JournalLeg, PayoutReturn, Proposal
from payments.services import suspense
from payments.services.journals.drafts import Leg
from payments.services.payouts import payout_returns
from payments.services.staff import staff_actions
from payments.services.staff.actions import journal_actions
from payments.services.transfers import unclaimed_decisions
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.journals import adjusted
from tests.racing import racers
from tests.settling import STAFF
from virtual_accounts.models import UnclaimedTransfer

pytestmark = pytest.mark.django_db

MEND = (Leg(Kind.BANK_CLEARING, "", -700), Leg(Kind.WRITE_OFFS, "", 700))
mend = partial(adjusted, None, 0, legs=MEND, transaction=None)


@pytest.fixture(autouse=True)
def _one_person_at_first(settings):
    settings.FOUR_EYES = False


def unclaimed(amount=700):
    now = timezone.now()
    row = UnclaimedTransfer.objects.create(
        pk=uuid4(), bank_reference=str(uuid4()), amount=amount, currency="NGN", account_number="0123456789",
        sender_name="Bisi", received_at=now, why="unknown_account",
    )  # fmt: skip
    suspense.book_arrival(row, now=now)
    return row


def returned(amount=700):
    now = timezone.now()
    row = PayoutReturn.objects.create(
        pk=uuid4(), bank_reference="ret-1", amount=amount, currency="NGN", payout_reference="order-1",
        actor="bank", at=now, applied="unmatched", why="unknown_payout",
    )  # fmt: skip
    suspense.book_arrival(row, now=now)
    return row


def write_off(row):
    decisions = unclaimed_decisions if isinstance(row, UnclaimedTransfer) else payout_returns
    decisions.write_off(row.pk, reason="Bank took it back", actor=STAFF, now=timezone.now())
    return Entry.objects.get(kind="suspense_out", cause=row.pk)


@pytest.fixture
def as_before(monkeypatch):
    """Write off as the earlier release did: suspense to bank clearing."""
    monkeypatch.setattr(suspense, "written_off", suspense.leaving)


@pytest.fixture
def old(as_before):
    """Return the entry of an old write-off of NGN 7.00."""
    return write_off(unclaimed())


def house(kind):
    return getattr(Account.objects.filter(business=None, kind=kind, currency="NGN").first(), "balance", 0)


def broken():
    return [each.invariant.name for each in check(INVARIANTS) if not each.holds]


@pytest.mark.parametrize("row", [unclaimed, returned])
def test_moves_from_clearing_to_write_offs(as_before, row):
    entry = write_off(row())
    assert (house("bank_clearing"), house("write_offs")) == (0, 0)

    mend(entry=entry)

    assert (house("bank_clearing"), house("write_offs")) == (-700, 700)
    assert broken() == []


def test_is_mended_once(old):
    mend(entry=old)

    with pytest.raises(InvalidState, match="Lines of statements change bank clearing"):
        mend(entry=old)

    assert house("write_offs") == 700


def test_is_mended_again_after_a_reversal(old):
    undone = journal_actions.reversal(mend(entry=old), reason="Not it", journal_id=uuid4())
    staff_actions.perform(undone, actor=STAFF, now=timezone.now())
    assert (house("bank_clearing"), house("write_offs")) == (0, 0)

    mend(entry=old)

    assert house("write_offs") == 700
    assert broken() == []


@pytest.mark.parametrize(
    "legs",
    [
        (Leg(Kind.BANK_CLEARING, "", -699), Leg(Kind.WRITE_OFFS, "", 699)),
        (Leg(Kind.BANK_CLEARING, "", 700), Leg(Kind.WRITE_OFFS, "", -700)),
        (Leg(Kind.BANK_CLEARING, "", -700), Leg(Kind.COSTS, "transfer", 700)),
        (Leg(Kind.BANK_CLEARING, "", -700), Leg(Kind.WRITE_OFFS, "", 600), Leg(Kind.SUSPENSE, "", 100)),
    ],
)
def test_nothing_else_leaves_clearing(old, legs):
    with pytest.raises(InvalidState, match="Lines of statements change bank clearing"):
        mend(entry=old, legs=legs)


def test_write_off_of_this_release_is_not_in_clearing():
    entry = write_off(unclaimed())

    with pytest.raises(InvalidState, match="Lines of statements change bank clearing"):
        mend(entry=entry)


def test_assigned_transfer_was_not_written_off(api, ada):
    number = api.post("/api/virtual-accounts", orders.static_account()).json()["customer"]["account_number"]
    row = unclaimed()
    unclaimed_decisions.assign(
        row.pk, account_number=number, owner=ada.business, reason="Theirs", actor=STAFF, now=timezone.now()
    )

    with pytest.raises(InvalidState, match="Lines of statements change bank clearing"):
        mend(entry=Entry.objects.get(kind="suspense_out", cause=row.pk))


def test_two_people_mend_it_by_the_form(old, settings):
    settings.FOUR_EYES = True
    first, second = (
        signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client()) for _ in range(2)
    )
    sent = {
        "code": "correction", "text": "Old write-off", "currency": "NGN", "key": uuid4(), "business": "",
        "about_entry": old.pk, "account_1": "bank_clearing", "debit_1": "7.00",
        "account_2": "write_offs", "credit_2": "7.00",
    }  # fmt: skip

    first.post("/admin/payments/journal/add/", sent)

    assert house("write_offs") == 0
    proposal = Proposal.objects.get()
    second.post(f"/admin/payments/proposal/{proposal.pk}/confirm/")
    assert house("write_offs") == 700
    assert broken() == []


def test_invariant_finds_another_amount(old):
    journal = Journal.objects.create(
        id=uuid4(), code="correction", text="x", currency="NGN", entry=old, at=timezone.now()
    )
    JournalLeg.objects.bulk_create(
        JournalLeg(id=uuid4(), journal=journal, kind=kind, amount=amount)
        for kind, amount in (("bank_clearing", -600), ("write_offs", 600))
    )

    assert "journals_of_clearing_mend_write_offs" in broken()


def test_invariant_finds_a_second_journal(old):
    mend(entry=old)
    journal = Journal.objects.create(
        id=uuid4(), code="correction", text="x", currency="NGN", entry=old, at=timezone.now()
    )
    JournalLeg.objects.bulk_create(
        JournalLeg(id=uuid4(), journal=journal, kind=kind, amount=amount)
        for kind, amount in (("bank_clearing", -700), ("write_offs", 700))
    )

    assert "journals_of_clearing_mend_write_offs" in broken()


@pytest.mark.django_db(transaction=True)
def test_two_at_once_mend_it_once(old):
    with racers(2) as line:
        results = line.race(*[lambda: mend(entry=Entry.objects.get(pk=old.pk))] * 2)

    assert [isinstance(each, InvalidState) for each in results].count(True) == 1
    assert house("write_offs") == 700
