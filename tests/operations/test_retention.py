"""Purging after the retention period. Unfinished rows and money are kept."""

import json
from datetime import timedelta
from importlib import import_module
from io import StringIO

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings as configured
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from merchants.models import AuditEntry, Invitation, LimitSlot, Nonce
from operations import tasks
from payments.api.serializers import SourceSerializer
from payments.models import Checkout, LinkCardAttempt, LinkDay, PaymentLink
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkouts import Details
from tests import orders
from tests.factories import ApiKeyFactory, BusinessFactory, UserFactory
from tests.webhooks.rows import ADA as ADA_LONG_AGO
from tests.webhooks.rows import acquire, make_deliveries, make_endpoint, replay
from webhooks import purge as retention
from webhooks import services
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db

DELIVERED, DEAD, SKIPPED = Delivery.State.DELIVERED, Delivery.State.DEAD, Delivery.State.SKIPPED
WAITING, HELD = Delivery.State.WAITING, Delivery.State.HELD


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Use small batches, so that every purge takes several."""
    for module in (
        "kit.db.rows.batched_purge",
        "merchants.api.nonces",
        "webhooks.purge",
        "operations.retention",
        "payments.services.links.link_retention",
    ):
        monkeypatch.setattr(import_module(module), "PIECE", 2)


def ago(**length):
    return timezone.now() - timedelta(**length)


def purge(**options):
    output = StringIO()
    call_command("purge", stdout=output, stderr=StringIO(), **options)
    return output.getvalue()


@pytest.fixture
def endpoint(db):
    return make_endpoint()


def delivery(endpoint, state, *, days, count=1):
    """Create deliveries of the given age in days, each with an attempt of the same time."""
    at = ago(days=days)
    changes = {"state": state, "delivered_at": at if state == DELIVERED else None}
    rows = make_deliveries(endpoint, count, at=at, **changes)
    Attempt.objects.bulk_create(
        Attempt(delivery=row, number=1, started_at=at, total_ms=1, status=200, excerpt=b"Ada paid")
        for row in rows
    )
    return rows


class TestPayloads:
    @pytest.mark.parametrize("state", [DELIVERED, DEAD, SKIPPED])
    def test_are_purged_with_the_responses_when_old_and_finished(self, endpoint, state):
        rows = delivery(endpoint, state, days=91, count=5)

        purge()

        for row in rows:
            row.refresh_from_db()
            (attempt,) = row.attempts.all()
            assert (row.body, row.state) == ("", state)
            assert (bytes(attempt.excerpt), attempt.status) == (b"", 200)

    @pytest.mark.parametrize(("state", "days"), [(WAITING, 400), (HELD, 400), (DELIVERED, 89)])
    def test_are_kept_while_recent_or_unfinished(self, endpoint, state, days):
        (row,) = delivery(endpoint, state, days=days)

        purge()

        row.refresh_from_db()
        assert json.loads(row.body)["event_id"] == str(row.pk)
        assert bytes(row.attempts.get().excerpt) == b"Ada paid"

    def test_cannot_be_resent_after_the_purge(self, endpoint):
        (row,) = delivery(endpoint, DEAD, days=91)
        purge()

        assert replay(row, at=timezone.now()) == [False]
        assert not services.replayable(business=endpoint.business, now=timezone.now()).exists()
        assert acquire(at=timezone.now()) == []
        row.refresh_from_db()
        assert row.state == DEAD

    def test_of_a_delivery_being_resent_are_kept(self, endpoint):
        (row,) = delivery(endpoint, DEAD, days=91)
        assert replay(row, at=timezone.now()) == [True]

        purge()

        assert [each.body for each in acquire(at=timezone.now())] == [row.body]

    def test_cannot_be_missing_if_a_delivery_is_to_be_sent(self, endpoint):
        (row,) = delivery(endpoint, DEAD, days=91)
        purge()

        with pytest.raises(IntegrityError), transaction.atomic():
            Delivery.objects.filter(pk=row.pk).update(state=WAITING, next_attempt_at=timezone.now())


class TestAttempts:
    def test_are_purged_much_later_and_the_delivery_is_kept(self, endpoint):
        old = delivery(endpoint, DELIVERED, days=366, count=5)
        delivery(endpoint, DELIVERED, days=364)

        purge()

        assert Delivery.objects.filter(pk__in=[row.pk for row in old]).count() == 5
        assert Attempt.objects.count() == 1

    def test_of_unfinished_deliveries_are_kept_and_do_not_stop_the_purge(self, endpoint):
        delivery(endpoint, HELD, days=500, count=5)
        delivery(endpoint, DEAD, days=400, count=3)

        purge()

        assert {attempt.delivery.state for attempt in Attempt.objects.select_related("delivery")} == {HELD}

    def test_are_read_only_up_to_the_last_old_one(self, endpoint, django_assert_max_num_queries):
        delivery(endpoint, DELIVERED, days=1, count=50)

        with django_assert_max_num_queries(2):
            assert list(retention.purge_attempts(now=timezone.now())) == []


class TestOtherRows:
    def test_nonces_are_purged_after_an_hour(self):
        key = ApiKeyFactory()
        for number, minutes in enumerate((61, 62, 63, 59)):
            Nonce.objects.create(api_key=key, nonce=f"n{number}", used_at=ago(minutes=minutes))

        purge()

        assert [nonce.nonce for nonce in Nonce.objects.all()] == ["n3"]

    def test_sessions_and_their_entries_are_purged_when_they_expire(self, client):
        person = UserFactory()
        for key, hours in (("ended", 1), ("alive", -1)):
            Session.objects.create(session_key=key, session_data="", expire_date=ago(hours=hours))
            UserSession.objects.create(user=person, session_key=key, ip="127.0.0.1", user_agent="")

        purge()

        assert [one.session_key for one in Session.objects.all()] == ["alive"]
        assert [one.session_key for one in UserSession.objects.all()] == ["alive"]

    def test_invitations_are_purged_long_after_their_end(self):
        business = BusinessFactory()
        ends = {"taken": (91, 90), "ran-out": (None, 91), "young": (89, 85), "open": (None, -1)}
        for name, (ended, expires) in ends.items():
            Invitation.objects.create(
                business=business,
                email=f"{name}@example.com",
                role="viewer",
                token_hash=name,
                created_at=ago(days=100),
                expires_at=ago(days=expires),
                ended_at=None if ended is None else ago(days=ended),
            )

        purge()

        assert {one.token_hash for one in Invitation.objects.all()} == {"young", "open"}

    def test_slots_of_limits_are_purged_when_they_expire(self):
        for number, hours in enumerate([3, 2, 1, -1]):
            LimitSlot.objects.create(subject="address", number=number, expires_at=ago(hours=hours))

        purge()

        assert [slot.number for slot in LimitSlot.objects.all()] == [3]

    def test_the_audit_trail_is_kept(self, endpoint):
        services.rotate_hash_key(business=endpoint.business, actor=ADA_LONG_AGO, now=ago(days=4000))

        purge()

        assert AuditEntry.objects.count() == 1


class TestCheckouts:
    """What payers entered at payment links goes; links and payments stay."""

    @pytest.fixture
    def link(self, api):
        api.post("/api/payment-links", orders.payment_link())
        return PaymentLink.objects.select_related("business").get()

    def checkout(self, link, *, days, number=""):
        details = Details(
            link.amount,
            1,
            "card",
            name="Ada Obi",
            email="ada@x.example",
            phone="08031234567",
            answers={"a": "b"},
        )
        made = checkouts.begin(
            link=link, details=details, address="192.0.2.1", network="192.0.2.1", now=timezone.now()
        )
        if number:
            card = SourceSerializer().run_validation(orders.card_source(pan=number))
            checkouts.pay_by_card(checkout=made, card=card, attempt_number=0, now=timezone.now())
        Checkout.objects.filter(pk=made.pk).update(created_at=ago(days=days))
        return made.pk

    def test_without_an_attempt_are_deleted_after_30_days(self, link):
        old = {self.checkout(link, days=31) for _ in range(3)}
        young = self.checkout(link, days=29)

        purge()

        assert set(Checkout.objects.values_list("pk", flat=True)) == {young}
        assert old

    @pytest.mark.parametrize(
        ("number", "days", "kept"),
        [
            (orders.DECLINED_CARD, 29, ("Ada Obi", "ada@x.example", "08031234567", {"a": "b"}, "192.0.2.1")),
            (orders.DECLINED_CARD, 31, ("", "", "", {}, None)),
            (
                orders.CHALLENGED_CARD,
                31,
                ("Ada Obi", "ada@x.example", "08031234567", {"a": "b"}, "192.0.2.1"),
            ),
            (
                orders.FRICTIONLESS_CARD,
                31,
                ("Ada Obi", "ada@x.example", "08031234567", {"a": "b"}, "192.0.2.1"),
            ),
            (orders.FRICTIONLESS_CARD, 401, ("Ada Obi", "ada@x.example", "", {}, None)),
        ],
    )
    def test_with_attempts_lose_what_is_no_longer_needed(self, link, number, days, kept):
        key = self.checkout(link, days=days, number=number)

        purge()

        row = Checkout.objects.get(pk=key)
        assert (row.name, row.email, row.phone, row.answers, row.address) == kept
        assert row.attempts.count() == 1

    def test_hashes_of_cards_and_counts_go(self, link):
        self.checkout(link, days=1, number=orders.DECLINED_CARD)
        LinkCardAttempt.objects.update(ends_at=ago(hours=1))
        LinkDay.objects.update(day=ago(days=401).date())

        purge()

        assert not LinkCardAttempt.objects.exists()
        assert not LinkDay.objects.exists()


class TestCommand:
    def test_counts_the_same_as_it_deletes(self, endpoint):
        delivery(endpoint, DEAD, days=91, count=3)

        rehearsed, done = json.loads(purge(dry_run=True, json=True)), json.loads(purge(json=True))

        assert (rehearsed.pop("dry_run"), done.pop("dry_run")) == (True, False)
        assert rehearsed == done
        assert rehearsed["payloads"] == 3

    def test_changes_nothing_in_a_dry_run(self, endpoint):
        (row,) = delivery(endpoint, DEAD, days=91)

        assert "Would delete 1 body of a finished delivery." in purge(dry_run=True)

        row.refresh_from_db()
        assert row.has_payload


class TestTask:
    def test_deletes_the_same_as_the_command(self, endpoint):
        (row,) = delivery(endpoint, DEAD, days=91)

        tasks.purge()

        row.refresh_from_db()
        assert not row.has_payload

    def test_is_in_the_schedule(self):
        schedule = import_module("config.celery").app.conf.beat_schedule

        assert "config.purge" in {entry["task"] for entry in schedule.values()}
        assert configured.WEBHOOK_PAYLOAD_RETENTION == 90
