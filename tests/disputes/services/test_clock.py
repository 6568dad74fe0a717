"""The clock of disputes: reminders, and the loss of unanswered disputes."""

from datetime import timedelta

import pytest
from django.core.management import call_command

from disputes.models import Dispute
from disputes.services import clock as deadlines
from payments.rules.words.dispute_words import Status
from tests.disputed import disputed, payment_of, take
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def dispute(api, clock):
    payment = payment_of(api)
    make_endpoint(business=payment.business, events=["dispute"])
    return disputed(payment, respond_by=clock.now + timedelta(hours=8))


def events():
    return list(Delivery.objects.order_by("created_at").values_list("event", flat=True))


def test_reminds_at_half_and_three_quarters_and_then_expires(dispute, clock):
    for hours, expected in ((3, 0), (2, 1), (2, 2), (2, 2)):
        clock.advance(hours=hours)
        call_command("expire_due")
        assert events().count("dispute.due_soon") == expected
    assert Dispute.objects.get().status == "expired"
    assert events()[-1] == "dispute.closed"
    call_command("expire_due")
    assert len(events()) == 4


def test_leaves_answered_disputes_alone(dispute, clock):
    take(dispute.transaction, status=Status.UNDER_REVIEW)
    clock.advance(days=2)

    assert (deadlines.overdue(now=clock.now), deadlines.to_remind(now=clock.now)) == ([], [])
