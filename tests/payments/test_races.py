"""Concurrent changes. Each test names the lock or constraint without which it fails on PostgreSQL.

On SQLite, a writing transaction locks the whole database.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import connection

from kit.api.replays import IdempotentResult
from payments.models import CardOperation, Challenge, InvalidState, Transaction
from payments.rails.protocol import ActionKind
from payments.services.cards import captures, challenges
from payments.services.rails import requery
from payments.services.refunds import refunds
from payments.services.transactions import cancellations, expiry
from payments.services.transactions.intents import FIRST_QUERY_AFTER
from payments.services.transactions.operations import AmountTooLarge
from tests import orders
from tests.factories import BusinessFactory
from tests.racing import kept_locked, racers
from tests.scripted_acquirer import asks, ends, redirects, use_scripted_acquirer
from tests.transactions import authorised_payment, captured_payment, challenged_payment, enter_code, start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AN_INSTANT = timedelta(microseconds=1)


@pytest.fixture
def business():
    return BusinessFactory()


def query(subjects, *, now):
    return list(requery.query_leased(subjects, clock=lambda: now))


def requery_unleased(*, now):
    return list(requery.requery(requery.unanswered(), clock=lambda: now))


def expire(payment, *, now):
    return list(expiry.expire([payment.pk], clock=lambda: now))


def finishes(payment):
    return list(payment.transitions.filter(attribute="status").values_list("after", "cause"))


class TestEndOfAChallenge:
    @pytest.mark.long
    def test_is_one_of_return_expiry_and_requery_never_two(self, business):
        """Tests the conditional update in `challenges._begin`, its lease, and the lock in `expiry.expire_one`."""
        seen = set()
        with racers(3) as threads:
            for turn in range(200):
                # Every other answer after the challenge is lost, and requery decides.
                payment = challenged_payment(business=business, now=NOON, amount=50_000 + 98 * (turn % 2))
                challenge = Challenge.objects.select_related("transaction__business").get(transaction=payment)
                end = payment.expires_at

                approved, expired, _ = threads.race(
                    partial(enter_code, challenge=challenge, code="123456", now=end - AN_INSTANT),
                    partial(expire, payment, now=end),
                    partial(requery_unleased, now=end),
                )
                requery_unleased(now=end + FIRST_QUERY_AFTER)

                payment.refresh_from_db()
                has_expired = isinstance(approved, challenges.ChallengeClosed)
                assert expired == [has_expired]
                assert payment.response_code == ("20151" if has_expired else "10000")
                assert len(finishes(payment)) == 1
                assert (payment.amount_captured > 0) == (payment.status == "success")
                seen.add(finishes(payment)[0])
        assert seen <= {("failed", "expiry"), ("success", "payer"), ("success", "requery")}

    def test_counts_every_wrong_code_once(self, business):
        """Tests the conditional update in `challenges._begin`: a code counts unless another one is being checked."""
        with racers(4) as threads:
            for _ in range(20):
                payment = challenged_payment(business=business, now=NOON)
                tries = [
                    Challenge.objects.select_related("transaction__business").get(transaction=payment)
                    for _ in range(4)
                ]

                answers = threads.race(
                    *[partial(enter_code, challenge=one, code="000000", now=NOON) for one in tries]
                )

                kinds = Counter(type(answer).__name__ for answer in answers)
                assert kinds.keys() <= {"ChallengeClosed", "WrongInput", "Transaction"}
                counted = kinds["WrongInput"] + kinds["Transaction"]
                assert Challenge.objects.get(transaction=payment).wrong_codes == counted >= 1
                assert finishes(payment) == ([("failed", "payer")] if counted == 3 else [])

    def test_accepts_one_of_two_right_codes(self, business):
        """Tests the conditional update in `challenges._begin`: the code is sent once."""
        with racers(2) as threads:
            for _ in range(20):
                payment = challenged_payment(business=business, now=NOON)
                tries = [
                    Challenge.objects.select_related("transaction__business").get(transaction=payment)
                    for _ in range(2)
                ]

                answers = threads.race(
                    *[partial(enter_code, challenge=one, code="123456", now=NOON) for one in tries]
                )

                assert sorted(type(answer).__name__ for answer in answers) == [
                    "ChallengeClosed",
                    "Transaction",
                ]
                assert finishes(payment) == [("success", "payer")]


class TestPayerInput:
    def test_of_two_tabs_is_sent_once(self, business, settings):
        """Tests the conditional update in `challenges._begin`."""
        acquirer = use_scripted_acquirer(settings)
        seen = set()
        with racers(2) as threads:
            for _ in range(20):
                acquirer.begin()
                acquirer.answers("authorise", asks(ActionKind.OTP))
                acquirer.answers("answer_action", ends())
                payment = captured_payment(business=business, now=NOON)
                tabs = [
                    Challenge.objects.select_related("transaction__business").get(transaction=payment)
                    for _ in range(2)
                ]

                answers = threads.race(
                    *[partial(enter_code, challenge=tab, code="123456", now=NOON) for tab in tabs]
                )

                seen.add(tuple(sorted(type(answer).__name__ for answer in answers)))
                assert len(acquirer.calls_of("answer_action")) == 1
                assert finishes(payment) == [("success", "payer")]
        assert seen == {("ChallengeClosed", "Transaction")}

    def test_or_return_is_one_of_answer_and_cancellation(self, business, settings):
        """Tests the lock in `challenges.come_back`: a payer who is back can't be cancelled any more."""
        acquirer = use_scripted_acquirer(settings)
        with racers(2) as threads:
            for _ in range(20):
                acquirer.begin()
                acquirer.answers("authorise", redirects())
                payment = captured_payment(business=business, now=NOON)
                challenge = Challenge.objects.select_related("transaction__business").get(transaction=payment)

                back, cancelled = threads.race(
                    partial(challenges.come_back, challenge=challenge, now=NOON),
                    partial(cancellations.cancel, transaction_id=payment.pk, clock=lambda: NOON),
                )

                payment.refresh_from_db()
                if payment.response_code == "20091":
                    assert isinstance(back, challenges.ChallengeClosed)
                else:
                    assert payment.awaiting == "rail"
                    assert isinstance(cancelled, InvalidState)


class TestCancellation:
    def test_is_one_of_answer_cancellation_and_expiry(self, business):
        """Tests the lock in `cancellations.cancel`: after the payer's answer, nothing is cancelled."""
        with racers(3) as threads:
            for _ in range(60):
                payment = challenged_payment(business=business, now=NOON)
                end = payment.expires_at
                challenge = Challenge.objects.select_related("transaction__business").get(transaction=payment)

                approved, cancelled, expired = threads.race(
                    partial(enter_code, challenge=challenge, code="123456", now=end - AN_INSTANT),
                    partial(
                        cancellations.cancel,
                        transaction_id=payment.pk,
                        clock=lambda: end - AN_INSTANT,  # noqa: B023
                    ),
                    partial(expire, payment, now=end),
                )

                payment.refresh_from_db()
                ends = {"10000": approved, "20091": cancelled, "20068": expired, "20151": expired}
                assert not isinstance(ends[payment.response_code], Exception)
                assert (type(cancelled) is InvalidState) == (payment.response_code != "20091")
                assert len(finishes(payment)) == 1


class TestEndOfAnAuthorisation:
    @pytest.mark.long
    def test_is_either_capture_or_expiry(self, business):
        """Tests the lock in `expiry.expire_one` and `captures._open`: a sent capture is never overtaken by
        the expiry.
        """
        with racers(2) as threads:
            for _ in range(100):
                payment = authorised_payment(business=business, now=NOON)
                end = payment.expires_at

                captured, expired = threads.race(
                    partial(captures.capture, transaction_id=payment.pk, amount=None, now=end - AN_INSTANT),
                    partial(expire, payment, now=end),
                )

                payment.refresh_from_db()
                has_expired = isinstance(captured, InvalidState)
                assert expired == [has_expired]
                assert payment.response_code == ("20068" if has_expired else "10000")
                assert payment.amount_captured == (0 if has_expired else payment.amount)
                assert len(finishes(payment)) == 1
                assert payment.operations.get().kind == ("void" if has_expired else "capture")

    @pytest.mark.long
    def test_is_one_of_capture_void_and_expiry(self, business):
        """Tests the lock in `captures._open` and `expiry.expire_one`: one call to the acquirer, one result."""
        codes = {"capture": "10000", "void": "20090", None: "20068"}
        with racers(3) as threads:
            for _ in range(100):
                payment = authorised_payment(business=business, now=NOON)
                end = payment.expires_at

                captured, voided, expired = threads.race(
                    partial(captures.capture, transaction_id=payment.pk, amount=None, now=end - AN_INSTANT),
                    partial(captures.void, transaction_id=payment.pk, now=end - AN_INSTANT),
                    partial(expire, payment, now=end),
                )

                payment.refresh_from_db()
                winners = [
                    isinstance(captured, IdempotentResult), isinstance(voided, IdempotentResult), expired == [True],
                ]  # fmt: skip
                assert sum(winners) == 1, (captured, voided, expired)
                done = payment.operations.filter(status="success").first()
                assert payment.response_code == codes[done.kind if done else None]
                assert len(finishes(payment)) == 1
                released = payment.operations.get() if expired == [True] else None
                assert released is None or (released.kind, released.status) == ("void", "pending")
                assert payment.operations.exclude(status="success").count() == (0 if done else 1)


class TestEqualActions:
    @pytest.mark.long
    @pytest.mark.parametrize("act", [partial(captures.capture, amount=None), captures.void])
    def test_call_the_acquirer_once(self, business, act):
        """Tests the second read of the operation, under the lock, in `captures._open`."""
        with racers(3) as threads:
            for _ in range(30):
                payment = authorised_payment(business=business, now=NOON)

                answers = threads.race(*[partial(act, transaction_id=payment.pk, now=NOON)] * 3)

                assert sorted(answer.is_replay for answer in answers) == [False, True, True]
                assert payment.operations.count() == 1
                assert len(finishes(payment)) == 1


class TestExpiry:
    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows")
    def test_skips_a_payment_that_an_operator_keeps_locked(self, business):
        locked, other = [authorised_payment(business=business, now=NOON) for _ in range(2)]
        end = max(locked.expires_at, other.expires_at)

        with kept_locked(locked):
            assert list(expiry.expire([locked.pk, other.pk], clock=lambda: end)) == [False, True]

        assert finishes(locked) == []
        assert finishes(other) == [("failed", "expiry")]
        assert expire(locked, now=end) == [True]


class TestRequery:
    @pytest.mark.long
    def test_by_two_workers_finishes_a_payment_once(self, business):
        """Tests the condition of the conditional update in `Transaction`."""
        with racers(2) as threads:
            for _ in range(50):
                payment = captured_payment(business=business, now=NOON, amount=50_098)
                two_lists = [requery.unanswered(), requery.unanswered()]

                answers = threads.race(*[partial(query, one, now=NOON) for one in two_lists])

                assert [one.is_answered for one in (*answers[0], *answers[1])] == [True, True]
                assert finishes(payment) == [("success", "requery")]

    @pytest.mark.long
    def test_by_two_workers_books_a_refund_once(self, business):
        """Tests the lock in `operations.apply_answer`: the amount is refunded once."""
        with racers(2) as threads:
            for _ in range(50):
                payment = captured_payment(business=business, now=NOON, amount=100_000)
                lost = {"reference": orders.new_reference(), "amount": 20_098}
                refunds.refund(transaction=payment, request=lost, now=NOON)
                two_lists = [requery.unanswered(), requery.unanswered()]

                answers = threads.race(*[partial(query, one, now=NOON) for one in two_lists])

                assert [one.is_answered for one in (*answers[0], *answers[1])] == [True, True]
                payment.refresh_from_db()
                assert (payment.amount_refunded, payment.amount_being_refunded) == (20_098, 0)
                assert payment.transitions.filter(attribute="refund_status").count() == 1


class TestRefunds:
    @pytest.mark.long
    def test_concurrent_ones_never_exceed_the_captured_amount(self, business):
        """Tests the lock in `refunds._open`."""
        with racers(4) as threads:
            for _ in range(30):
                payment = captured_payment(business=business, now=NOON, amount=100)
                wanted = [{"reference": orders.new_reference(), "amount": 30} for _ in range(4)]

                answers = threads.race(
                    *[partial(refunds.refund, transaction=payment, request=one, now=NOON) for one in wanted]
                )

                payment.refresh_from_db()
                assert sum(isinstance(answer, AmountTooLarge) for answer in answers) == 1
                assert (payment.amount_refunded, payment.amount_being_refunded) == (90, 0)

    @pytest.mark.long
    def test_equal_ones_are_created_once(self, business):
        """Tests the second lookup of the reference under the lock in `refunds._open`."""
        with racers(3) as threads:
            for _ in range(30):
                payment = captured_payment(business=business, now=NOON)
                wanted = {"reference": orders.new_reference(), "amount": 500}

                answers = threads.race(
                    *[partial(refunds.refund, transaction=payment, request=wanted, now=NOON)] * 3
                )

                assert sorted(answer.is_replay for answer in answers) == [False, True, True]
                assert len({answer.resource.pk for answer in answers}) == 1
                payment.refresh_from_db()
                assert payment.amount_refunded == 500

    @pytest.mark.long
    def test_with_one_reference_for_two_payments_are_created_once(self, business):
        """Tests the unique key of refund references, because the two payments share no lock."""
        with racers(2) as threads:
            for _ in range(30):
                two = [captured_payment(business=business, now=NOON) for _ in range(2)]
                wanted = {"reference": orders.new_reference(), "amount": 500}

                answers = threads.race(
                    *[partial(refunds.refund, transaction=one, request=wanted, now=NOON) for one in two]
                )

                names = sorted(type(answer).__name__ for answer in answers)
                assert names == ["DuplicateReference", "IdempotentResult"]
                assert CardOperation.objects.filter(reference=wanted["reference"]).count() == 1
                reserved = [Transaction.objects.get(pk=one.pk).amount_refunded for one in two]
                assert sorted(reserved) == [0, 500]


class TestCreation:
    def test_of_equal_requests_inserts_one_row(self, business):
        """Tests the unique key of (business, reference) and `insert_if_absent`."""
        with racers(4) as threads:
            for _ in range(20):
                order = orders.card_payment()

                answers = threads.race(*[partial(start, order, business=business, now=NOON)] * 4)

                assert len({answer.pk for answer in answers}) == 1
                assert Transaction.objects.filter(reference=order["reference"]).count() == 1
