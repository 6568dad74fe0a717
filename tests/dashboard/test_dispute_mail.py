"""Owners and finance get an e-mail at the moments of a dispute's events, once, subscribed or not."""

import time
from datetime import timedelta
from functools import partial

import pytest
from django.core.mail import send_mail
from django.db import connection
from django.utils import timezone

from dashboard.disputes.mail import KEPT, LEASE, mail_due
from disputes.models import DisputeMail
from kit import mail
from merchants.models import Member
from tests.disputed import disputed, every_event_of_disputes, payment_of
from tests.factories import MemberFactory
from tests.racing import racers

pytestmark = pytest.mark.django_db
PLAIN = timedelta(seconds=1)


@pytest.fixture
def people(ada):
    for role in Member.Role:
        MemberFactory(business=ada.business, role=role, user__email=f"{role}@example.com")
    MemberFactory(business=ada.business, role=Member.Role.OWNER, user__is_active=False)


def send(*, after=PLAIN):
    return mail_due(now=timezone.now() + after)


def fail(*_):
    raise ConnectionRefusedError


def test_tells_owners_and_finance_what_happened(people, api, mailoutbox):
    every_event_of_disputes(payment_of(api))

    assert send() == 4

    assert [one.subject.partition(":")[0] for one in mailoutbox] == [
        "New dispute",
        "Respond to this dispute soon",
        "Dispute changed",
        "Dispute ended, won",
    ]
    assert {tuple(one.to) for one in mailoutbox} == {("owner@example.com", "finance@example.com")}
    assert send() == 0


def test_says_what_to_do_and_where(people, api, mailoutbox):
    dispute = disputed(payment_of(api))

    send()

    body = mailoutbox[0].body
    for text in ("6 days left", "NGN 500.00", dispute.case_number, f"/dashboard/disputes/{dispute.pk}/"):
        assert text in body, text


def test_tries_again_after_a_failure_of_the_mail_server(people, api, mailoutbox, monkeypatch):
    disputed(payment_of(api))
    monkeypatch.setattr(mail, "send_mail", fail)
    assert send() == 0
    monkeypatch.setattr(mail, "send_mail", send_mail)
    assert send() == 0  # leased

    assert send(after=LEASE + 2 * PLAIN) == 1

    assert len(mailoutbox) == 1


def test_gives_up_after_days(people, api, monkeypatch):
    disputed(payment_of(api))
    monkeypatch.setattr(mail, "send_mail", fail)
    send(after=KEPT + PLAIN)
    assert not DisputeMail.objects.exists()


def test_is_sent_outside_of_database_transactions(people, api, monkeypatch):
    depths = []
    disputed(payment_of(api))
    before = len(connection.savepoint_ids)
    monkeypatch.setattr(mail, "send_mail", lambda *_: depths.append(len(connection.savepoint_ids)))
    send()
    assert depths == [before]


@pytest.mark.django_db(transaction=True)
def test_sends_one_mail_from_two_workers(people, api, mailoutbox, monkeypatch):
    """Without the condition of the lease, both send what both have read."""
    disputed(payment_of(api))

    def slow(*arguments):
        time.sleep(0.5)
        return send_mail(*arguments)

    monkeypatch.setattr(mail, "send_mail", slow)
    with racers(2) as started:
        results = started.race(*[partial(mail_due, now=timezone.now() + PLAIN)] * 2)

    assert sorted(results) == [0, 1]
    assert len(mailoutbox) == 1
