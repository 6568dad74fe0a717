"""What a payout is for: said by the merchant, kept and shown, and the same in a repeated request."""

import pytest
from django.db import IntegrityError, transaction

from payments.models import Transaction
from payout_batches.models import PayoutBatchItem
from payout_batches.representation import represent_item
from payout_batches.services.sending import request_of
from tests import orders

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("purpose", ["salary", "supplier", "other"])
def test_is_kept_and_shown(api, purpose):
    order = orders.payout(purpose=purpose)

    assert api.post("/api/payments", order).json()["purpose"] == purpose
    assert api.get(f"/api/payments/{order['reference']}").json()["purpose"] == purpose


def test_is_absent_if_none_was_given(api):
    assert "purpose" not in api.post("/api/payments", orders.payout()).json()


@pytest.mark.parametrize("purpose", ["rent", "", 1])
def test_that_is_unknown_is_refused(api, purpose):
    refused = api.post("/api/payments", orders.payout(purpose=purpose))

    assert refused.status_code == 400
    assert "purpose" in {error["field"] for error in refused.json()["errors"]}
    assert not Transaction.objects.exists()


def test_of_a_payment_is_refused(api):
    refused = api.post("/api/payments", orders.card_payment(purpose="salary"))

    assert refused.status_code == 400
    assert "purpose" in {error["field"] for error in refused.json()["errors"]}


def test_that_differs_in_a_repeated_request_is_named(api):
    order = orders.payout(purpose="salary")
    api.post("/api/payments", order)

    assert api.post("/api/payments", order).status_code == 200
    other = api.post("/api/payments", order | {"purpose": "other"})
    assert other.status_code == 409
    assert "purpose" in str(other.json())


def test_never_changes(api):
    api.post("/api/payments", orders.payout(purpose="salary"))

    with pytest.raises(IntegrityError), transaction.atomic():
        Transaction.objects.update(purpose="other")


def test_is_of_payouts_only(api):
    api.post("/api/payments", orders.payout(purpose="salary"))

    with pytest.raises(IntegrityError, match="only_payouts_have_a_purpose"), transaction.atomic():
        Transaction.objects.update(request_type="payment")


def test_of_an_item_is_that_of_its_payout(api):
    request = orders.payout_batch(orders.batch_item(purpose="supplier"), reference="suppliers-48")

    assert api.post("/api/payout-batches", request).status_code == 201
    (item,) = PayoutBatchItem.objects.all()
    assert represent_item(item)["purpose"] == request_of(item)["purpose"] == "supplier"
