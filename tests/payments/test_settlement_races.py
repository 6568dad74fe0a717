"""Settlement, refunds and decisions at the same moment. Each test says which guard it watches."""

from functools import partial

import pytest
from django.db.models import Count, Sum
from django.utils import timezone

from ledger import services as ledger
from ledger.models import Entry
from payments.models import SettlementBatch, SettlementItem, Transaction
from payments.services import batch_decisions, batches, refunds
from tests import orders
from tests.factories import BusinessFactory
from tests.racing import racers
from tests.settling import STAFF, decide, settle
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(batches, "CHUNK", 2)


def pay(business, count=1, **changes):
    return [captured_payment(business=business, now=timezone.now(), **changes) for _ in range(count)]


def give_back(payment, amount):
    request = {"reference": orders.new_reference("rf"), "amount": amount}
    return refunds.refund(transaction=payment, request=request, now=timezone.now())


def live_payments():
    return SettlementItem.objects.filter(is_live=True, operation=None)


class TestSettle:
    def test_by_three_operators_at_once_makes_one_batch(self, business):
        """Guards the lock on the batch being built, and the constraint that there is one."""
        with racers(3) as threads:
            for turn in range(1, 16):
                pay(business, 5)

                threads.race(settle, settle, settle)

                assert SettlementBatch.objects.count() == turn
                assert set(SettlementBatch.objects.values_list("state", "payments_count")) == {("pending", 5)}
                assert live_payments().count() == Transaction.objects.count() == 5 * turn
        twice = live_payments().values("transaction").annotate(times=Count("id")).filter(times__gt=1)
        assert not twice.exists()

    def test_while_payments_come_in_leaves_none_behind_for_ever(self, business):
        """Guards that a batch is complete only when it found nothing more."""
        with racers(3) as threads:
            for _ in range(10):
                threads.race(settle, partial(pay, business, 3), partial(pay, business, 3))
            settle()

        assert set(Transaction.objects.values_list("settle_status", flat=True)) == {"pending"}
        assert live_payments().count() == 60

    def test_and_a_refund_at_the_same_moment_net_the_refund_once(self, business):
        """Guards that refunds are netted when the batch is complete, and by no two batches."""
        netted_at_once = set()
        with racers(2) as threads:
            for turn in range(1, 31):
                (payment,) = pay(business, amount=100_000)

                made, _ = threads.race(settle, partial(give_back, payment, 10_000))
                netted_at_once.add(made[0].refunds)

                pay(business)
                settle()
                netted = SettlementItem.objects.aggregate(sum=Sum("refunded"))["sum"]
                assert netted == 10_000 * turn
        assert netted_at_once <= {0, 10_000, 20_000}


class TestDecisions:
    def test_of_two_people_at_once_are_one(self, business):
        """Guards the lock in `batch_moves.lock`."""
        with racers(2) as threads:
            for _ in range(15):
                pay(business)
                (batch,) = settle()

                threads.race(partial(decide_on, batch, "approve"), partial(decide_on, batch, "reject"))

                batch.refresh_from_db()
                assert batch.transitions.count() == 3
                assert set(states_of(batch)) == {batch.state}
                if batch.state == "rejected":
                    settle()

    def test_to_release_twice_at_once_pay_once(self, business):
        """Guards the lock in `batch_moves.lock`, and the unique cause of the entry."""
        with racers(3) as threads:
            for turn in range(1, 16):
                pay(business, amount=50_000)
                (batch,) = settle()
                decide(batch, "approve")

                threads.race(*[partial(decide_on, batch, "release")] * 3)

                (naira, *_) = ledger.balances(business)
                assert (naira.pending, naira.available) == (0, 49_250 * turn)
        assert Entry.objects.filter(kind=Entry.Kind.SETTLEMENT_RELEASED).count() == 15

    def test_and_refunds_at_once_do_not_wait_for_each_other_for_ever(self, business):
        """Guards the lock order: payments first, ledger accounts last."""
        with racers(3) as threads:
            for turn in range(1, 16):
                payments = pay(business, 4, amount=50_000)
                (batch,) = settle()
                decide(batch, "approve")

                answers = threads.race(
                    partial(decide_on, batch, "release"),
                    *[partial(give_back, payment, 1_000) for payment in payments[:2]],
                )

                assert not [one for one in answers if isinstance(one, Exception)]
                (naira, *_) = ledger.balances(business)
                assert naira.pending + naira.available == turn * (4 * 49_250 - 2_000)


def decide_on(batch, decision):
    reason = {"reason": "wrong"} if decision == "reject" else {}
    return getattr(batch_decisions, decision)(batch.pk, actor=STAFF, now=timezone.now(), **reason)


def states_of(batch):
    return Transaction.objects.filter(pk__in=batch.items.values("transaction")).values_list(
        "settle_status", flat=True
    )
