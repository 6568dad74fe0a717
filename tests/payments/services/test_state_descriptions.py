"""A refusal because of a state names the current one."""

import pytest

from payments.models import Transaction
from payments.services.transactions.state_descriptions import KINDS, PENDING
from tests import orders

pytestmark = pytest.mark.django_db

PAID_AND_CAPTURED = "This payment is success and was captured."
PAID = "This payment is success."
AUTHORISED = "This payment is pending: it is authorised and waits for a capture or void."
CHALLENGED = "This payment is pending: it waits for the payer's 3-D Secure challenge."
VOIDED = "This payment is failed: Payment voided."
DECLINED = "This payment is failed: Not sufficient funds."


def act(api, payment, action, **body):
    return api.post(f"/api/payments/{payment['reference']}/{action}", body)


def new_payment(api, **changes):
    return api.post("/api/payments", orders.card_payment(**changes)).json()


def captured(api):
    payment = new_payment(api, capture=False)
    return act(api, payment, "capture").json()


def voided(api):
    payment = new_payment(api, capture=False)
    return act(api, payment, "void").json()


def authorised(api):
    return new_payment(api, capture=False)


def challenged(api):
    return new_payment(api, three_ds={"enabled": True})


@pytest.mark.parametrize(
    ("begin", "action", "said"),
    [
        (captured, "capture", PAID_AND_CAPTURED),
        (captured, "void", PAID_AND_CAPTURED),
        (captured, "cancel", PAID_AND_CAPTURED),
        (new_payment, "capture", PAID),
        (voided, "capture", VOIDED),
        (voided, "refunds", VOIDED),
        (challenged, "capture", CHALLENGED),
        (challenged, "refunds", CHALLENGED),
        (authorised, "cancel", AUTHORISED),
        (authorised, "refunds", AUTHORISED),
    ],
)
def test_refusal_names_the_state(api, begin, action, said):
    payment = begin(api)
    body = {"amount": 1} if action == "capture" else {"reference": "r-1"} if action == "refunds" else {}

    answer = act(api, payment, action, **body)

    assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
    assert said in answer.json()["detail"]


def test_refusal_to_refund_more_says_what_became_of_the_rest(api):
    payment = new_payment(api)
    assert act(api, payment, "refunds", reference="r-1").status_code == 201

    detail = act(api, payment, "refunds", reference="r-2").json()["detail"]

    assert detail == "Nothing is left to refund: all of it was refunded."


def test_refusal_to_advance_names_the_state(api):
    payment = new_payment(api)

    answer = api.post("/api/sandbox/advance", {"payment": payment["reference"]})

    assert PAID in answer.json()["detail"]


def test_every_kind_and_every_wait_has_a_description():
    assert set(KINDS) == set(Transaction.RequestType)
    assert set(PENDING) == set(Transaction.Awaiting) - {Transaction.Awaiting.NOTHING}
