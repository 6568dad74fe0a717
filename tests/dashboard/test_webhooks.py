"""The webhooks area: settings, the signing key (shown once), test events, deliveries and resending."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.developer_site.test_pages import Audit
from tests.factories import MemberFactory
from tests.webhooks.rows import (
    DELIVERED,
    FAILED,
    acquire,
    make_deliveries,
    make_delivery,
    make_endpoint,
    record,
)
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db

WEBHOOKS = "/dashboard/webhooks/"
URL = "http://127.0.0.1:9/hooks"
SETTINGS = {"url": URL, "payment": "on", "enabled": "on"}


def shown_key(answer):
    found = re.search(r'data-secret="hash-key">([^<]+)<', answer.content.decode())
    return found and found[1]


def text_of(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.content.decode()))


class TestSettings:
    def test_show_a_new_key_once(self, browser, ada):
        first = browser.post(WEBHOOKS, SETTINGS)

        endpoint = Endpoint.objects.get(business=ada.business)
        assert shown_key(first) == endpoint.hash_key
        assert (endpoint.url, endpoint.subscribed_events, endpoint.enabled) == (URL, ["payment"], True)
        assert endpoint.hash_key not in browser.get(WEBHOOKS).content.decode()
        assert shown_key(browser.post(WEBHOOKS, SETTINGS, follow=True)) is None

    def test_keep_single_events_of_an_endpoint(self, browser, ada):
        make_endpoint(business=ada.business, events=("payout", "refund.success"))

        browser.post(WEBHOOKS, SETTINGS)

        assert Endpoint.objects.get().subscribed_events == ["payment", "refund.success"]

    def test_have_the_labels_of_the_contract(self, browser, ada):
        make_endpoint(business=ada.business)

        shown = browser.get(WEBHOOKS).content.decode()

        labels = ["Payment events", "Payout events", "Refund events", "Reversal events"]
        labels += ["Unapplied transfer events", "Settlement events"]
        for label in ("Webhook URL", *labels, "Enabled"):
            assert re.search(rf'<label[^>]* for="[^"]+">{label}</label>', shown), label
        for button in ("Save", "Rotate signing key", "Send test event"):
            assert re.search(rf"{button}</button>", shown), button

    @pytest.mark.parametrize("form", [{"url": "ftp://x", "payment": "on"}, {"url": URL}, {"payment": "on"}])
    def test_show_errors(self, browser, ada, form):
        answer = browser.post(WEBHOOKS, form)

        assert answer.context["form"].errors
        assert not Endpoint.objects.exists()

    def test_are_forbidden_for_viewers(self, client, ada):
        client.force_login(MemberFactory(business=ada.business, role="viewer").user)

        assert "may change webhooks" in client.get(WEBHOOKS).content.decode()


class TestRotation:
    def test_asks_for_confirmation_and_happens_once(self, browser, ada):
        before = make_endpoint(business=ada.business)
        page = browser.get(f"{WEBHOOKS}rotate/")
        form = {"made": page.context["made"]}

        first = browser.post(f"{WEBHOOKS}rotate/", form)
        second = browser.post(f"{WEBHOOKS}rotate/", form, follow=True)

        endpoint = Endpoint.objects.get(business=ada.business)
        assert shown_key(first) == endpoint.hash_key != before.hash_key
        assert shown_key(second) is None
        assert endpoint.previous_hash_key is None

    def test_keeps_the_old_key_for_the_hours_asked_for(self, browser, ada):
        before = make_endpoint(business=ada.business)
        form = {"made": before.key_made_at.isoformat(), "overlap_hours": "72"}

        refused = browser.post(f"{WEBHOOKS}rotate/", form | {"overlap_hours": "73"})
        browser.post(f"{WEBHOOKS}rotate/", form)

        endpoint = Endpoint.objects.get(business=ada.business)
        assert shown_key(refused) is None
        assert endpoint.previous_hash_key == before.hash_key
        assert endpoint.previous_key_ends_at - endpoint.key_made_at == timedelta(hours=72)


class TestTestEvent:
    def test_is_sent_manually_and_shown(self, browser, ada):
        make_endpoint(business=ada.business)

        answer = browser.post(f"{WEBHOOKS}test/", follow=True)

        delivery = Delivery.objects.get()
        assert delivery.is_manual
        assert answer.redirect_chain[-1][0] == f"{WEBHOOKS}deliveries/{delivery.pk}/"

    def test_is_excluded_from_the_health_figures(self, browser, ada, now):
        make_endpoint(business=ada.business)
        browser.post(f"{WEBHOOKS}test/")
        (claimed,) = acquire(at=now + timedelta(minutes=1))
        record([claimed], FAILED, at=now)

        answer = browser.get(f"{WEBHOOKS}health/")

        health = answer.context["health"]
        assert (health.total, health.median_ms) == (0, None)
        assert "Test failed" in answer.content.decode()

    def test_cannot_be_resent(self, browser, ada, now):
        make_endpoint(business=ada.business)
        browser.post(f"{WEBHOOKS}test/")
        record(acquire(at=now + timedelta(minutes=1)), FAILED, at=now)
        delivery = Delivery.objects.get()

        shown = browser.get(f"{WEBHOOKS}deliveries/{delivery.pk}/").content.decode()

        assert "X-Service-Test: true" in shown
        assert "X-Service-Attempt: 1" in shown
        assert "Resend" not in shown

    @pytest.mark.long
    def test_is_limited_for_each_business(self, browser, ada, other_browser, bisi):
        for key in (ada, bisi):
            make_endpoint(business=key.business)
        for _ in range(20):
            browser.post(f"{WEBHOOKS}test/")

        answer = browser.post(f"{WEBHOOKS}test/", follow=True)
        other_browser.post(f"{WEBHOOKS}test/")

        assert "Too many test events. Try again in" in answer.content.decode()
        assert Delivery.objects.filter(business=ada.business).count() == 20
        assert Delivery.objects.filter(business=bisi.business).count() == 1

    def test_needs_an_endpoint(self, browser, ada):
        assert "Save a webhook URL first" in browser.post(f"{WEBHOOKS}test/", follow=True).content.decode()


class TestDelivery:
    def test_shows_attempts_schedule_and_request(self, browser, ada, now):
        delivery = make_delivery(make_endpoint(business=ada.business), at=now)
        record(acquire(at=now + timedelta(seconds=1)), FAILED, at=now)

        answer = browser.get(f"{WEBHOOKS}deliveries/{delivery.pk}/")

        detail, shown = answer.context["detail"], answer.content.decode()
        assert [each.title for each in detail.timeline] == [
            "Event created",
            "Attempt 1: responded with 500",
            "Attempt 2",
        ]
        assert "500 Internal Server Error in" in shown
        assert "X-Service-Idempotency-Key: " + str(delivery.pk) in shown
        assert "If it fails, attempt 3 follows after 1 minute to 3 minutes" in shown
        assert Audit(shown).findings == []

    def test_counts_manual_attempts_in_every_number(self, browser, ada, now):
        delivery = make_delivery(make_endpoint(business=ada.business), at=now)
        address = f"{WEBHOOKS}deliveries/{delivery.pk}/"
        record(acquire(at=now + timedelta(seconds=1)), FAILED, at=now)

        browser.post(f"{address}replay/")
        resent = text_of(browser.get(address))
        record(acquire(at=now + timedelta(minutes=1)), FAILED, at=now)
        failed, listed = text_of(browser.get(address)), text_of(browser.get(f"{WEBHOOKS}deliveries/"))

        assert "Attempt 2 (manual)" in resent
        assert "If it fails, attempt 3 of 9 follows" in resent
        assert "Attempt 3 of 9" in failed
        assert "If it fails, attempt 4 follows after 1 minute to 3 minutes." in failed
        assert "Automatic retries stop after attempt 9." in failed
        assert "X-Service-Attempt: 3" in failed
        assert "2 of 9" in listed

    def test_says_how_to_retry_and_to_resend_where_both_are_offered(self, browser, ada, now):
        delivery = make_delivery(make_endpoint(business=ada.business), at=now)
        address = f"{WEBHOOKS}deliveries/{delivery.pk}/"
        record(acquire(at=now + timedelta(seconds=1)), FAILED, at=now)

        both = text_of(browser.get(address))
        browser.post(f"{address}replay/")

        assert "Retry now makes attempt 2 at once. Resend makes an extra attempt" in both
        assert "Resend makes an extra attempt" not in text_of(browser.get(address))

    def test_refreshes_only_while_attempts_are_planned(self, browser, ada, now):
        delivery = make_delivery(make_endpoint(business=ada.business), at=now)
        address = f"{WEBHOOKS}deliveries/{delivery.pk}/"

        waiting = browser.get(address, headers={"HX-Request": "true"}).content.decode()
        record(acquire(at=now + timedelta(seconds=1)), DELIVERED, at=now)
        over = browser.get(address, headers={"HX-Request": "true"}).content.decode()

        assert "data-poll" in waiting
        assert "<html" not in waiting
        assert "data-poll" not in over

    def test_is_resent(self, browser, ada, now):
        delivery = make_delivery(
            make_endpoint(business=ada.business), state=Delivery.State.DEAD, next_attempt_at=None
        )

        assert ">Stopped</span>" in browser.get(f"{WEBHOOKS}deliveries/{delivery.pk}/").content.decode()
        browser.post(f"{WEBHOOKS}deliveries/{delivery.pk}/replay/")

        assert ">Retrying</span>" in browser.get(f"{WEBHOOKS}deliveries/{delivery.pk}/").content.decode()
        delivery.refresh_from_db()
        assert (delivery.state, delivery.is_manual) == (Delivery.State.WAITING, True)

    def test_says_after_resending_that_the_endpoint_is_failing(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        delivery = make_delivery(endpoint, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now - timedelta(minutes=59))
        Delivery.objects.update(state=Delivery.State.DEAD, next_attempt_at=None)

        shown = browser.post(f"{WEBHOOKS}deliveries/{delivery.pk}/replay/", follow=True)

        since = timezone.localtime(now - timedelta(minutes=59), ada.business.zone)
        [said] = shown.context["messages"]
        assert said.level_tag == "warning"
        assert str(said).startswith(
            "Resending with the same ID and body, signed with the current key. "
            f"Your endpoint has been failing since {since:%-d %b, %H:%M}."
        )

    def test_says_nothing_about_an_endpoint_that_accepts_events(self, browser, ada, now):
        delivery = make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=1))
        record(acquire(at=now), DELIVERED, at=now)

        shown = browser.post(f"{WEBHOOKS}deliveries/{delivery.pk}/replay/", follow=True)

        assert [message.level_tag for message in shown.context["messages"]] == ["success"]


class TestRange:
    def test_is_counted_before_resending(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_deliveries(endpoint, 3, at=now, state=Delivery.State.DEAD, next_attempt_at=None)
        today = timezone.localdate(now, ada.business.zone)
        form = {"state": "dead", "since": today, "until": today}

        assert browser.get(f"{WEBHOOKS}replay/", form).context["count"] == 3
        assert not Delivery.objects.filter(state=Delivery.State.WAITING).exists()
        browser.post(f"{WEBHOOKS}replay/", form)
        assert Delivery.objects.filter(state=Delivery.State.WAITING).count() == 3
