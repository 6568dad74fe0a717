"""The link to a payer's 3-D Secure page allows declining the payment, so only roles that may cancel see it."""

import json

import pytest
from django.urls import reverse

from dashboard.ui.payer_links import HIDDEN
from payments.models import Transaction
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.webhooks.rows import make_delivery, make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

SEES = {"owner": True, "finance": True, "developer": False, "viewer": False}


@pytest.fixture
def waiting(api):
    """A card payment that awaits its payer."""
    challenge = {"enabled": True, "challenge_preference": "challenge_mandated"}
    return api.post("/api/payments", orders.card_payment(reference="waits-1", **{"3ds": challenge})).json()


@pytest.fixture
def member(ada):
    def of(role):
        return signed_in(MemberFactory(business=ada.business, role=role).user)

    return of


def text(answer):
    assert answer.status_code == 200
    return (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()


@pytest.mark.parametrize(("role", "sees"), SEES.items())
def test_link_is_shown_on_a_payments_page_to_those_who_may_act(member, waiting, role, sees):
    page = text(member(role).get(f"/dashboard/payments/{waiting['id']}/"))

    assert (waiting["redirect_link"] in page) == sees
    assert (HIDDEN in page) == (not sees)
    assert "redirect_link" in page


@pytest.mark.parametrize(("role", "sees"), SEES.items())
def test_link_in_a_deliverys_body_is_shown_to_those_who_may_act(ada, member, waiting, role, sees):
    delivery = make_delivery(make_endpoint(business=ada.business))
    Delivery.objects.filter(pk=delivery.pk).update(body=json.dumps({"data": [waiting]}))

    page = text(member(role).get(reverse("dashboard-delivery", args=[delivery.pk])))

    assert (waiting["redirect_link"] in page) == sees


@pytest.mark.parametrize("role", ["developer", "viewer"])
def test_link_is_on_no_page_or_export_for_those_who_may_not_act(member, waiting, role):
    token = Transaction.objects.get().challenge.token
    browser = member(role)

    for address in (
        "/dashboard/",
        "/dashboard/payments/",
        "/dashboard/payments/?q=waits-1",
        "/dashboard/payments/export.csv",
        f"/dashboard/payments/{waiting['id']}/",
        "/dashboard/activity/",
        "/dashboard/activity/export.csv",
        "/dashboard/webhooks/deliveries/",
        "/dashboard/developers/requests/",
        "/dashboard/sandbox/",
    ):
        assert token not in text(browser.get(address)), address
