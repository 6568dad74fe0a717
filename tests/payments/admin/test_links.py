"""Staff block payment links, and see neither a payer's token nor an address that can't be guessed."""

import pytest
from django.test import Client

from merchants.models import AuditEntry
from payments.models import Checkout
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory, UserFactory
from tests.links import begin, make_link, pay_by_card

pytestmark = pytest.mark.django_db

LINKS = "/admin/payments/paymentlink/"


@pytest.fixture
def staff():
    person = UserFactory(email="staff@example.com", is_staff=True, is_superuser=True)
    return signed_in(person, client=Client())


@pytest.fixture
def link(api):
    return make_link(api)


def text_of(answer):
    assert answer.status_code == 200
    return answer.content.decode()


class TestBlock:
    def test_stops_payers_and_tells_the_merchant_why(self, staff, api, link, ada):
        answer = staff.post(f"{LINKS}{link.pk}/block/", {"reason": "Prohibited goods"}, follow=True)

        assert "The payment link is blocked." in text_of(answer)
        shown = api.get(f"/api/payment-links/{link.reference}").json()
        assert (shown["status"], shown["block_reason"]) == ("inactive", "Prohibited goods")
        assert Client().get(f"/l/{link.slug}").status_code == 410
        assert api.post(f"/api/payment-links/{link.reference}/activate", {}).status_code == 409
        entry = AuditEntry.objects.get(action="payment_link.blocked")
        assert (entry.actor, entry.business_id, entry.target) == (
            "staff@example.com", ada.business_id, link.reference,
        )  # fmt: skip
        assert entry.after == {"reason": "Prohibited goods"}

        staff.post(f"{LINKS}{link.pk}/unblock/", {"reason": "Cleared with the merchant"})

        assert api.get(f"/api/payment-links/{link.reference}").json()["status"] == "active"
        entry = AuditEntry.objects.get(action="payment_link.unblocked")
        assert (entry.before, entry.after) == (
            {"reason": "Prohibited goods"}, {"reason": "Cleared with the merchant"},
        )  # fmt: skip

    def test_is_explained_in_the_merchants_activity(self, staff, browser_of, link, ada):
        staff.post(f"{LINKS}{link.pk}/block/", {"reason": "Prohibited goods"})

        activity = text_of(browser_of(ada.business).get("/dashboard/activity/"))

        assert "Blocked the payment link" in activity
        assert "Prohibited goods" in activity

    @pytest.mark.parametrize("reason", ["", " ", "x" * 256])
    def test_needs_a_reason(self, staff, link, reason):
        answer = staff.post(f"{LINKS}{link.pk}/block/", {"reason": reason})

        assert "Nothing was changed. Enter a reason." in text_of(answer)
        link.refresh_from_db()
        assert link.blocked_at is None


class TestSecrets:
    def test_are_on_no_page(self, staff, api, link):
        chosen = make_link(api, slug="bookbinding")
        payment = pay_by_card(begin(link))
        addresses = [LINKS, f"{LINKS}{link.pk}/change/", f"/admin/search/?q={link.reference}"]
        addresses += [
            "/admin/payments/checkout/",
            f"/admin/payments/checkout/{payment.checkout_id}/change/",
            f"/admin/payments/transaction/{payment.pk}/change/",
            f"/admin/payments/transaction/?q={link.pk}",
        ]

        texts = [text_of(staff.get(address)) for address in addresses]

        secrets = [link.slug, Checkout.objects.get().token]
        assert not [secret for secret in secrets for text in texts if secret in text]
        assert "/l/bookbinding" in text_of(staff.get(f"{LINKS}{chosen.pk}/change/"))


@pytest.fixture
def browser_of():
    return lambda business: signed_in(MemberFactory(business=business).user, client=Client())
