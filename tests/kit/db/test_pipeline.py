"""A pipeline executes all of its statements or none."""

from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, connection, transaction

from kit.db.pipeline import pipeline
from kit.db.prepared_statements import insert, insert_if_absent, update_if_unchanged
from merchants.models import Business
from payments.identifiers import new_id
from payments.models import Transaction, Transition
from tests.factories import BusinessFactory

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)


@pytest.fixture
def payment() -> Transaction:
    payment = Transaction(
        id=new_id(NOW),
        business=BusinessFactory(),
        reference="order-1",
        request_type=Transaction.RequestType.PAYMENT,
        method=Transaction.Method.CARD,
        amount=490_000,
        currency="NGN",
        next_query_at=NOW,
        created_at=NOW,
    )
    payment.save()
    return payment


def transition_of(payment: Transaction, **changes: str) -> Transition:
    fields = {"attribute": "status", "before": "pending", "after": "failed", "cause": "rail"}
    return Transition(transaction=payment, at=NOW, **fields | changes)


def insert_all(*transitions: Transition, then: Exception | None = None) -> None:
    with pipeline(), transaction.atomic():
        for one in transitions:
            insert(one)
        if then is not None:
            raise then


def test_commits_every_statement(payment: Transaction) -> None:
    insert_all(transition_of(payment, before="1"), transition_of(payment, before="2"))

    connection.close()  # as seen by another connection
    assert list(Transition.objects.order_by("id").values_list("before", flat=True)) == ["1", "2"]


def test_an_error_undoes_the_database_transaction(payment: Transaction) -> None:
    refused = Transition(transaction=payment, attribute=None, at=NOW)

    with pytest.raises(DatabaseError):
        insert_all(transition_of(payment), refused, transition_of(payment))

    assert not Transition.objects.exists()
    assert Business.objects.count() == 1  # the connection is usable


def test_an_error_of_the_caller_undoes_the_database_transaction(payment: Transaction) -> None:
    with pytest.raises(KeyError):
        insert_all(transition_of(payment), then=KeyError())

    assert not Transition.objects.exists()


def test_conditional_statements_know_their_result_within_it(payment: Transaction) -> None:
    with pipeline(), transaction.atomic():
        insert(transition_of(payment))
        first = update_if_unchanged(payment, ("status",), still=("awaiting", "rail"))
        second = update_if_unchanged(payment, ("status",), still=("awaiting", "payer"))
        again = insert_if_absent(payment)

    assert (first, second, again) == (True, False, False)


def test_runs_within_the_callers_transaction(payment: Transaction) -> None:
    with transaction.atomic():
        insert_all(transition_of(payment))
        transaction.set_rollback(True)

    assert not Transition.objects.exists()
