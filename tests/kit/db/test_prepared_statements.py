"""Prepared statements store the same values as the ORM."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import Model

from kit.db.prepared_statements import Lookup, insert_and_find, insert_if_absent, insert_many
from merchants.models import ApiRequest, Business
from payments.identifiers import new_id
from payments.models import Transaction
from payments.models.transactions import SET_LATER
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


def call(**changes: object) -> dict[str, object]:
    values = {
        "business_id": BusinessFactory().pk,
        "key": "pk_1",
        "request_id": "order-1",
        "method": "GET",
        "target": '/api/payments?from="2026"&q=Ọ̀ṣọ́',
        "status": 200,
        "code": "",
        "milliseconds": 7,
        "address": "2001:db8::1",
        "at": NOW,
        "object_kind": ApiRequest.ObjectKind.PAYMENT,
        "object_id": uuid4(),
        "reference": "order-1",
    }
    return values | changes


def test_many_rows_are_stored_as_the_orm_stores_them(django_assert_num_queries) -> None:
    calls = [call(), call(address=None, object_id=None, object_kind="")]

    with django_assert_num_queries(1):
        insert_many(ApiRequest, calls)

    ApiRequest.objects.bulk_create([ApiRequest(**each) for each in calls])
    stored = list(ApiRequest.objects.order_by("pk").values(*calls[0]))
    assert stored[:2] == stored[2:] == calls


def test_columns_of_many_rows_mask_card_numbers() -> None:
    insert_many(ApiRequest, [call(reference="4084084084084081", target="/api/payments/4084%2D084084084081")])

    stored = ApiRequest.objects.get()
    assert (stored.reference, stored.target) == ("408408******4081", "/api/payments/408408******4081")


def test_none_of_many_rows_is_stored_if_one_is_refused() -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        insert_many(ApiRequest, [call(), call(method=None)])

    assert not ApiRequest.objects.exists()


def test_many_rows_need_every_column() -> None:
    incomplete = call()
    del incomplete["reference"]

    with pytest.raises(KeyError, match="reference"):
        insert_many(ApiRequest, [incomplete])


@pytest.mark.skipif(connection.vendor != "postgresql", reason="rows are JSON on PostgreSQL only")
def test_many_rows_refuse_values_without_a_text_in_json() -> None:
    with pytest.raises(TypeError, match="bytes"):
        insert_many(ApiRequest, [call(status=b"200")])


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


class TestInsertAndFind:
    """PostgreSQL does both in one statement, SQLite in two."""

    NAMED = Lookup(Business, "name")

    def request(self, business: Business) -> ApiRequest:
        return ApiRequest(
            business=business,
            key="pk",
            request_id="r-1",
            method="GET",
            target="/",
            status=200,
            milliseconds=1,
            at=NOW,
        )

    def test_stores_the_row_and_returns_the_other_one(self) -> None:
        business = BusinessFactory(name="Ada Books")

        found = insert_and_find(self.request(business), self.NAMED, "Ada Books")

        assert found is not None
        assert (found.pk, found.currencies) == (business.pk, business.currencies)
        assert ApiRequest.objects.get().request_id == "r-1"

    def test_stores_the_row_if_there_is_no_other_one(self) -> None:
        assert insert_and_find(self.request(BusinessFactory()), self.NAMED, "Bisi Foods") is None

        assert ApiRequest.objects.get().request_id == "r-1"

    def test_is_one_statement_on_postgresql(self, django_assert_num_queries: Any) -> None:
        request = self.request(BusinessFactory(name="Ada Books"))

        with django_assert_num_queries(1 if connection.vendor == "postgresql" else 2):
            insert_and_find(request, self.NAMED, "Ada Books")

    def test_stores_nothing_if_the_row_is_refused(self) -> None:
        request = self.request(BusinessFactory())
        request.method = None  # type: ignore[assignment]

        with pytest.raises(DatabaseError), transaction.atomic():
            insert_and_find(request, self.NAMED, "Ada Books")

        assert not ApiRequest.objects.exists()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="A statement of PostgreSQL.")
class TestFindIf:
    NAMED = Lookup(Business, "name")

    @pytest.mark.parametrize(
        ("beside", "name", "found"),
        [
            (True, "Ada Books", (True, "Ada Books")),
            (True, "Bisi Foods", (True, None)),
            (False, "Ada Books", (False, None)),
        ],
    )
    def test_finds_a_row_if_the_other_statement_returns_one(
        self, *, beside: bool, name: str, found: tuple[bool, str | None]
    ) -> None:
        business = BusinessFactory(name="Ada Books")

        has_row, row = self.NAMED.find_if("SELECT 1 WHERE %s", [beside], name)

        assert (has_row, row and row.name) == found
        assert row is None or columns_of(row) == columns_of(business)
