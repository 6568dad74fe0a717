"""On PostgreSQL, one statement stores an outcome. It stores the same as the plain version, or nothing."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db import transaction as database
from django.test.utils import CaptureQueriesContext

from kit.time.time_ordered_ids import new_id
from ledger.booking.account_ids import account_ids
from ledger.models import Account, Entry, Posting
from payments.models import AlreadyTransitioned, Transaction, Transition
from payments.rails.protocol import RailAnswer
from payments.rules.fees import Flow, default_rule
from payments.rules.outcomes import AUTHENTICATION_FAILED, COMPLETED, payout_failure
from payments.services.transactions import outcome_statement, transitions
from payments.services.transactions.transitions import Cause
from tests.factories import BusinessFactory
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery, Listener, ListenerCopy

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has the plain version only."),
]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
EVENT_ID = uuid.UUID("5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11")
TABLES = (Transaction, Transition, Delivery, ListenerCopy, Entry, Posting, Account)
SERIAL = {"id", "entry_id"}  # from sequences, which no rollback sets back

CARD = {
    "method": "card",
    "card_brand": "visa",
    "card_bin": "408408",
    "card_last4": "4081",
    "card_expiry_month": "12",
    "card_expiry_year": "2030",
    "system_trace_audit_number": "000001",
    "retrieval_reference_number": "606012000001",
}
PAYMENT = CARD | {"request_type": "payment"}
PAYOUT = {"request_type": "payout", "method": "bank", "account_number": "0123456789", "bank_code": "058"}
CARD_CHECK = CARD | {"request_type": "card_check", "amount": 0}
OUTCOMES = {
    "captured payment": (PAYMENT, COMPLETED, 490_000),
    "failed payment": (PAYMENT, AUTHENTICATION_FAILED, 0),
    "payout": (PAYOUT, COMPLETED, 0),
    "failed payout": (PAYOUT, payout_failure(""), 0),
    "card check": (CARD_CHECK, COMPLETED, 0),
}
ENDPOINTS = {
    "no endpoint": None,
    "an endpoint": {},
    "a disabled endpoint": {"enabled": False},
    "an endpoint that isn't subscribed": {"events": ["refund"]},
}


@pytest.fixture
def business():
    made = BusinessFactory()
    account_ids(made.pk, "NGN")  # creates its accounts, which are cached and so may not be rolled back
    return made


@pytest.fixture(autouse=True)
def _same_event_ids(monkeypatch):
    monkeypatch.setattr(uuid, "uuid4", lambda: EVENT_ID)


def pending(business, **fields):
    """Store a transaction that awaits its rail."""
    flow = Flow.PAYOUT if fields["request_type"] == "payout" else Flow.CARD
    common = {
        "id": new_id(NOON),
        "business": business,
        "reference": "order-1",
        "amount": 490_000,
        "currency": "NGN",
        "fee_rule": default_rule(flow, "NGN").snapshot,
        "next_query_at": NOON,
        "created_at": NOON,
    }
    return Transaction.objects.create(**common | fields)


def finish(transaction, outcome, captured):
    answer = RailAnswer(outcome=outcome, acquirer_transaction_id="acq-1", authorization_code="A1B2C3")
    transitions.finish(
        transaction, outcome, captured=captured, answer=answer, cause=Cause.RAIL, now=NOON + HOUR
    )


def stored_by(transaction, outcome, captured):
    """Finish the transaction, and return all rows that are stored then. The database is as before afterwards."""
    with database.atomic():
        finish(Transaction.objects.get(pk=transaction.pk), outcome, captured)
        rows = {model: list(model.objects.order_by("pk").values()) for model in TABLES}
        database.set_rollback(True)
    for model in (Transition, ListenerCopy, Entry, Posting):
        rows[model] = [{name: row[name] for name in row if name not in SERIAL} for row in rows[model]]
    return rows


def listen(business, name, events, *, until=NOON + 2 * HOUR):
    Listener.objects.create(business=business, name=name, events=events, created_at=NOON, expires_at=until)


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
@pytest.mark.parametrize("case", OUTCOMES.values(), ids=OUTCOMES)
def test_stores_the_same_as_the_plain_version(business, monkeypatch, case, endpoint):
    fields, outcome, captured = case
    if endpoint is not None:
        make_endpoint(business=business, **endpoint)
    make_endpoint()  # of another business
    listen(business, "all", ["payment.success", "payment.failed", "payout.success", "payout.failed"])
    listen(business, "refunds", ["refund.success"])
    listen(business, "expired", ["payment.success"], until=NOON + HOUR)
    listen(BusinessFactory(), "of another business", ["payment.success"])
    transaction = pending(business, **fields)

    by_statement = stored_by(transaction, outcome, captured)
    monkeypatch.setattr(outcome_statement, "stores_outcome_of", lambda _: False)
    plainly = stored_by(transaction, outcome, captured)

    assert by_statement == plainly
    assert by_statement[Transaction][0]["status"] == ("success" if outcome.is_success else "failed")
    assert len(by_statement[Transition]) == 1
    is_check = fields is CARD_CHECK
    assert len(by_statement[ListenerCopy]) == (0 if is_check else 1)
    assert len(by_statement[Delivery]) == (0 if is_check or endpoint is None or "events" in endpoint else 1)
    assert bool(by_statement[Posting]) == (captured > 0 or fields is PAYOUT)


def test_stores_nothing_if_another_caller_was_first(business):
    make_endpoint(business=business)
    listen(business, "all", ["payment.success"])
    transaction = pending(business, **PAYMENT)
    outdated = Transaction.objects.get(pk=transaction.pk)
    finish(transaction, AUTHENTICATION_FAILED, 0)
    before = {model: list(model.objects.order_by("pk").values()) for model in TABLES}

    with pytest.raises(AlreadyTransitioned):
        finish(outdated, COMPLETED, 490_000)

    assert {model: list(model.objects.order_by("pk").values()) for model in TABLES} == before


def test_of_a_finished_transaction_is_refused(business):
    transaction = pending(business, **PAYMENT)
    finish(transaction, AUTHENTICATION_FAILED, 0)

    with pytest.raises(AlreadyTransitioned):
        finish(transaction, COMPLETED, 490_000)

    assert Transaction.objects.get().status == "failed"


@pytest.mark.django_db(transaction=True)  # the ids of the accounts are cached after a commit
def test_takes_one_round_trip(business):
    make_endpoint(business=business)
    transaction = pending(business, **PAYMENT)

    with CaptureQueriesContext(connection) as statements:
        finish(transaction, COMPLETED, 490_000)

    assert len(statements) == 1


def test_each_endpoint_has_a_delivery_whose_body_names_it(business):
    make_endpoint(business=business)
    make_endpoint(business=business, number=1, events=["payment.success"])
    make_endpoint(business=business, number=2, events=["refund"])
    make_endpoint(business=business, number=3, deleted_at=NOON)

    finish(pending(business, **PAYMENT), COMPLETED, 490_000)

    first, second = Delivery.objects.order_by("endpoint_number")
    assert (first.pk, first.event_id, second.event_id) == (EVENT_ID, EVENT_ID, EVENT_ID)
    assert (first.endpoint_number, second.endpoint_number) == (0, 1)
    assert second.body == first.body.replace(f'"id":"{EVENT_ID}"', f'"id":"{second.pk}"')
    assert second.pk != EVENT_ID
