"""Batches larger than a chunk: the state of their payments follows the decision chunk by chunk."""

from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ledger import services as ledger
from ledger.invariants import check
from ledger.models import Entry
from merchants.models import AuditEntry
from payments import tasks
from payments.invariants.registry import INVARIANTS
from payments.models import BatchTransition, SettlementBatch, SettlementItem, Transaction, Transition
from payments.services.refunds import refunds
from payments.services.settlement.batches import batch_decisions, batch_transitions, batches
from payments.services.settlement.batches.batch_transitions import StillUpdating
from tests import orders
from tests.factories import BusinessFactory
from tests.racing import racers
from tests.settling import STAFF, settle
from tests.transactions import captured_payment

PAYMENTS, CHUNK = 7, 2
DECISIONS = {"approve": "approved", "release": "released", "reject": "rejected"}


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(batch_transitions, "CHUNK", CHUNK)


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.fixture
def batch(business):
    """A pending batch of more than one chunk, with a refund."""
    paid = [captured_payment(business=business, now=timezone.now(), amount=50_000) for _ in range(PAYMENTS)]
    request = {"reference": orders.new_reference("rf"), "amount": 10_000}
    refunds.refund(transaction=paid[0], request=request, now=timezone.now())
    (made,) = settle()
    return made


def decide(batch, decision):
    arguments = {"reason": "wrong"} if decision == "reject" else {}
    return getattr(batch_decisions, decision)(batch.pk, actor=STAFF, now=timezone.now(), **arguments)


def finish(batch):
    return sum(batch_transitions.update_items(SettlementBatch.objects.filter(pk=batch.pk)))


def statuses(batch):
    payments = Transaction.objects.filter(
        pk__in=SettlementItem.objects.filter(batch=batch, operation=None).values("transaction")
    )
    return sorted(payments.values_list("settle_status", flat=True))


def broken_rules():
    return [checked.invariant.name for checked in check(INVARIANTS) if not checked.holds]


def decided(batch, *decisions):
    for decision in decisions:
        decide(batch, decision)
        finish(batch)


BEFORE = {"approve": (), "release": ("approve",), "reject": ()}


@pytest.mark.django_db
class TestDecision:
    @pytest.mark.parametrize("decision", DECISIONS)
    def test_takes_effect_at_once_and_its_payments_follow(self, batch, decision):
        decided(batch, *BEFORE[decision])
        (earlier,) = set(statuses(batch))

        decide(batch, decision)

        batch.refresh_from_db()
        assert batch.state == DECISIONS[decision]
        assert batch.is_updating
        assert set(statuses(batch)) == {earlier, batch.state}
        assert statuses(batch).count(batch.state) == CHUNK
        assert broken_rules() == []

        finish(batch)

        batch.refresh_from_db()
        assert not batch.is_updating
        assert set(statuses(batch)) == {batch.state}
        assert broken_rules() == []

    def test_to_release_moves_the_money_before_all_payments_follow(self, batch, business):
        decided(batch, "approve")

        decide(batch, "release")

        (naira, *_) = ledger.balances(business)
        assert (naira.pending, naira.available) == (0, PAYMENTS * 49_250 - 10_000)

    @pytest.mark.parametrize("decision", DECISIONS)
    def test_updates_a_chunk_per_transaction(self, batch, decision):
        decided(batch, *BEFORE[decision])
        decide(batch, decision)

        sizes = list(batch_transitions.update_items(SettlementBatch.objects.all()))

        assert sizes == [2, 2, 2]  # after the first two of seven payments and one refund

    def test_is_logged_once_for_each_payment_with_the_time_of_the_decision(self, batch):
        decided(batch, "approve")

        approved = Transition.objects.filter(attribute="settle_status", after="approved")
        assert approved.values("transaction").distinct().count() == approved.count() == PAYMENTS
        at = BatchTransition.objects.get(batch=batch, after="approved").at
        assert set(approved.values_list("before", "at")) == {("pending", at)}

    def test_waits_for_the_updates_of_the_last_one(self, batch):
        decide(batch, "approve")

        with pytest.raises(StillUpdating, match="still being updated"):
            decide(batch, "release")

        assert not Entry.objects.filter(kind=Entry.Kind.SETTLEMENT_RELEASED).exists()
        finish(batch)
        decide(batch, "release")

    def test_needs_a_number_of_statements_that_the_size_of_the_batch_does_not_change(self, business):
        counts = []
        for payments in (CHUNK + 1, 3 * CHUNK):
            for _ in range(payments):
                captured_payment(business=business, now=timezone.now())
            (batch,) = settle()
            with CaptureQueriesContext(connection) as queries:
                decide(batch, "approve")
            counts.append(len(queries))
            assert statuses(batch).count("approved") == CHUNK

        assert len(set(counts)) == 1


@pytest.mark.django_db
class TestUpdates:
    def test_are_continued_by_the_schedule(self, batch):
        decide(batch, "approve")

        tasks.update_settled_payments()

        assert set(statuses(batch)) == {"approved"}

    def test_are_continued_by_settle(self, batch):
        decide(batch, "reject")

        (second,) = settle()

        assert second.number == batch.number + 1
        assert set(statuses(batch)) == {"pending"}
        assert SettlementItem.objects.filter(batch=second).count() == PAYMENTS + 1
        assert broken_rules() == []

    def test_of_a_new_batch_are_finished_by_settle(self, batch):
        batch.refresh_from_db()

        assert not batch.is_updating
        assert set(statuses(batch)) == {"pending"}

    @pytest.mark.parametrize("decision", DECISIONS)
    def test_that_failed_between_chunks_continue_where_they_stopped(self, batch, decision):
        decided(batch, *BEFORE[decision])
        decide(batch, decision)
        steps = batch_transitions.update_items(SettlementBatch.objects.all())
        next(steps)
        steps.close()
        assert statuses(batch).count(DECISIONS[decision]) == 2 * CHUNK
        assert broken_rules() == []

        finish(batch)

        assert set(statuses(batch)) == {DECISIONS[decision]}
        moved = Transition.objects.filter(attribute="settle_status", after=DECISIONS[decision])
        assert moved.count() == PAYMENTS

    def test_that_fail_inside_a_chunk_leave_it_for_the_next_run(self, batch, monkeypatch):
        decide(batch, "approve")
        with monkeypatch.context() as patched:
            patched.setattr(SettlementBatch, "save", failing)
            with pytest.raises(RuntimeError, match="killed"):
                finish(batch)
        assert statuses(batch).count("approved") == CHUNK

        finish(batch)

        assert Transition.objects.filter(after="approved").count() == PAYMENTS

    def test_of_one_batch_that_fail_do_not_stop_the_others(self, batch, business, monkeypatch):
        decide(batch, "approve")
        for _ in range(PAYMENTS):
            captured_payment(business=business, now=timezone.now())
        (second,) = settle_only_new(business)
        decide(second, "approve")
        update = batch_transitions.set_settle_status

        def refusing(payments, to, *, now):
            if payments.filter(pk__in=batch.items.values("transaction")).exists():
                raise RuntimeError("refused")
            update(payments, to, now=now)

        monkeypatch.setattr(batch_transitions, "set_settle_status", refusing)
        tasks.update_settled_payments()

        assert set(statuses(second)) == {"approved"}
        assert statuses(batch).count("approved") == CHUNK

    def test_that_skip_a_payment_break_a_rule(self, batch):
        decide(batch, "approve")
        batch.refresh_from_db()

        SettlementBatch.objects.filter(pk=batch.pk).update(updated_through=batch.updated_through + 1)

        assert broken_rules() == ["settle_status_matches_the_batch"]

    def test_leave_a_batch_alone_that_the_previous_release_rejected(self, batch):
        """The previous release changes a batch and all its payments in one transaction, and not `updated_through`."""
        decide(batch, "approve")
        SettlementBatch.objects.filter(pk=batch.pk).update(updated_through=0)
        SettlementItem.objects.filter(batch=batch).update(is_live=False)
        before = statuses(batch)

        finish(batch)

        batch.refresh_from_db()
        assert not batch.is_updating
        assert statuses(batch) == before


def failing(*_args, **_kwargs):
    raise RuntimeError("killed")


def settle_only_new(business):
    """Settle without continuing the updates of earlier batches."""
    before = set(SettlementBatch.objects.values_list("pk", flat=True))
    today = batches.business_days.business_day(timezone.now())
    for due in batches.due(until=today, business=business):
        while batches._take_step(due.business_id, due.currency, due.day, actor="settle", now=timezone.now()):
            pass
    made = SettlementBatch.objects.exclude(pk__in=before)
    for one in made:
        finish(one)
    return made


@pytest.mark.django_db(transaction=True)
class TestConcurrently:
    @pytest.mark.parametrize("decision", DECISIONS)
    def test_two_people_decide_once_and_two_workers_update_once(self, business, decision):
        """Tests the lock of the batch in each chunk."""
        with racers(4) as threads:
            for turn in range(1, 6):
                for _ in range(PAYMENTS):
                    captured_payment(business=business, now=timezone.now(), amount=50_000)
                made = settle()
                batch = max(made, key=lambda one: one.number)
                decided(batch, *BEFORE[decision])

                answers = threads.race(
                    *[partial(decide, batch, decision)] * 2,
                    *[tasks.update_settled_payments, partial(finish, batch)],
                )
                finish(batch)

                refused = [one for one in answers if isinstance(one, Exception)]
                assert len(refused) == 1, answers
                moved = Transition.objects.filter(
                    transaction__in=batch.items.values("transaction"), after=DECISIONS[decision]
                )
                assert moved.filter(at=batch.transitions.latest("id").at).count() == batch.items.count()
                assert set(statuses(batch)) == {DECISIONS[decision]}
                audited = AuditEntry.objects.filter(
                    target=str(batch.pk), action__endswith=DECISIONS[decision]
                )
                assert audited.count() == 1
                if decision == "release":
                    (naira, *_) = ledger.balances(business)
                    assert (naira.pending, naira.available) == (0, turn * PAYMENTS * 49_250)
        assert broken_rules() == []

    def test_refunds_of_payments_during_updates_do_not_deadlock(self, business):
        """Tests the lock order: batch, payments, ledger accounts."""
        with racers(3) as threads:
            for _ in range(5):
                paid = [captured_payment(business=business, now=timezone.now()) for _ in range(PAYMENTS)]
                (batch,) = settle()
                decide(batch, "approve")

                answers = threads.race(
                    partial(finish, batch), *[partial(refund, payment) for payment in (paid[-1], paid[0])]
                )

                assert not [one for one in answers if isinstance(one, Exception)], answers
                assert set(statuses(batch)) == {"approved"}
        assert broken_rules() == []


def refund(payment):
    request = {"reference": orders.new_reference("rf"), "amount": 1_000}
    return refunds.refund(transaction=payment, request=request, now=timezone.now())
