"""The pages of several webhook endpoints: adding, changing, rotating and deleting one, and what belongs to which."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from merchants.models import AuditEntry
from tests.dashboard.people import signed_in
from tests.developer_site.test_pages import Audit
from tests.factories import MemberFactory
from tests.transactions import captured_payment
from tests.webhooks.rows import (
    DATA,
    FAILED,
    NOON,
    acquire,
    make_deliveries,
    make_delivery,
    make_endpoint,
    record,
)
from webhooks import publishing
from webhooks.models import Delivery, Endpoint, Event
from webhooks.publishing import NewEvent
from webhooks.signing import sign, standard_secret

pytestmark = pytest.mark.django_db

WEBHOOKS = "/dashboard/webhooks/"
ENDPOINTS = f"{WEBHOOKS}endpoints/"
URL = "http://127.0.0.1:9/warehouse"
SETTINGS = {"url": URL, "events": ["payment", "refund.success"], "api_version": "2026-11-01", "enabled": "on"}


@pytest.fixture
def first(ada):
    return make_endpoint(business=ada.business)


@pytest.fixture
def second(ada, first):
    return make_endpoint(business=ada.business, number=1, url=URL)


def page_of(endpoint, rest=""):
    return f"{ENDPOINTS}{endpoint.public_id}/{rest}"


def text_of(answer):
    assert answer.status_code == 200
    text = answer.content.decode()
    assert Audit(text).findings == []
    return text


def shown(answer, secret):
    found = re.search(rf'data-secret="{secret}">([^<]+)<', answer.content.decode())
    return found and found[1]


class TestList:
    def test_is_a_tab_once_there_are_several(self, browser, first):
        one = text_of(browser.get(WEBHOOKS))
        make_endpoint(business=first.business, number=1, url=URL)
        two = text_of(browser.get(WEBHOOKS))

        assert f'href="{ENDPOINTS}"' not in one
        assert f'href="{ENDPOINTS}new/">Add endpoint</a>' in one
        assert f'href="{ENDPOINTS}"' in two

    def test_marks_the_first_one_and_leads_to_each(self, browser, first, second):
        page = text_of(browser.get(ENDPOINTS))

        assert page.index("First endpoint") < page.index(URL)
        assert f'href="{page_of(second)}"' in page
        assert page.count("First endpoint") == 1

    def test_offers_nothing_to_viewers(self, client, ada, second):
        browser = signed_in(MemberFactory(business=ada.business, role="viewer").user, client=client)

        assert "Add endpoint" not in text_of(browser.get(ENDPOINTS))
        assert "Delete" not in text_of(browser.get(page_of(second)))
        assert browser.post(page_of(second, "delete/")).status_code == 403


class TestAdding:
    def test_shows_the_key_once_in_both_forms(self, browser, first):
        answer = browser.post(f"{ENDPOINTS}new/", SETTINGS | {"description": "Warehouse"})

        added = Endpoint.objects.get(number=1)
        assert shown(answer, "hash-key") == added.hash_key
        assert shown(answer, "standard-webhooks") == standard_secret(added.hash_key)
        assert (added.url, added.description, added.enabled) == (URL, "Warehouse", True)
        assert added.subscribed_events == ["payment", "refund.success"]
        assert added.hash_key not in text_of(browser.get(page_of(added)))
        assert AuditEntry.objects.get(action="webhook.configured").target == str(added.public_id)

    def test_of_the_same_url_twice_is_refused(self, browser, first):
        browser.post(f"{ENDPOINTS}new/", SETTINGS)
        answer = browser.post(f"{ENDPOINTS}new/", SETTINGS)

        assert "Another endpoint has this URL." in text_of(answer)
        assert shown(answer, "hash-key") is None
        assert Endpoint.objects.count() == 2

    def test_of_an_eleventh_is_refused(self, browser, first):
        for number in range(1, 10):
            make_endpoint(business=first.business, number=number, url=f"http://127.0.0.1:9/{number}")

        assert "There are 10 endpoints already." in text_of(browser.post(f"{ENDPOINTS}new/", SETTINGS))
        assert "Add endpoint" not in text_of(browser.get(ENDPOINTS))

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"events": []}, "Choose at least one event."),
            ({"events": ["payment.lost"]}, "payment.lost is not one of the available choices"),
            ({"url": "ftp://x"}, "http"),
            ({"api_version": "2020-01-01"}, "2020-01-01 is not one of the available choices"),
        ],
    )
    def test_with_wrong_settings_changes_nothing(self, browser, first, change, error):
        assert error in text_of(browser.post(f"{ENDPOINTS}new/", SETTINGS | change))
        assert Endpoint.objects.count() == 1


class TestChanging:
    def test_keeps_what_the_form_shows(self, browser, second):
        page = text_of(browser.get(page_of(second, "edit/")))
        assert f'value="{URL}"' in page
        answer = browser.post(page_of(second, "edit/"), SETTINGS | {"standard_webhooks": "on"}, follow=True)

        second.refresh_from_db()
        assert "Endpoint saved." in text_of(answer)
        assert (second.standard_webhooks, second.subscribed_events) == (True, ["payment", "refund.success"])
        assert AuditEntry.objects.get(action="webhook.configured").target == str(second.public_id)

    def test_applies_to_the_first_one_too(self, browser, first, second):
        form = SETTINGS | {"url": first.url, "events": ["payout.failed"], "enabled": ""}
        browser.post(page_of(first, "edit/"), form)

        first.refresh_from_db()
        assert (first.subscribed_events, first.enabled) == (["payout.failed"], False)

    def test_of_anothers_endpoint_is_not_found(self, other_browser, second):
        for rest in ("", "edit/", "delete/", "rotate/"):
            assert other_browser.get(page_of(second, rest)).status_code == 404
        assert other_browser.post(f"{WEBHOOKS}test/", {"endpoint": second.public_id}).status_code == 404


class TestRotation:
    def test_is_of_one_endpoint_with_an_overlap(self, browser, first, second):
        page = browser.get(page_of(second, "rotate/"))
        answer = browser.post(
            page_of(second, "rotate/"), {"made": page.context["made"], "overlap_hours": "24"}
        )

        keys = {each.number: each for each in Endpoint.objects.all()}
        assert shown(answer, "hash-key") == keys[1].hash_key != second.hash_key
        assert shown(answer, "standard-webhooks") == standard_secret(keys[1].hash_key)
        assert (keys[0].hash_key, keys[1].previous_hash_key) == (first.hash_key, second.hash_key)


class TestDeletion:
    def test_says_what_is_skipped_and_skips_it(self, browser, second):
        make_deliveries(second, 3)
        page = text_of(browser.get(page_of(second, "delete/")))
        assert "3 deliveries" in re.sub(r"\s+", " ", page)
        assert f'href="{page_of(second)}">Keep endpoint' in page

        answer = browser.post(page_of(second, "delete/"), follow=True)

        assert "Endpoint deleted." in text_of(answer)
        assert set(Delivery.objects.values_list("state", flat=True)) == {"skipped"}
        assert browser.get(page_of(second)).status_code == 404
        done = [each.act.what for each in browser.get("/dashboard/activity/").context["activities"]]
        assert f"deleted the webhook endpoint {URL}" in done

    def test_of_the_first_one_is_refused(self, browser, first, second):
        answer = browser.post(page_of(first, "delete/"), follow=True)

        assert "be deleted. Disable it instead." in answer.content.decode()
        assert Endpoint.objects.live().count() == 2

    def test_keeps_the_log(self, browser, second):
        delivery = make_delivery(second)
        browser.post(page_of(second, "delete/"))

        assert URL in text_of(browser.get(f"{WEBHOOKS}deliveries/{delivery.pk}/"))
        assert f"{URL.removeprefix('http://')} (deleted)" in text_of(browser.get(f"{WEBHOOKS}deliveries/"))


class TestHealth:
    def test_is_of_one_endpoint(self, browser, first, second, now):
        make_deliveries(second, 2, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now - timedelta(minutes=59))

        assert "Failing since" in text_of(browser.get(page_of(second)))
        assert "Failing since" not in text_of(browser.get(f"{WEBHOOKS}health/"))

    def test_retries_the_deliveries_of_one_endpoint(self, browser, first, second, now):
        make_delivery(first, at=now - timedelta(hours=1))
        make_delivery(second, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now)

        browser.post(f"{WEBHOOKS}replay/", {"state": "waiting", "endpoint": second.public_id})

        assert Delivery.objects.get(is_manual=True).endpoint_number == 1

    def test_page_of_the_first_one_is_where_the_webhook_pages_begin(self, browser, first):
        assert browser.get(page_of(first))["Location"] == f"{WEBHOOKS}health/"


class TestDeliveries:
    def test_are_limited_to_one_endpoint(self, browser, first, second):
        make_deliveries(first, 2)
        (row,) = make_deliveries(second)

        answer = browser.get(f"{WEBHOOKS}deliveries/?endpoint={second.public_id}")

        assert [each.delivery for each in answer.context["rows"]] == [row]
        assert browser.get(f"{WEBHOOKS}deliveries/?endpoint={uuid4()}").context["rows"] == []

    def test_of_an_event_are_found_by_its_id(self, browser, first, second):
        new = NewEvent(Event.PAYMENT_SUCCESS, first.business_id, uuid4(), data=lambda: DATA)
        publishing.publish(new, now=NOON)
        event_id = Delivery.objects.get(endpoint_number=0).pk

        found = browser.get(f"{WEBHOOKS}deliveries/?q={event_id}").context["rows"]

        assert {each.delivery.endpoint_number for each in found} == {0, 1}

    def test_are_filtered_by_a_deleted_endpoint_only_while_its_attempts_are_kept(
        self, browser, first, second, settings
    ):
        make_delivery(second)
        browser.post(page_of(second, "delete/"))
        for days, is_offered in ((1, True), (settings.WEBHOOK_ATTEMPT_RETENTION + 1, False)):
            Endpoint.objects.filter(pk=second.pk).update(deleted_at=timezone.now() - timedelta(days=days))
            page = text_of(browser.get(f"{WEBHOOKS}deliveries/"))
            assert ("warehouse (deleted)" in page) is is_offered

        asked = browser.get(f"{WEBHOOKS}deliveries/?endpoint={second.public_id}")
        assert len(asked.context["rows"]) == 1

    def test_of_a_payment_name_their_endpoints_once_there_are_several(self, browser, ada, first):
        payment = captured_payment(business=ada.business, now=timezone.now())
        page = f"/dashboard/payments/{payment.pk}/"
        alone = text_of(browser.get(page))
        make_endpoint(business=ada.business, number=1, url=URL)
        other = captured_payment(business=ada.business, now=timezone.now(), reference="order-2")
        several = text_of(browser.get(f"/dashboard/payments/{other.pk}/"))

        assert "payment.success" in alone
        assert "127.0.0.1:9" not in alone
        assert "Not sent yet · 127.0.0.1:9/hook" in several
        assert "Not sent yet · 127.0.0.1:9/warehouse" in several
        assert "payment.success to 127.0.0.1:9/warehouse: next attempt" in several

    def test_are_not_filtered_by_the_only_endpoint(self, browser, first):
        make_delivery(first)

        assert "endpoint=" not in text_of(browser.get(f"{WEBHOOKS}deliveries/"))

    def test_show_the_ids_of_event_and_delivery(self, browser, second):
        delivery = make_delivery(second)

        page = text_of(browser.get(f"{WEBHOOKS}deliveries/{delivery.pk}/"))

        assert str(delivery.pk) in page
        assert str(delivery.event_id) in page

    def test_show_all_headers_of_the_next_attempt(self, browser, second):
        delivery = make_delivery(second)
        Endpoint.objects.filter(pk=second.pk).update(
            standard_webhooks=True,
            made_by_api=True,
            previous_hash_key="whk_sandbox_old",
            previous_key_ends_at=timezone.now() + timedelta(hours=1),
        )

        page = text_of(browser.get(f"{WEBHOOKS}deliveries/{delivery.pk}/"))

        assert f"X-Service-Signature-Previous: {sign('whk_sandbox_old', delivery.body.encode())}" in page
        assert "X-Service-Version: 2026-11-01" in page
        assert f"webhook-id: {delivery.pk}" in page
        assert len(re.findall(r"webhook-signature: v1,\S+ v1,\S+", page)) == 1


class TestTestEvent:
    def test_goes_to_the_endpoint_that_is_named(self, browser, first, second):
        browser.post(f"{WEBHOOKS}test/", {"endpoint": second.public_id})
        browser.post(f"{WEBHOOKS}test/")

        assert sorted(Delivery.objects.values_list("endpoint_number", flat=True)) == [0, 1]
