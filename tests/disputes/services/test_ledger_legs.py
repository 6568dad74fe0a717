"""Every step of a dispute moves exactly what the specification says, between exactly these accounts."""

from functools import partial

import pytest
from django.utils import timezone

from disputes.services import clock, moves
from disputes.services.answers import answers
from disputes.services.locking import lock_dispute
from ledger.models import Posting
from merchants.people.audit import Actor
from payments.rules.words.dispute_words import Stage, Status
from tests.disputed import AMOUNT, disputed, payment_of, take

pytestmark = pytest.mark.django_db

FEE, PART = 2_500, 30_000
LOST = AMOUNT - PART
ACTOR = Actor(name="test")


def debit(payment):
    """Record the acquirer's debit, as a line of its statement does."""
    now = timezone.now()
    moves.book([moves.record_debit(lock_dispute(payment.disputes.get().pk), actor="test", now=now)])


def accept_all_but(kept, payment):
    answers.accept(payment.disputes.get().pk, amount=AMOUNT - kept, actor=ACTOR, clock=timezone.now)


def expire(payment):
    dispute = payment.disputes.get()
    assert clock.expire_one(dispute.pk, clock=lambda: dispute.respond_by)


def ends(status, **changes):
    return partial(take, status=Status(status), **changes)


OPENED = {"dispute_opened": {"pending_settlement": -AMOUNT, "disputes_held": AMOUNT}}
FEE_TAKEN = {"dispute_fee": {"pending_settlement": -FEE, "fees": FEE}}
FEE_GIVEN_BACK = {"dispute_fee": {"pending_settlement": FEE, "fees": -FEE}}
GIVEN_BACK = {"dispute_closed": {"disputes_held": -AMOUNT, "pending_settlement": AMOUNT}}
DEBITED = {"chargeback_in": {"chargeback_clearing": -AMOUNT, "acquirer_receivable": AMOUNT}}
CLEARED = {"chargeback_out": {"chargeback_clearing": AMOUNT, "acquirer_receivable": -AMOUNT}}


def lost(amount, account):
    legs = {"disputes_held": -AMOUNT, "pending_settlement": AMOUNT - amount, account: amount}
    return {"dispute_closed": {name: moved for name, moved in legs.items() if moved}}


OWED, TAKEN = "refunds_payable", "acquirer_receivable"
# What happens one after the other, and what the last of it books.
STEPS = {
    "opened": ([disputed], OPENED | FEE_TAKEN),
    "inquiry opened": ([partial(disputed, stage=Stage.INQUIRY)], {}),
    "inquiry lost": ([partial(disputed, stage=Stage.INQUIRY), ends("lost", stage=Stage.INQUIRY)], {}),
    "inquiry to chargeback": ([partial(disputed, stage=Stage.INQUIRY), disputed], OPENED | FEE_TAKEN),
    "debited": ([disputed, debit], DEBITED),
    "won": ([disputed, ends("won")], GIVEN_BACK | FEE_GIVEN_BACK),
    "withdrawn": ([disputed, ends("withdrawn")], GIVEN_BACK | FEE_GIVEN_BACK),
    "withdrawn under review": ([partial(disputed, status=Status.UNDER_REVIEW), ends("withdrawn")], GIVEN_BACK | FEE_GIVEN_BACK),
    "won, debited": ([disputed, debit, ends("won")], GIVEN_BACK | FEE_GIVEN_BACK | CLEARED),
    "won in part": ([disputed, ends("won", outcome_amount=PART)], lost(LOST, OWED) | FEE_GIVEN_BACK),
    "won in part, debited": ([disputed, debit, ends("won", outcome_amount=PART)], lost(LOST, TAKEN) | FEE_GIVEN_BACK | CLEARED),
    "lost": ([disputed, ends("lost")], lost(AMOUNT, OWED)),
    "lost, debited": ([disputed, debit, ends("lost")], lost(AMOUNT, TAKEN) | CLEARED),
    "debited, lost": (
        [disputed, ends("lost"), debit],
        {"chargeback_paid": {"refunds_payable": -AMOUNT, "acquirer_receivable": AMOUNT}},
    ),
    "debited, lost in part": (
        [disputed, ends("lost", outcome_amount=PART), debit],
        {"chargeback_paid": {"refunds_payable": -LOST, "acquirer_receivable": LOST}},
    ),
    "accepted": ([disputed, partial(accept_all_but, 0)], lost(AMOUNT, OWED)),
    "accepted in part": ([disputed, partial(accept_all_but, PART)], lost(LOST, OWED)),
    "expired": ([disputed, expire], lost(AMOUNT, OWED)),
}  # fmt: skip


def booked():
    """Return the postings by the entry and its kind."""
    found = {}
    for posting in Posting.objects.select_related("entry", "account").order_by("id"):
        legs = found.setdefault((posting.entry_id, str(posting.entry.kind)), {})
        legs[str(posting.account.kind)] = posting.amount
    return found


@pytest.mark.parametrize("name", STEPS)
def test_step_books(api, settings, name):
    settings.DISPUTE_FEES = {"NGN": FEE}
    steps, expected = STEPS[name]
    payment = payment_of(api)
    for step in steps[:-1]:
        step(payment)
    before = booked()

    steps[-1](payment)

    new = {kind: legs for (entry, kind), legs in booked().items() if (entry, kind) not in before}
    assert new == expected


@pytest.mark.parametrize(
    ("fees", "is_returned", "taken"),
    [
        ({"NGN": FEE}, True, [FEE, -FEE]),
        ({"NGN": FEE}, False, [FEE]),
        ({"GHS": FEE}, True, []),
        ({}, True, []),
    ],
)
def test_fee_is_that_of_the_currency_and_returns_by_the_setting(api, settings, fees, is_returned, taken):
    settings.DISPUTE_FEES, settings.DISPUTE_FEE_RETURNED = fees, is_returned
    payment = payment_of(api)

    disputed(payment)
    take(payment, status=Status.WON)

    assert [legs["fees"] for (_, kind), legs in booked().items() if kind == "dispute_fee"] == taken
    assert payment.disputes.get().fee == fees.get("NGN", 0)


def test_each_row_past_inquiry_costs_a_fee(api, settings):
    settings.DISPUTE_FEES, settings.DISPUTE_FEE_RETURNED = {"NGN": FEE}, False
    payment = payment_of(api)

    fees = [disputed(payment, stage=stage).fee for stage in Stage]

    assert fees == [0, FEE, FEE, FEE]


def test_case_that_arrives_final_is_booked_as_opened_and_closed(api, settings):
    settings.DISPUTE_FEES = {"NGN": FEE}
    payment = payment_of(api)
    before = booked()

    disputed(payment, status=Status.LOST)

    new = {kind: legs for (entry, kind), legs in booked().items() if (entry, kind) not in before}
    assert new == OPENED | FEE_TAKEN | lost(AMOUNT, OWED)
