"""The page of an API request: what was sent, what the error means, whether to send it again, and its objects."""

import pytest

from dashboard.developers.retry_advice import retry_advice
from merchants.api.request_log import request_log
from merchants.models import ApiRequest
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.developer_site.test_pages import Audit
from tests.factories import ApiKeyFactory
from tests.logged_calls import logged_call

pytestmark = pytest.mark.django_db

REQUESTS = "/dashboard/developers/requests/"


def page_of(browser, call):
    return browser.get(f"{REQUESTS}{call.pk}/").content.decode()


class TestRequestPage:
    def test_follows_from_the_list(self, browser, ada):
        call = logged_call(ada.business)

        assert f'href="{REQUESTS}{call.pk}/"' in browser.get(REQUESTS).content.decode()

    def test_shows_what_was_sent(self, browser, ada):
        ada.name = "Web <shop>"
        ada.save()
        call = logged_call(ada.business, target="/api/payments?limit=5&q=%3Cb%3E&empty=", address="192.0.2.7")

        page = page_of(browser, call)

        for shown in ("GET <bdi>/api/payments</bdi>", "200 OK", "3 ms", "192.0.2.7", ada.public_id, "r-1"):
            assert shown in page
        assert "<bdi>&lt;b&gt;</bdi>" in page
        assert "Web &lt;shop&gt;" in page
        assert "Send it again?" not in page
        assert Audit(page).findings == []

    def test_explains_an_error(self, browser, ada):
        call = logged_call(ada.business, method="POST", status=409, code="insufficient_funds")

        page = page_of(browser, call)

        assert "409 Conflict" in page
        assert "The balance doesn&#x27;t cover this" in page
        assert 'href="/docs/errors/insufficient_funds"' in page
        assert "Yes, later and unchanged" in page

    def test_shows_a_code_and_key_that_no_longer_exist(self, browser, ada):
        page = page_of(browser, logged_call(ada.business, status=400, code="ended_code", key="pk_gone"))

        assert "ended_code" in page
        assert "pk_gone" in page
        assert "/docs/errors/ended_code" not in page

    def test_says_that_a_signature_was_refused(self, browser, ada):
        other = ApiKeyFactory(business=ada.business)
        InProcessClient(Credentials(other.public_id, "wrong")).get("/api/banks")
        request_log.flush()

        page = page_of(browser, ApiRequest.objects.get())

        assert "The signature is wrong" in page
        assert '<span class="status status--failed">Refused</span>' in page
        assert 'href="/dashboard/developers/signature/"' in page

    def test_is_found_in_its_business_only(self, browser, other_browser, ada):
        call = logged_call(ada.business)

        assert browser.get(f"{REQUESTS}{call.pk}/").status_code == 200
        assert other_browser.get(f"{REQUESTS}{call.pk}/").status_code == 404

    @pytest.mark.parametrize("number", ["0", "9" * 40])
    def test_is_404_for_a_number_without_a_request(self, browser, ada, number):
        assert browser.get(f"{REQUESTS}{number}/").status_code == 404


class TestObject:
    def test_is_linked_with_its_amount_and_other_requests(self, browser, ada, api):
        payment = api.post("/api/payments", orders.card_payment(reference="order-1", amount=250_000)).json()
        api.get("/api/payments/order-1")
        request_log.flush()
        made, read = ApiRequest.objects.order_by("id")

        page = page_of(browser, made)

        assert f'href="/dashboard/payments/{payment["id"]}/"' in page
        assert "NGN 2,500.00 · order-1" in page
        assert f'href="{REQUESTS}{read.pk}/"' in page
        assert f'href="{REQUESTS}?object={payment["id"]}"' in page

    def test_may_be_a_refund(self, browser, ada, api):
        api.post("/api/payments", orders.card_payment(reference="order-1"))
        refund = api.post("/api/payments/order-1/refunds", {"reference": "refund-1"}).json()["id"]
        request_log.flush()

        page = page_of(browser, ApiRequest.objects.get(object_kind="refund"))

        assert f'href="/dashboard/refunds/{refund}/"' in page

    def test_may_be_a_virtual_account(self, browser, ada, api):
        account = api.post("/api/virtual-accounts", orders.dynamic_account(reference="account-1")).json()
        request_log.flush()

        page = page_of(browser, ApiRequest.objects.get())

        assert f'href="/dashboard/virtual-accounts/{account["id"]}/"' in page
        assert Audit(page).findings == []


@pytest.mark.parametrize(
    ("method", "status", "code", "begins"),
    [
        ("POST", 201, "", ""),
        ("POST", 401, "invalid_signature", "Yes, once the signature is right"),
        ("GET", 429, "rate_limited", "Yes, after the number of seconds"),
        ("POST", 503, "rail_unavailable", "Yes, later and unchanged"),
        ("POST", 500, "internal_error", "Yes, with the same reference"),
        ("GET", 500, "internal_error", "Yes. Reading changes nothing"),
        ("POST", 400, "invalid_request", "No."),
        ("POST", 409, "duplicate_reference", "No."),
    ],
)
def test_advice_says_whether_to_send_it_again(method, status, code, begins):
    advice = retry_advice(method=method, status=status, code=code)

    assert advice.startswith(begins)
    assert bool(advice) == bool(begins)
