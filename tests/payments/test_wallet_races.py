"""Concurrent use of the same money. Each test names the lock or constraint without which it fails.

RACE_ROUNDS=10000 runs the long variant of the rounds.
"""

import os
import random
import threading
import time
from collections import Counter
from functools import partial
from uuid import uuid4

import pytest
from django.db import connection
from django.db import transaction as database
from django.utils import timezone

from ledger.invariants import check
from ledger.models import Entry
from ledger.services import balances
from payments.invariants.registry import INVARIANTS
from payments.models import Tariff, Transaction, Transition
from payments.rails.protocol import RailAnswer
from payments.rules.fees import Flow
from payments.rules.outcomes import COMPLETED
from payments.services import fee_rules
from payments.services.payouts import payout_returns
from payments.services.rails import requery
from payments.services.transactions import operations, transitions
from payments.services.transfers import account_deactivation, incoming, unapplied_decisions
from payments.services.transfers.incoming import Notice
from tests import orders
from tests.factories import BusinessFactory
from tests.racing import racers
from tests.settling import STAFF, decide, settle
from tests.transactions import captured_payment, refund, start
from tests.wallets import fill_wallet
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

ROUNDS = int(os.environ.get("RACE_ROUNDS", "300"))
LOST = {"name": "Ada Obi", "account_number": "0000000097", "bank_code": "058"}


@pytest.fixture
def business(settings):
    settings.PAYOUT_REQUIRES_BALANCE = True
    return business_without_payout_fee()


def business_without_payout_fee():
    business = BusinessFactory()
    fee_rules.agree(Tariff(business=business, flow=Flow.PAYOUT), actor=STAFF, now=timezone.now())
    return business


def pay_out(business, amount, **changes):
    return start(orders.payout(amount=amount, **changes), business=business, now=timezone.now())


def broken():
    return {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds}


def wallet(business):
    return balances(business)[0].available


class TestPayouts:
    def test_of_a_hundred_concurrent_ones_the_wallet_covers_its_balance(self, business):
        """Tests the lock on the wallet in `ledger.services.book`."""
        fill_wallet(business, 1_000)

        with racers(100) as threads:
            answers = threads.race(*[partial(pay_out, business, 100)] * 100)

        codes = Counter(getattr(answer, "response_code", repr(answer)) for answer in answers)
        assert codes == {"10000": 10, "20051": 90}
        assert wallet(business) == 0
        assert broken() == {}

    def test_of_concurrent_ones_with_a_tax_the_wallet_covers_all_of_it(self, business):
        """Tests the same lock: amount, fee and tax are covered together, or nothing is taken."""
        taxed = Tariff(business=business, flow=Flow.PAYOUT, fixed=100, tax_basis_points=1_000)
        fee_rules.agree(taxed, actor=STAFF, now=timezone.now())
        fill_wallet(business, 2_309)  # ten of 210, and a unit too little for the eleventh's tax

        with racers(20) as threads:
            answers = threads.race(*[partial(pay_out, business, 100)] * 20)

        codes = Counter(getattr(answer, "response_code", repr(answer)) for answer in answers)
        assert codes == {"10000": 10, "20051": 10}
        assert wallet(business) == 209
        assert broken() == {}

    def test_equal_ones_are_debited_once(self, business):
        """Tests the uniqueness of intents: a replay debits nothing."""
        fill_wallet(business, 1_000)
        order = orders.payout(amount=100)

        with racers(20) as threads:
            threads.race(*[partial(start, order, business=business, now=timezone.now())] * 20)

        assert wallet(business) == 900
        assert broken() == {}

    def test_first_ones_open_the_accounts_once(self, settings):
        """Tests `ledger.booking.account_ids` when many concurrent requests need the accounts of a new business."""
        settings.PAYOUT_REQUIRES_BALANCE = False
        with racers(8) as threads:
            for _ in range(5):
                newcomer = BusinessFactory()

                threads.race(*[partial(pay_out, newcomer, 100)] * 8)

                assert wallet(newcomer) == -8 * 1_100
        assert broken() == {}


class TestABusinessThatOwes:
    def test_cannot_pay_out_the_amount_of_a_concurrent_refund(self, business):
        """Tests the lock on the pending account in `ledger.services.book`."""
        payment = captured_payment(business=business, now=timezone.now(), amount=50_000)
        unanswered = refund(payment, 20_098).resource
        decide(*settle(), "approve", "release")
        is_booked, may_commit = threading.Event(), threading.Event()

        with racers(3) as threads:
            refunded, payout, _ = threads.race(
                partial(answer_refund_and_wait, unanswered, is_booked, may_commit),
                partial(after, is_booked, partial(pay_out, business, wallet(business))),
                partial(after, is_booked, partial(let_commit, may_commit)),
            )

        assert refunded is None
        assert payout.response_code == "20051"
        assert broken() == {}

    def test_of_the_first_review_cannot_pay_out(self, business):
        """Fault 8: everything was refunded after its release, and 970,000 of it was paid out."""
        payment = captured_payment(business=business, now=timezone.now(), amount=1_000_000)
        decide(*settle(), "approve", "release")
        refund(payment, 1_000_000)
        (owed,) = [one for one in balances(business) if one.currency == "NGN"]
        assert (owed.available, owed.pending, owed.available_for_payouts) == (975_000, -1_000_000, 0)

        payout = pay_out(business, 970_000)

        assert (payout.status, payout.response_code) == ("failed", "20051")
        assert payout.response_summary == "Payment failed"
        assert wallet(business) == 975_000
        assert broken() == {}

    def test_can_pay_out_covered_amounts_during_refunds(self, business):
        """Concurrent payouts and refunds: every accepted payout was covered (`covered_payouts_were_covered`)."""
        seen = Counter()
        with racers(12) as threads:
            for _ in range(max(ROUNDS // 60, 2)):
                payments = [
                    captured_payment(business=business, now=timezone.now(), amount=1_000) for _ in range(6)
                ]
                decide(*settle(), "approve", "release")
                calls = [partial(refund, payment, 1_000) for payment in payments[:5]]
                answers = threads.race(*calls, *[partial(pay_out, business, 900)] * 7)

                assert [answer for answer in answers if isinstance(answer, Exception)] == []
                seen.update(answer.response_code for answer in answers[5:])
                assert wallet(business) >= 0
        assert set(seen) == {"10000", "20051"}
        assert broken() == {}


class TestUnappliedMoney:
    def test_is_returned_during_incoming_transfers_and_payout_answers(self, business):
        """Tests the order of all locks on accounts: `ledger.services.book_all`."""
        fill_wallet(business, 300 * ROUNDS)
        request = read_account(orders.static_account(), business=business)
        closed = accounts.create(business=business, request=request, now=timezone.now()).resource
        account_deactivation.deactivate(closed.pk, now=timezone.now())
        with racers(9) as threads:
            for _ in range(ROUNDS // 10):
                answers = threads.race(
                    *[partial(send_back, arrive(closed).resource) for _ in range(3)],
                    *[partial(arrive, closed)] * 3,
                    *[partial(answer, pay_out(business, 100, customer=LOST)) for _ in range(3)],
                )

                assert [answer for answer in answers if isinstance(answer, Exception)] == []
        assert not Transaction.objects.filter(status="pending").exists()
        assert broken() == {}


class TestTheSameMoney:
    def test_is_refunded_released_paid_out_and_reversed_in_any_order(self, business):
        """Tests the lock order (batch, transaction, accounts by id): no deadlock needs a retry."""
        at_random = random.Random(20260301)
        seen = Counter()
        with racers(4) as threads:
            for turn in range(ROUNDS):
                if turn % 50 == 0:
                    business = business_without_payout_fee() if turn else business
                    fill_wallet(business, 50_000)
                    sent = pay_out(business, 50_000)
                payment = captured_payment(business=business, now=timezone.now(), amount=1_000)
                (batch,) = settle()
                decide(batch, "approve")
                calls = [
                    partial(decide, batch, "release"),
                    partial(refund, payment, at_random.choice([100, 400, 1_000])),
                    partial(pay_out, business, at_random.choice([200, 985, 1_500]), **maybe_lost(at_random)),
                    partial(reverse, sent)
                    if at_random.random() < 0.05
                    else partial(requery_everything, business),
                ]
                at_random.shuffle(calls)

                for answer in threads.race(*calls):
                    assert not isinstance(answer, Exception), repr(answer)
                    if isinstance(answer, Transaction):
                        seen[answer.response_code] += 1

                assert wallet(business) >= 0
        assert {"10000", "20051"} <= set(seen)
        assert Entry.objects.filter(kind="payout_reversed").count() <= -(-ROUNDS // 50)
        assert broken() == {}


def reverse(payout):
    return payout_returns.reverse(
        transaction_id=payout.pk, reason="Returned", actor=STAFF, now=timezone.now()
    )


def answer_refund_and_wait(refund, is_booked, may_commit):
    """Apply the acquirer's answer to a refund, but commit it only when allowed."""
    with database.atomic():
        operations.apply_answer(
            operation_id=refund.pk,
            answer=RailAnswer(outcome=COMPLETED),
            cause=Transition.Cause.RAIL,
            now=timezone.now(),
        )
        is_booked.set()
        assert may_commit.wait(timeout=30)


def after(event, call):
    assert event.wait(timeout=30)
    return call()


def let_commit(may_commit):
    """Allow the commit once the other call waits for a lock. On SQLite, with one writer, it always waits."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()"
    with connection.cursor() as cursor:
        for _ in range(300 if connection.vendor == "postgresql" else 0):
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                break
            time.sleep(0.01)
    may_commit.set()


def answer(payout):
    """Apply the bank's answer to a payout."""
    return transitions.apply_answer(
        payout, RailAnswer(outcome=COMPLETED), cause=Transition.Cause.RAIL, now=timezone.now()
    )


def arrive(account):
    """Receive a transfer to an inactive account."""
    notice = Notice(
        bank_reference=uuid4().hex,
        account_number=account.account_number,
        amount=100,
        currency="NGN",
        sender_name="Chidi Eze",
        sender_account_number="0123456789",
        sender_bank_code="058",
    )
    return incoming.receive(notice)


def send_back(transfer):
    money = UnappliedMoney.objects.get(transfer=transfer)
    return unapplied_decisions.return_to_sender(money.pk, reason="Closed", actor=STAFF, now=timezone.now())


def requery_everything(business):
    return list(requery.query_leased(requery.unanswered(), clock=timezone.now))


def maybe_lost(at_random):
    """Return changes to a payout that lose the bank's answer in every fourth case."""
    return {"customer": LOST} if at_random.random() < 0.25 else {}
