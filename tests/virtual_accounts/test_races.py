"""Concurrent requests. Each test names the lock or constraint without which it fails on PostgreSQL. On
SQLite, a writing transaction locks the whole database.
"""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import connection, connections
from django.utils import timezone

from payments.models import InvalidState, Transaction
from payments.services.transactions import cancellations, expiry
from payments.services.transfers import account_deactivation, incoming
from payments.services.transfers.incoming import Notice
from payments.services.transfers.virtual_account_payments import SessionOpen
from tests import orders
from tests.factories import BusinessFactory
from tests.racing import kept_locked, racers
from tests.transactions import start
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import AccountNumber, Session, Transfer, UnappliedMoney, VirtualAccount
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts, number_pool
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
A_MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def business():
    business = BusinessFactory()
    make_endpoint(business=business)
    return business


def open_account(business, order):
    request = read_account(order, business=business)
    return accounts.create(business=business, request=request, now=NOON).resource


@pytest.fixture
def dynamic(business):
    return open_account(business, orders.dynamic_account())


@pytest.fixture
def static(business):
    return open_account(business, orders.static_account())


def pay_into(account, **changes):
    order = orders.transfer_payment(str(account.pk), **changes)
    return start(order, business=account.business, now=NOON)


def transfer(number, amount=50_000, *, at=NOON, bank_reference=None):
    notice = Notice(
        bank_reference=bank_reference or uuid.uuid4().hex,
        account_number=number,
        amount=amount,
        sender_name="Bisi Ojo",
    )
    return incoming.receive(notice, clock=lambda: at)


def expire(*, at):
    return sum(expiry.expire_sessions(clock=lambda: at))


def finishes(payment):
    return list(payment.transitions.filter(attribute="status").values_list("after", "cause"))


def wait_until_one_waits():
    """Wait until another connection waits for a lock."""
    end = time.monotonic() + 10
    with connection.cursor() as cursor:
        while time.monotonic() < end:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
            time.sleep(0.01)
    raise TimeoutError


def raised(answers):
    return [answer for answer in answers if isinstance(answer, Exception)]


class TestTheEndOfASession:
    @pytest.mark.long
    @pytest.mark.parametrize("off", [-1, 0, 1])
    def test_is_either_the_transfer_or_the_expiry(self, dynamic, off):
        """Tests the lock in `sessions.lock_open` and `sessions.expire`."""
        with racers(2) as threads:
            for _ in range(67):
                payment = pay_into(dynamic)
                end = payment.session.expires_at

                received, expired = threads.race(
                    partial(transfer, payment.session.number_id, at=end + off * A_MILLISECOND),
                    partial(expire, at=end),
                )
                expire(at=end)

                payment.refresh_from_db()
                is_paid = not received.resource.is_unapplied
                assert not (is_paid and off >= 0)
                assert payment.status == ("success" if is_paid else "failed")
                assert payment.session.status == ("success" if is_paid else "expired")
                assert expired == (0 if is_paid else expired)
                assert finishes(payment) == [("success", "transfer") if is_paid else ("failed", "expiry")]
                assert Delivery.objects.filter(subject=payment.pk).count() == 1
                assert UnappliedMoney.objects.filter(transfer=received.resource).exists() != is_paid

    @pytest.mark.long
    def test_is_one_of_transfer_cancellation_expiry_and_deactivation(self, business):
        """Tests the order of locks in `cancellations.cancel`, and its read of the payment under them."""
        with racers(4) as threads:
            for turn in range(40):
                make = orders.static_account if turn % 2 else orders.dynamic_account
                account = open_account(business, make())
                payment = pay_into(account)
                end = payment.session.expires_at
                before_end = end - A_MILLISECOND

                answers = threads.race(
                    partial(transfer, payment.session.number_id, at=before_end),
                    partial(cancellations.cancel, transaction_id=payment.pk, clock=lambda: before_end),  # noqa: B023
                    partial(expire, at=end),
                    partial(account_deactivation.deactivate, account.pk, now=end),
                )

                payment.refresh_from_db()
                is_cancelled = payment.response_code == "20091"
                refused = raised(answers)
                assert [type(each) for each in refused] == ([] if is_cancelled else [InvalidState])
                assert not (is_cancelled and payment.session.status != "failed")
                assert len(finishes(payment)) == 1
                assert Delivery.objects.filter(subject=payment.pk).count() == 1
                received = answers[0].resource
                assert (payment.status == "success") == (received.session_id == payment.session_id)

    @pytest.mark.long
    def test_is_one_of_transfer_expiry_and_deactivation(self, business):
        """Tests the order of locks: the account, then its session, then the payment."""
        with racers(3) as threads:
            for turn in range(40):
                make = orders.static_account if turn % 2 else orders.dynamic_account
                account = open_account(business, make())
                payment = pay_into(account)
                end = payment.session.expires_at

                answers = threads.race(
                    partial(transfer, payment.session.number_id, at=end - A_MILLISECOND),
                    partial(expire, at=end),
                    partial(account_deactivation.deactivate, account.pk, now=end),
                )

                payment.refresh_from_db()
                assert not raised(answers), [str(r) for r in raised(answers)]
                ends = {"success": "success", "expired": "failed", "failed": "failed"}
                assert payment.status == ends[payment.session.status]
                assert len(finishes(payment)) == 1
                assert Delivery.objects.filter(subject=payment.pk).count() == 1
                received = answers[0].resource
                assert received.amount == sum(
                    UnappliedMoney.objects.filter(transfer=received).values_list("amount", flat=True)
                ) + sum(
                    Transaction.objects.filter(session=received.session_id, status="success").values_list(
                        "amount", flat=True
                    )
                )


class TestTransfers:
    @pytest.mark.long
    def test_that_are_equal_are_booked_once(self, static):
        """Tests the unique bank reference and `insert_if_absent`."""
        with racers(20) as threads:
            for turn in range(5):
                answers = threads.race(
                    *[partial(transfer, static.account_number, bank_reference=f"nip-{turn}")] * 20
                )

                assert not raised(answers)
                assert sorted(answer.is_replay for answer in answers) == [False] + [True] * 19
                assert len({answer.resource.pk for answer in answers}) == 1
        assert Transfer.objects.count() == Transaction.objects.count() == Delivery.objects.count() == 5

    @pytest.mark.long
    def test_two_at_once_on_one_session_apply_one(self, dynamic):
        """Tests the lock in `sessions.lock_open`."""
        with racers(2) as threads:
            for _ in range(50):
                payment = pay_into(dynamic)

                answers = threads.race(*[partial(transfer, payment.session.number_id)] * 2)

                assert not raised(answers)
                assert sorted(answer.resource.applied for answer in answers) == ["session", "unapplied"]
                payment.refresh_from_db()
                assert finishes(payment) == [("success", "transfer")]
                assert Delivery.objects.filter(subject=payment.pk).count() == 1

    @pytest.mark.long
    def test_of_different_amounts_at_once_end_a_session_once(self, dynamic):
        """Tests the same lock: the second one cannot turn a mismatch into a success."""
        with racers(2) as threads:
            for _ in range(50):
                payment = pay_into(dynamic)

                answers = threads.race(
                    partial(transfer, payment.session.number_id, 50_000),
                    partial(transfer, payment.session.number_id, 40_000),
                )

                assert not raised(answers)
                payment.refresh_from_db()
                assert len(finishes(payment)) == 1
                received = UnappliedMoney.objects.filter(transfer__number=payment.session.number_id)
                assert sum(received.values_list("amount", flat=True)) == (
                    40_000 if payment.status == "success" else 90_000
                )

    def test_to_an_account_that_is_being_deactivated_are_a_payment_or_unapplied(self, business):
        """Tests the shared lock of the account in `transfer_matching`."""
        with racers(2) as threads:
            for _ in range(30):
                account = open_account(business, orders.static_account())

                received, switched_off = threads.race(
                    partial(transfer, account.account_number),
                    partial(account_deactivation.deactivate, account.pk, now=NOON),
                )

                assert not raised([received, switched_off])
                payments = Transaction.objects.filter(session__account=account).count()
                unapplied = UnappliedMoney.objects.filter(transfer__account=account).count()
                assert (payments, unapplied) in {(1, 0), (0, 1)}


class TestOpening:
    @pytest.mark.long
    def test_forty_sessions_at_once_take_forty_numbers(self, dynamic):
        """Tests `number_pool.take`, with an empty pool and with just enough numbers."""
        with racers(40) as threads:
            for turn in range(3):
                if turn == 0:
                    AccountNumber.objects.all().delete()
                answers = threads.race(*[partial(pay_into, dynamic)] * 40)

                assert not raised(answers)
                assert len({answer.session.number_id for answer in answers}) == 40
        assert Session.objects.values("number").distinct().count() == Session.objects.count() == 120

    def test_equal_requests_at_once_open_one_session(self, dynamic):
        """Tests the reference's unique key: the second request takes no number."""
        with racers(8) as threads:
            for _ in range(10):
                order = orders.transfer_payment(str(dynamic.pk))

                answers = threads.race(*[partial(start, order, business=dynamic.business, now=NOON)] * 8)

                assert not raised(answers)
                assert len({answer.pk for answer in answers}) == 1
                assert Session.objects.filter(payment__reference=order["reference"]).count() == 1
        held = AccountNumber.objects.filter(holder__isnull=False).count()
        assert held == Session.objects.count() == 10

    def test_two_sessions_of_a_static_account_at_once_open_one(self, static):
        """Tests the unique key of open sessions."""
        with racers(2) as threads:
            for _ in range(20):
                answers = threads.race(*[partial(pay_into, static)] * 2)

                assert sorted(type(answer) for answer in answers if isinstance(answer, SessionOpen)) == [
                    SessionOpen
                ]
                transfer(static.account_number)
        assert Transaction.objects.count() == 20

    def test_of_a_session_and_a_deactivation_leaves_none_open(self, business):
        """Tests the shared lock of the account in `virtual_account_payments._usable_account`."""
        with racers(2) as threads:
            for _ in range(40):
                account = open_account(business, orders.dynamic_account())

                threads.race(
                    partial(pay_into, account), partial(account_deactivation.deactivate, account.pk, now=NOON)
                )

                assert not Session.objects.filter(account=account, status="pending").exists()
                assert not Transaction.objects.filter(session__account=account, status="pending").exists()

    def test_equal_accounts_at_once_create_one_with_one_number(self, business):
        """Tests the reference's unique key, and that unused numbers are released."""
        number_pool.refill(number_pool.BLOCK, now=NOON)
        with racers(8) as threads:
            for _ in range(5):
                order = orders.static_account()

                answers = threads.race(*[partial(open_account, business, order)] * 8)

                assert not raised(answers)
                assert len({answer.account_number for answer in answers}) == 1
        assert AccountNumber.objects.filter(holder__isnull=False).count() == 5
        assert VirtualAccount.objects.count() == 5


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows")
class TestAReassignedNumber:
    @pytest.mark.parametrize("is_open", [True, False])
    def test_gives_its_transfer_to_the_new_holder(self, dynamic, is_open):
        """Tests `transfer_matching._require_unchanged`: the transfer waits for the former holder's lock."""
        number = pay_into(dynamic).session.number_id
        later = NOON + timedelta(days=400)
        expire(at=later)
        AccountNumber.objects.exclude(pk=number).delete()
        AccountNumber.objects.update(free_at=NOON)
        other = open_account(BusinessFactory(), orders.dynamic_account())

        with ThreadPoolExecutor(max_workers=1) as thread:
            with kept_locked(dynamic):
                received = thread.submit(transfer, number)
                wait_until_one_waits()
                payment = pay_into(other, amount=50_000)
                if not is_open:
                    cancellations.cancel(transaction_id=payment.pk, clock=lambda: NOON)
            arrived = received.result(timeout=10).resource
            thread.submit(connections.close_all)

        assert arrived.account_id == other.pk
        assert arrived.session_id == (payment.session_id if is_open else None)
        assert {money.business_id for money in UnappliedMoney.objects.all()} <= {other.business_id}


class TestExpiry:
    @pytest.mark.long
    def test_by_two_workers_ends_each_session_once(self, dynamic):
        """Tests SKIP LOCKED in `sessions.expire`, and the condition under which sessions end."""
        payments = [pay_into(dynamic) for _ in range(300)]
        end = timezone.now() + timedelta(days=400)
        with racers(3) as threads:
            ended = threads.race(*[partial(expire, at=end)] * 3)

        assert not raised(ended)
        assert sum(ended) == 300
        assert Delivery.objects.count() == 300
        assert Session.objects.filter(status="expired").count() == 300
        assert {finishes(payment)[0] for payment in payments} == {("failed", "expiry")}

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows")
    def test_skips_a_payment_that_an_operator_keeps_locked(self, dynamic):
        locked, *others = [pay_into(dynamic) for _ in range(4)]
        end = timezone.now() + timedelta(days=400)

        with kept_locked(locked):
            assert expire(at=end) == 3
        assert {finishes(payment)[0] for payment in others} == {("failed", "expiry")}
        assert finishes(locked) == []
        assert Session.objects.get(payment=locked).status == "pending"

        assert expire(at=end) == 1
        assert finishes(locked) == [("failed", "expiry")]
