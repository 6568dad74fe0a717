"""Processing events of providers: nothing but a query follows, and only its answer changes anything."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from structlog.testing import capture_logs

from connectors.models import ProviderEvent
from connectors.services import event_processing, event_subjects
from connectors.services.event_processing import INTERVALS
from disputes.models import CaseQuery
from kit.time.time_ordered_ids import new_id
from payments import rails
from payments.models import CardOperation, Transaction, WatchedAuthorisation
from payments.rails.protocol import Reverses
from payments.rules.outcomes import CANCELLED
from payments.services.rails.rail_queries import query_leases
from payments.services.rails.rail_queries.query_leases import lane_of
from payments.services.transactions import transitions
from payments.services.transactions.transitions import Cause
from payments.tasks import look_at_watches
from tests.connectors.provider_webhooks import (
    CHECKOUT,
    PAYSTACK,
    SlowCheckout,
    about,
    checkout_event,
    paystack_event,
    process,
    send,
)
from tests.racing import kept_locked, racers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("providers"), pytest.mark.servers]

Result = ProviderEvent.Result


@pytest.fixture
def silent(monkeypatch):
    """Make every query say that the outcome isn't known."""
    monkeypatch.setitem(rails.ACQUIRERS, "checkout", "tests.connectors.provider_webhooks.SilentCheckout")


def status_of(row):
    return type(row).objects.get(pk=row.pk).status


def due_now():
    """Let the next attempt be due."""
    ProviderEvent.objects.exclude(next_attempt_at=None).update(next_attempt_at=timezone.now())


def finish():
    """Process events until none waits."""
    while ProviderEvent.objects.exclude(next_attempt_at=None).exists():
        due_now()
        assert process()
    return ProviderEvent.objects.latest("processed_at")


def ago(seconds):
    return timezone.now() - timedelta(seconds=seconds)


class TestQuery:
    def test_payment_is_queried_at_once(self, client, payment):
        send(client, CHECKOUT, about(payment))

        process()

        assert status_of(payment) == "success"

    def test_event_records_what_its_query_changed(self, client, payment):
        send(client, CHECKOUT, about(payment))

        event = finish()

        assert (event.result, event.transaction) == (Result.QUERIED, payment)
        assert "status: pending → success" in event.outcome
        assert event.next_attempt_at is None

    def test_the_answer_decides_and_not_the_event(self, client, payment):
        send(client, CHECKOUT, about(payment, "payment_declined", response_code="20005", approved=False))

        finish()

        assert status_of(payment) == "success"

    def test_payout_is_queried_at_once(self, client, payout):
        send(
            client,
            PAYSTACK,
            paystack_event("transfer.failed", reference=payout.pk.hex, integration={"id": 463433}),
        )

        process()

        assert status_of(payout) == "success"

    def test_refund_is_queried_at_once(self, api, client, payment):
        send(client, CHECKOUT, about(payment))
        finish()
        api.post("/api/payments/order-1/refunds", {"reference": "refund-1", "amount": 100})
        refund = CardOperation.objects.get()
        send(client, CHECKOUT, about(refund, "payment_refunded", event_id="evt_bbbbbbbbbbbbbbbbbbbbbbbbbb"))

        event = finish()

        assert status_of(refund) == "success"
        assert (event.operation, event.transaction) == (refund, payment)
        assert "refund: pending → success" in event.outcome

    @pytest.mark.parametrize(("paid", "alarms"), [("act_one", False), ("act_two", True)])
    def test_refund_that_is_paid_beside_ours_alarms_staff(self, api, client, payment, paid, alarms):
        send(client, CHECKOUT, about(payment))
        finish()
        api.post("/api/payments/order-1/refunds", {"reference": "refund-1", "amount": 100})
        CardOperation.objects.update(acquirer_reference="act_one")
        refund = CardOperation.objects.get()
        send(client, CHECKOUT, about(refund, "payment_refunded", event_id="evt_bbbbbbbbbbbbbbbbbbbbbbbbbb"))
        finish()
        told = about(refund, "payment_refunded", event_id="evt_cccccccccccccccccccccccccc", action_id=paid)
        send(client, CHECKOUT, told)

        with capture_logs() as logs:
            finish()

        assert ("refund paid twice" in [each["event"] for each in logs]) == alarms

    def test_operations_of_a_named_payment_are_queried_too(self, api, client, payment):
        send(client, CHECKOUT, about(payment))
        finish()
        api.post("/api/payments/order-1/refunds", {"reference": "refund-1", "amount": 100})
        send(client, CHECKOUT, about(payment, "payment_refunded", event_id="evt_bbbbbbbbbbbbbbbbbbbbbbbbbb"))

        finish()

        assert status_of(CardOperation.objects.get()) == "success"

    def test_watched_payment_is_queried_at_once(self, client, payment, monkeypatch):
        monkeypatch.setattr(SlowCheckout, "reverses", Reverses.BY_REFUND)
        transitions.finish(payment, CANCELLED, cause=Cause.MERCHANT, now=timezone.now())
        send(client, CHECKOUT, about(payment, "payment_captured"))

        event = finish()
        look_at_watches()

        assert (event.result, event.outcome) == (Result.QUERIED, "queried about a late charge")
        watch = WatchedAuthorisation.objects.get()
        assert (watch.transaction, watch.returned_at is not None) == (payment, True)

    def test_event_before_the_answer_waits_for_the_call_that_is_in_flight(self, client, payment):
        query_leases.lease(lane_of(payment), limit=1, at=timezone.now(), among=[payment.pk])
        send(client, CHECKOUT, about(payment))

        process()

        event = ProviderEvent.objects.get()
        assert status_of(payment) == "pending"
        assert (event.result, event.asked_at) == (Result.WAITING, None)
        Transaction.objects.update(query_leased_until=None)
        assert finish().result == Result.QUERIED
        assert status_of(payment) == "success"

    def test_query_that_began_before_the_event_does_not_count(self, client, payment):
        """Its answer may be older than the event, and schedules the next query in half a minute."""
        query_leases.lease(lane_of(payment), limit=1, at=timezone.now(), among=[payment.pk])
        send(client, CHECKOUT, about(payment))
        process()
        Transaction.objects.update(
            query_leased_until=None, next_query_at=timezone.now() + timedelta(seconds=30)
        )

        due_now()
        process()

        assert status_of(payment) == "success"

    def test_payment_that_waits_for_its_payer_is_queried_after_that(self, client, payment):
        Transaction.objects.update(awaiting=Transaction.Awaiting.PAYER)
        send(client, CHECKOUT, about(payment))
        process()
        Transaction.objects.update(awaiting=Transaction.Awaiting.RAIL)

        due_now()
        process()

        assert status_of(payment) == "success"

    def test_outcome_that_stays_unknown_is_said(self, client, payment, silent):
        send(client, CHECKOUT, about(payment))

        event = finish()

        assert (event.result, event.outcome) == (Result.QUERIED, "nothing changed")
        assert status_of(payment) == "pending"

    def test_query_that_is_not_answered_is_awaited_at_growing_intervals(self, client, payment):
        send(client, CHECKOUT, about(payment))
        waits = []

        while (event := ProviderEvent.objects.get()).next_attempt_at is not None:
            due_now()
            before = timezone.now()
            event_processing.process_due()  # and the rail isn't queried
            event.refresh_from_db()
            if event.next_attempt_at is not None:
                waits.append(round((event.next_attempt_at - before).total_seconds()))

        assert waits == [each.total_seconds() for each in INTERVALS]
        assert event.result == Result.NOT_ANSWERED
        assert Transaction.objects.get().next_query_at <= timezone.now()

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows.")
    def test_locked_payment_is_asked_about_later(self, client, payment):
        send(client, CHECKOUT, about(payment))
        with kept_locked(payment):
            event_processing.process_due()

        assert ProviderEvent.objects.get().asked_at is None
        finish()
        assert status_of(payment) == "success"


class TestNoQuery:
    @pytest.mark.parametrize("kind", ["payment_approved", "payment_refunded"])
    def test_known_outcome_needs_no_query(self, client, payment, kind):
        send(client, CHECKOUT, about(payment))
        finish()

        send(client, CHECKOUT, about(payment, kind, event_id="evt_bbbbbbbbbbbbbbbbbbbbbbbbbb"))

        assert finish().result == Result.NOTHING_OPEN

    @pytest.mark.parametrize("kind", ["dispute_received", "dispute_won"])
    def test_case_of_a_dispute_is_queried(self, client, payment, kind):
        send(client, CHECKOUT, checkout_event(kind, payment_reference=about(payment)["data"]["reference"]))

        event = finish()

        assert (event.result, event.transaction) == (Result.NOT_ANSWERED, payment)
        assert CaseQuery.objects.get(connector="checkout").case_number == event.references[1]
        assert status_of(payment) == "pending"

    @pytest.mark.parametrize(
        ("path", "document"),
        [
            (CHECKOUT, checkout_event("authentication_started")),
            (CHECKOUT, checkout_event("x" * 500)),
            (PAYSTACK, paystack_event("invoice.create")),
            (PAYSTACK, {}),
        ],
    )
    def test_unknown_kind_is_stored(self, client, path, document):
        send(client, path, document)

        assert finish().result == Result.UNKNOWN_KIND

    @pytest.mark.parametrize(
        ("path", "document"),
        [
            (CHECKOUT, {"processing_channel_id": "pc_of-another-system"}),
            (PAYSTACK, {"integration": 100073}),
            (PAYSTACK, {"integration": {"id": 100073, "is_live": True}}),
        ],
    )
    def test_event_of_another_account_is_stored_without_a_query(
        self, client, payment, payout, path, document
    ):
        if path == CHECKOUT:
            send(client, path, about(payment, **document))
        else:
            send(client, path, paystack_event(reference=payout.pk.hex, **document))

        assert finish().result == Result.OTHER_ACCOUNT
        assert {status_of(payment), status_of(payout)} == {"pending"}

    @pytest.mark.parametrize(
        "reference", ["", "order-1", "0" * 26, "0195b5c6d7e87f9aabbccddeeff00112", None, 7, ["a"]]
    )
    def test_references_of_others_are_nothing_of_ours(self, client, payment, reference):
        send(client, CHECKOUT, checkout_event(reference=reference))

        event = finish()

        assert (event.result, event.transaction) == (Result.NOT_OURS, None)
        assert status_of(payment) == "pending"

    def test_payment_at_another_provider_is_nothing_of_this_one(self, client, payment):
        send(client, PAYSTACK, paystack_event("charge.success", reference=payment.pk.hex))

        assert finish().result == Result.NOT_OURS
        assert status_of(payment) == "pending"


class TestRepetition:
    def test_recent_repetition_leads_to_no_query(self, client, payment, silent):
        send(client, CHECKOUT, about(payment))
        finish()

        send(client, CHECKOUT, about(payment))

        assert process() == 0

    def test_later_repetition_leads_to_another_query(self, client, payment, silent, monkeypatch):
        send(client, CHECKOUT, about(payment))
        finish()
        ProviderEvent.objects.update(asked_at=ago(11))
        monkeypatch.setitem(rails.ACQUIRERS, "checkout", "tests.connectors.provider_webhooks.SlowCheckout")

        send(client, CHECKOUT, about(payment))
        process()

        assert status_of(payment) == "success"
        assert ProviderEvent.objects.get().times_received == 2

    def test_order_of_events_does_not_matter(self, client, payment):
        kinds = [
            "payment_refunded",
            "payment_captured",
            "payment_declined",
            "payment_approved",
            "payment_pending",
        ]
        for number, kind in enumerate(kinds):
            send(client, CHECKOUT, about(payment, kind, event_id=f"evt_{number:026}"))

        finish()

        assert status_of(payment) == "success"
        assert not ProviderEvent.objects.exclude(result__in=[Result.QUERIED, Result.NOTHING_OPEN]).exists()


class TestFaults:
    def test_event_that_fails_is_retried_and_stops_no_other(self, client, payment, monkeypatch):
        def fail(event):
            if event.kind == "payment_pending":
                raise LookupError(f"no such thing as 4084084084084081 in {event.body!r}")
            return event_subjects.find_subject(event)

        monkeypatch.setattr(event_processing, "find_subject", fail)
        send(client, CHECKOUT, about(payment, "payment_pending", event_id="evt_bbbbbbbbbbbbbbbbbbbbbbbbbb"))
        send(client, CHECKOUT, about(payment))

        process()

        failed = ProviderEvent.objects.get(kind="payment_pending")
        assert status_of(payment) == "success"
        assert (failed.result, failed.attempts) == (Result.WAITING, 1)
        finish()
        failed.refresh_from_db()
        assert failed.result == Result.FAILED

    def test_event_of_a_provider_that_is_no_longer_known_ends(self):
        now = timezone.now()
        ProviderEvent.objects.create(
            id=new_id(now), provider="gone", event_key="1", kind="a", references=[], body=b"{}",
            received_at=now, last_received_at=now, next_attempt_at=now,
        )  # fmt: skip

        assert finish().result == Result.UNKNOWN_KIND


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_workers_share_what_is_due(client):
    for number in range(12):
        send(client, PAYSTACK, paystack_event("invoice.create", number=number))

    with racers(4) as running:
        made = running.race(*[event_processing.process_due] * 4)

    assert sum(made) == 12
    assert set(ProviderEvent.objects.values_list("result", "attempts")) == {(Result.UNKNOWN_KIND, 1)}


class TestRetention:
    def purge(self):
        call_command("purge", verbosity=0)

    def test_processed_events_are_deleted_after_90_days(self, client):
        for number, days in enumerate([89, 91]):
            send(client, PAYSTACK, paystack_event("invoice.create", number=number))
            finish()
            ProviderEvent.objects.filter(pk=ProviderEvent.objects.latest("pk").pk).update(
                received_at=ago(days * 86_400)
            )

        self.purge()

        assert ProviderEvent.objects.get().received_at > ago(90 * 86_400)

    def test_event_that_waits_is_kept(self, client):
        send(client, PAYSTACK, paystack_event())
        ProviderEvent.objects.update(received_at=ago(91 * 86_400))

        self.purge()

        assert ProviderEvent.objects.exists()

    def test_replay_after_the_purge_leads_to_nothing_but_a_query(self, client, payment):
        send(client, CHECKOUT, about(payment))
        finish()
        ProviderEvent.objects.update(received_at=ago(91 * 86_400))
        self.purge()

        send(client, CHECKOUT, about(payment))

        assert finish().result == Result.NOTHING_OPEN
        assert status_of(payment) == "success"
