"""Prepared statements store the same values as the ORM."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db.models import Model

from kit.db.prepared_statements import Lookup, insert_if_absent
from kit.time.time_ordered_ids import new_id
from payments.models import Transaction
from payments.models.transactions.transactions import SET_LATER
from tests.factories import BusinessFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)


def new_transaction(**changes: object) -> Transaction:
    fields = {
        "id": new_id(NOW),
        "business": BusinessFactory(),
        "reference": "order-1",
        "request_type": Transaction.RequestType.PAYMENT,
        "method": Transaction.Method.CARD,
        "amount": 490_000,
        "currency": "NGN",
        "metadata": {"order": "1"},
        "next_query_at": NOW,
        "created_at": NOW,
    }
    return Transaction(**fields | changes)


def columns_of(row: Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_every_column_is_stored_as_it_was_given() -> None:
    transaction = new_transaction()

    assert insert_if_absent(transaction, at_default=SET_LATER)

    assert columns_of(Transaction.objects.get()) == columns_of(transaction)


def test_a_second_row_with_the_same_key_is_not_stored() -> None:
    transaction = new_transaction()
    insert_if_absent(transaction, at_default=SET_LATER)

    assert not insert_if_absent(new_transaction(business=transaction.business), at_default=SET_LATER)

    assert Transaction.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [("fee", 1), ("settle_status", "released"), ("finished_at", NOW), ("gateway_code", "00")],
)
def test_a_constant_column_refuses_another_value(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        insert_if_absent(new_transaction(**{field: value}), at_default=SET_LATER)

    assert not Transaction.objects.exists()


class TestLookup:
    def test_finds_all_rows_with_a_value(self):
        business, another = BusinessFactory(), BusinessFactory()
        stored = [new_transaction(business=business, reference=f"order-{number}") for number in range(3)]
        for row in [*stored, new_transaction(business=another)]:
            row.save(force_insert=True)
        by_business = Lookup(Transaction, "business", joined=("business",))

        found = by_business.find_all(business.pk)

        assert {one.pk: columns_of(one) for one in found} == {
            one.pk: columns_of(Transaction.objects.get(pk=one.pk)) for one in stored
        }
        assert {one.business for one in found} == {business}
        assert by_business.find_all(uuid4()) == []
