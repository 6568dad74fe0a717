"""The packet: what we know about a disputed payment, without the business having to collect it."""

import pytest
from django.utils import timezone

from disputes.services.answers.packet import packet_of
from disputes.services.rails.answer_contents import answer_of
from tests.disputed import disputed, payment_of
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

EMAIL = {"customer": {"reference": "c-1", "name": "Ada Obi", "email": "ada@example.com"}}
IN_CAPITALS = {"customer": {"reference": "c-2", "name": "Ada Obi", "email": "ADA@example.com"}}


def test_has_what_the_customer_paid_before(api):
    disputed(first := payment_of(api, **IN_CAPITALS))
    second = payment_of(api, **EMAIL)
    payment_of(api, customer={"reference": "c-3", "name": "Bisi", "email": "bisi@example.com"})
    dispute = disputed(payment_of(api, **EMAIL))
    payment_of(api, **EMAIL)

    others = packet_of(dispute)["other_payments"]

    assert [(each["reference"], each["is_disputed"]) for each in others] == [
        (second.reference, False),
        (first.reference, True),
    ]


def test_has_the_events_that_the_merchant_accepted(api, ada):
    make_endpoint(business=ada.business)
    dispute = disputed(payment_of(api))
    assert "webhooks" not in packet_of(dispute)
    Delivery.objects.filter(subject=dispute.transaction_id).update(
        state="delivered", delivered_at=timezone.now(), next_attempt_at=None
    )

    (accepted,) = packet_of(dispute)["webhooks"]

    assert accepted["event"] == "payment.success"


def test_leaves_out_what_the_business_left_out(api):
    dispute = disputed(payment_of(api))
    dispute.answer = {"submit": {"leave_out": ["receipt"]}}
    assert list(packet_of(dispute)) == ["payment"]


def test_answer_names_facts_in_plain_words(api):
    payment_of(api, **EMAIL)
    dispute = disputed(payment_of(api, **EMAIL))

    lines = answer_of(dispute).lines

    assert {"Customer's earlier payments:", "  Paid with the same card: Yes", "  Disputed: No"} <= set(lines)
