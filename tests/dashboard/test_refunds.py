"""The page of a refund: its facts, and links to and from everything that it belongs to."""

import re

import pytest

from merchants.api.request_log import request_log
from merchants.models import ApiRequest
from payments.models import CardOperation
from payments.services.refunds import refunds
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.settling import decide, settle
from tests.transactions import captured_payment
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

REFUNDS = "/dashboard/refunds/"
DECLINED = 20_005  # an amount that the sandbox declines


def refund_of(payment, *, now, reference="refund-1", amount=200_000, **changes):
    wanted = {"reference": reference, "amount": amount, **changes}
    return refunds.refund(transaction=payment, request=wanted, now=now).resource


@pytest.fixture
def payment(ada, now):
    return captured_payment(business=ada.business, now=now, amount=500_000, reference="order-1")


def related(page):
    panel = page.partition('id="related"')[2].partition("</section>")[0]
    return re.findall(r'href="([^"]+)"', panel)


class TestPage:
    def test_shows_what_became_of_the_refund(self, browser, payment, now):
        refund = refund_of(payment, now=now, reason="One book came back")

        page = browser.get(f"{REFUNDS}{refund.pk}/").content.decode()

        for text in (
            "refund-1",
            "Succeeded",
            "One book came back",
            "NGN 2,000.00 refunded",
            "NGN 3,000.00 left",
        ):
            assert text in page, text
        assert "GET /api/refunds/refund-1" in page
        assert "success" not in re.sub(r"<pre.*?</pre>|<[^>]+>", "", page, flags=re.DOTALL)

    def test_says_why_a_refund_failed_and_offers_another(self, browser, ada, payment, now):
        refund = refund_of(payment, now=now, amount=DECLINED)

        page = browser.get(f"{REFUNDS}{refund.pk}/").content.decode()

        assert "The customer wasn’t refunded" in page  # noqa: RUF001
        assert "Declined" not in page.partition('class="fold')[0]
        assert f'href="/dashboard/payments/{payment.pk}/refund/"' in page

    def test_names_the_outcome_of_a_refund_by_bank(self):
        refund = CardOperation(kind="refund", connector="sandbox", response_summary="Payment failed")

        assert refund.outcome_text == "Refund failed"

    def test_offers_no_refund_to_roles_that_may_not(self, ada, payment, now):
        viewer = signed_in(MemberFactory(business=ada.business, role="viewer").user)
        refund = refund_of(payment, now=now, amount=DECLINED)

        page = viewer.get(f"{REFUNDS}{refund.pk}/").content.decode()

        assert "The customer wasn’t refunded" in page  # noqa: RUF001
        assert f"{payment.pk}/refund/" not in page

    def test_links_everything_the_refund_belongs_to(self, browser, ada, payment, now):
        make_endpoint(business=ada.business, events=["refund"])
        refund = refund_of(payment, now=now)
        (batch,) = settle()
        decide(batch, "approve", "release")

        links = related(browser.get(f"{REFUNDS}{refund.pk}/").content.decode())

        assert links[0] == f"/dashboard/payments/{payment.pk}/"
        assert f"/dashboard/settlements/{batch.pk}/" in links
        assert any(each.startswith("/dashboard/balance/?currency=NGN&amp;since=") for each in links)
        delivery = Delivery.objects.get(subject=refund.pk)
        assert f"/dashboard/webhooks/deliveries/{delivery.pk}/" in links

    def test_names_the_member_who_asked(self, browser, payment):
        form = {"reference": "rf-1", "amount": "100.00", "step": "confirmed"}
        browser.post(f"/dashboard/payments/{payment.pk}/refund/", form)
        refund = CardOperation.objects.get(reference="rf-1")

        page = browser.get(f"{REFUNDS}{refund.pk}/").content.decode()

        assert "<bdi>By ada@example.com</bdi>" in page
        assert "Requested by" in page
        assert "/dashboard/activity/?who=ada%40example.com&amp;kind=payment" in related(page)

    @pytest.mark.parametrize("kind", ["capture", "void"])
    def test_is_missing_for_other_operations(self, browser, payment, now, kind):
        refund = refund_of(payment, now=now)
        CardOperation.objects.filter(pk=refund.pk).update(kind=kind, reference=None)

        assert browser.get(f"{REFUNDS}{refund.pk}/").status_code == 404


class TestLinks:
    def test_lead_from_payment_settlement_and_search(self, browser, payment, now):
        refund = refund_of(payment, now=now)
        (batch,) = settle()
        address = f'href="{REFUNDS}{refund.pk}/"'

        payment_page = browser.get(f"/dashboard/payments/{payment.pk}/").content.decode()
        assert payment_page.count(address) >= 3  # Related, the list of refunds, and the timeline
        assert address in browser.get(f"/dashboard/settlements/{batch.pk}/").content.decode()
        assert address in browser.get(f"/dashboard/search/?q={refund.pk}").content.decode()

    def test_lead_from_its_delivery(self, browser, ada, payment, now):
        make_endpoint(business=ada.business, events=["refund"])
        refund = refund_of(payment, now=now)
        delivery = Delivery.objects.get(subject=refund.pk)

        page = browser.get(f"/dashboard/webhooks/deliveries/{delivery.pk}/").content.decode()

        assert related(page)[:2] == [f"{REFUNDS}{refund.pk}/", f"/dashboard/payments/{payment.pk}/"]

    def test_lead_from_its_request(self, browser, ada, api):
        api.post("/api/payments", orders.card_payment(reference="order-1"))
        refund = api.post("/api/payments/order-1/refunds", {"reference": "refund-1"}).json()["id"]
        request_log.flush()

        assert f'href="{REFUNDS}{refund}/"' in browser.get("/dashboard/developers/requests/").content.decode()
        page = browser.get(f"{REFUNDS}{refund}/").content.decode()
        call = ApiRequest.objects.get(object_id=refund)
        assert f"/dashboard/developers/requests/{call.pk}/" in related(page)
        assert f"<bdi>By API key {ada.public_id}</bdi>" in page
