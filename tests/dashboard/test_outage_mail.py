"""Owners and developers receive one email when an endpoint has failed for thirty minutes, and one when it recovers."""

import time
from datetime import timedelta
from functools import partial
from smtplib import SMTPServerDisconnected

import pytest
from django.db import connection

from dashboard.webhooks.endpoints import outage_mail
from tests.factories import BusinessFactory, MemberFactory
from tests.racing import racers
from tests.webhooks.rows import DELIVERED, FAILED, NOON, acquire, make_delivery, make_endpoint, record
from webhooks.endpoints import outage_notices
from webhooks.models import Delivery, Endpoint, OpenOutage

URL = "https://ada:secret@shop.example/hooks?token=abc"
HALF_HOUR = timedelta(minutes=30)
MINUTE = timedelta(minutes=1)


def failing_endpoint(**changes):
    business = BusinessFactory(name="Ada Books")
    for role in ("owner", "developer", "finance", "viewer"):
        MemberFactory(business=business, role=role, user__email=f"{role}@example.com")
    endpoint = make_endpoint(business=business, url=URL, **changes)
    make_delivery(endpoint)
    record(acquire(), FAILED)
    return endpoint


def mail(after):
    return outage_mail.mail_due(now=NOON + after)


def succeed(endpoint, after):
    make_delivery(endpoint, at=NOON + after)
    record(acquire(at=NOON + after)[-1:], DELIVERED, at=NOON + after)


@pytest.mark.django_db
class TestMail:
    def test_is_sent_once_after_thirty_minutes(self, mailoutbox):
        failing_endpoint()

        assert [mail(after) for after in (MINUTE, HALF_HOUR - MINUTE, HALF_HOUR, 2 * HALF_HOUR)] == [
            0,
            0,
            1,
            0,
        ]

        (sent,) = mailoutbox
        assert sorted(sent.to) == ["developer@example.com", "owner@example.com"]
        assert sent.subject == "Webhook endpoint of Ada Books is failing"
        assert "has been failing since 1 January 2026, 12:00 UTC" in sent.body
        assert "Endpoint: https://shop.example/hooks\n" in sent.body
        assert "Last response: 500 Internal Server Error in 3 ms\n" in sent.body
        assert "Waiting: 1 delivery\n" in sent.body
        assert "/dashboard/webhooks/" in sent.body
        assert "secret" not in sent.body
        assert "abc" not in sent.body

    def test_is_sent_once_after_a_recovery(self, mailoutbox):
        endpoint = failing_endpoint()
        mail(HALF_HOUR)
        succeed(endpoint, HALF_HOUR + MINUTE)

        assert [mail(HALF_HOUR + 2 * MINUTE), mail(2 * HALF_HOUR)] == [1, 0]

        assert mailoutbox[-1].subject == "Webhook endpoint of Ada Books accepts events again"
        assert "accepted at 1 January 2026, 12:31 UTC" in mailoutbox[-1].body
        assert not OpenOutage.objects.exists()

    def test_is_not_sent_again_if_another_url_fails_too(self, mailoutbox):
        endpoint = failing_endpoint()
        mail(HALF_HOUR)
        Endpoint.objects.update(url_changed_at=NOON + HALF_HOUR + MINUTE)
        record(acquire(at=NOON + 2 * HALF_HOUR), FAILED, at=NOON + 2 * HALF_HOUR)

        assert [mail(2 * HALF_HOUR + MINUTE), mail(4 * HALF_HOUR)] == [0, 0]
        succeed(endpoint, 5 * HALF_HOUR)
        assert mail(5 * HALF_HOUR + MINUTE) == 1
        assert "accepts events again" in mailoutbox[-1].subject

    def test_is_sent_again_for_the_next_outage(self, mailoutbox):
        endpoint = failing_endpoint()
        mail(HALF_HOUR)
        succeed(endpoint, HALF_HOUR + MINUTE)
        mail(HALF_HOUR + 2 * MINUTE)
        make_delivery(endpoint, at=NOON + 2 * HALF_HOUR)
        record(acquire(at=NOON + 2 * HALF_HOUR), FAILED, at=NOON + 2 * HALF_HOUR)

        assert [mail(2 * HALF_HOUR + MINUTE), mail(3 * HALF_HOUR)] == [0, 1]
        assert len(mailoutbox) == 3

    def test_is_not_sent_for_an_outage_that_ended_before(self, mailoutbox):
        endpoint = failing_endpoint()
        mail(MINUTE)
        succeed(endpoint, 20 * MINUTE)

        assert [mail(HALF_HOUR), mail(2 * HALF_HOUR)] == [0, 0]

    def test_is_not_sent_for_a_disabled_endpoint(self, mailoutbox):
        failing_endpoint()
        Endpoint.objects.update(enabled=False)

        assert mail(HALF_HOUR) == 0

    def test_is_not_sent_for_test_events(self, mailoutbox):
        failing_endpoint()
        Delivery.objects.update(subject=None, state=Delivery.State.TEST_FAILED)

        assert mail(HALF_HOUR) == 0

    def test_remembers_the_outage_after_all_deliveries_have_stopped(self, mailoutbox):
        endpoint = failing_endpoint()
        mail(HALF_HOUR)
        Delivery.objects.update(state=Delivery.State.DEAD, next_attempt_at=None)

        assert mail(2 * HALF_HOUR) == 0
        succeed(endpoint, 3 * HALF_HOUR)
        assert mail(3 * HALF_HOUR + MINUTE) == 1

    def test_is_retried_after_the_mail_server_failed(self, mailoutbox, monkeypatch):
        failing_endpoint()
        with monkeypatch.context() as patched:
            patched.setattr("kit.mail.send_mail", _raise)
            assert mail(HALF_HOUR) == 0

        assert [mail(HALF_HOUR + MINUTE), mail(HALF_HOUR + outage_notices.LEASE)] == [0, 1]

    def test_is_sent_outside_the_transaction(self, mailoutbox, monkeypatch):
        failing_endpoint()
        depths = []
        monkeypatch.setattr("kit.mail.send_mail", lambda *args: depths.append(len(connection.savepoint_ids)))
        before = len(connection.savepoint_ids)
        mail(HALF_HOUR)

        assert depths == [before]


def _raise(*args):
    raise SMTPServerDisconnected


@pytest.mark.django_db(transaction=True)
class TestRace:
    def test_sends_one_mail_from_two_workers(self, mailoutbox, monkeypatch):
        """Without the lock, both read the outage before either leases its notice."""
        failing_endpoint()
        outage_mail.mail_due(now=NOON + MINUTE)
        read = outage_notices.outage_of

        def slow(*endpoint):
            found = read(*endpoint)
            time.sleep(0.5)
            return found

        monkeypatch.setattr(outage_notices, "outage_of", slow)
        with racers(2) as started:
            results = started.race(*[partial(outage_mail.mail_due, now=NOON + HALF_HOUR)] * 2)

        assert sorted(results) == [0, 1]
        assert len(mailoutbox) == 1
