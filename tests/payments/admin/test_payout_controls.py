"""Staff freeze payouts of a business on its page, lift the freeze by two people, and cap its limits."""

import pytest

from payments.models import PayoutControls, Proposal
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def staff():
    return signed_in(UserFactory(is_staff=True, is_superuser=True))


def post(client, business, action, **fields):
    page = f"/admin/merchants/business/{business.pk}/"
    return client.post(f"{page}{action}/", fields, follow=True).content.decode()


def test_one_person_freezes_and_two_people_lift(api, ada, settings):
    settings.FOUR_EYES = True
    first, second = staff(), staff()

    frozen = post(first, ada.business, "freeze-payouts", reason="Stolen key")
    refused = api.post("/api/payments", orders.payout())
    asked = post(first, ada.business, "lift-freeze", reason="Key revoked")
    still = api.post("/api/payments", orders.payout())
    proposal = Proposal.objects.get()
    confirmed = second.post(f"/admin/payments/proposal/{proposal.pk}/confirm/", follow=True)

    assert "Lift freeze" in frozen
    assert (refused.status_code, refused.json()["code"]) == (409, "payouts_frozen")
    assert "another person" in asked
    assert still.status_code == 409
    assert "Lift the freeze of payouts" in confirmed.content.decode()
    assert api.post("/api/payments", orders.payout()).status_code == 201


def test_freeze_needs_a_reason(ada):
    shown = post(staff(), ada.business, "freeze-payouts", reason="")

    assert "Enter a reason" in shown
    assert not PayoutControls.objects.exists()


def test_caps_hold_at_once(api, ada):
    post(
        staff(), ada.business, "cap-payouts", per_payout="NGN 100", number_per_day="5", reason="New merchant"
    )

    assert PayoutControls.objects.get().caps == {"per_payout": {"NGN": 10_000}, "number_per_day": 5}
    refused = api.post("/api/payments", orders.payout(amount=10_001))
    assert refused.json()["limit"]["name"] == "per_payout"
