"""Payments that failed without an answer of an acquirer that can't take them back for certain."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.db import transaction as database
from django.test import Client

from ledger.invariants import check
from ledger.models import Account, Entry
from payments.invariants.registry import INVARIANTS
from payments.models import Challenge, RailBlock, Transaction, WatchedAuthorisation
from payments.rails.protocol import NotSent, RailAnswer, RailBlocked, RateLimited
from payments.rules.outcomes import PROCESSING
from payments.services import watches
from payments.services.cards import late_charges
from payments.services.rails import watch_looks
from payments.services.staff.actions import resolutions
from payments.tasks import expire_due, look_at_watches, requery_due
from tests import orders
from tests.by_refund_acquirer import (
    APPROVED,
    BY_REFUND,
    DECLINED,
    DONE,
    LOST,
    NOT_AUTHENTICATED,
    PARTLY,
    PENDING,
    REDIRECT,
    UNKNOWN,
    ByRefundAcquirer,
)
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.scripted_acquirer import redirects
from tests.settling import STAFF
from webhooks.models import Delivery

MORE_THAN_ORDERED = RailAnswer(outcome=PROCESSING, must_be_reversed=True)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def acquirer(settings):
    settings.CARD_ACQUIRER = BY_REFUND
    ByRefundAcquirer.begin()
    return ByRefundAcquirer


def pay(api, **changes):
    return api.post("/api/payments", orders.card_payment(**changes))


def state(api):
    payment = api.get(f"/api/payments/{Transaction.objects.get().reference}").json()
    return payment["status"], payment["response_code"]


def failed_without_record(api, clock, **changes):
    """Return the watch of a payment whose answer was lost, and which the acquirer didn't know for half an hour."""
    ByRefundAcquirer.answers("authorise", LOST)
    ByRefundAcquirer.answers("query", UNKNOWN)
    pay(api, **changes)
    clock.advance(minutes=30)
    requery_due()
    return WatchedAuthorisation.objects.get()


def look(clock, watch):
    """Make the next look at its time, and return the watch."""
    clock.now = watch.next_look_at
    look_at_watches()
    watch.refresh_from_db()
    return watch


def house_balances():
    return dict(Account.objects.filter(business=None).values_list("kind", "balance"))


def assert_consistent():
    assert {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds} == {}


class TestAnAuthorisationWithoutARecord:
    def test_is_queried_for_half_an_hour_and_then_fails(self, api, clock, acquirer):
        acquirer.answers("authorise", LOST)
        acquirer.answers("query", UNKNOWN)
        pay(api)
        started, payment, moments = clock.now, Transaction.objects.get(), []

        while payment.is_pending:
            clock.now = payment.next_query_at
            moments.append(clock.now - started)
            requery_due()
            payment.refresh_from_db()

        minutes = [moment / timedelta(minutes=1) for moment in moments]
        assert minutes == [pytest.approx(at) for at in (1 / 6, 4 / 6, 2 + 4 / 6, 12 + 4 / 6, 30)]
        answer = api.get(f"/api/payments/{payment.reference}").json()
        assert (answer["status"], answer["response_code"]) == ("failed", "20030")
        assert "gateway_code" not in answer
        assert answer["gateway_recommendation"] == "retry"

    def test_succeeds_if_a_record_appears_in_time(self, api, clock, acquirer):
        acquirer.answers("authorise", LOST)
        acquirer.answers("query", UNKNOWN, APPROVED)
        pay(api)

        clock.advance(minutes=1)
        requery_due()
        clock.advance(minutes=1)
        requery_due()

        assert state(api) == ("success", "10000")
        assert not WatchedAuthorisation.objects.exists()

    def test_stays_pending_while_the_acquirer_does_not_answer(self, api, clock, acquirer):
        acquirer.answers("authorise", LOST)
        acquirer.answers("query", LOST)
        pay(api)

        for _ in range(4):
            clock.advance(hours=13)
            requery_due()

        assert state(api) == ("pending", "10001")

    def test_stays_pending_while_the_acquirer_is_undecided(self, api, clock, acquirer):
        acquirer.answers("authorise", PENDING)
        acquirer.answers("query", PENDING)
        pay(api)

        clock.advance(hours=13)
        requery_due()

        assert state(api) == ("pending", "10001")
        assert acquirer.calls[-1].order.acquirer_reference == "pay_1"

    def test_of_an_acquirer_that_reverses_for_certain_stays_pending(self, api, clock, acquirer, monkeypatch):
        monkeypatch.setattr(ByRefundAcquirer, "reverses", "definite")
        acquirer.answers("authorise", LOST)
        acquirer.answers("query", UNKNOWN)
        pay(api)

        clock.advance(hours=13)
        requery_due()

        assert state(api) == ("pending", "10001")
        assert not WatchedAuthorisation.objects.exists()


class TestAPaymentThatStaffFailed:
    def test_is_watched(self, api, clock, acquirer):
        acquirer.answers("authorise", LOST)
        pay(api)

        resolutions.resolve_transaction(
            Transaction.objects.get().pk,
            succeeded=False,
            reason="The provider says so",
            evidence="Ticket 7",
            actor=STAFF,
            now=clock.now,
        )

        assert state(api) == ("failed", "20030")
        assert WatchedAuthorisation.objects.get().is_open


class TestTheWatchList:
    def test_is_looked_at_every_minute_then_every_ten_and_hourly_for_seven_days(self, api, clock):
        watch = failed_without_record(api, clock)
        opened, gaps, last = clock.now, [], clock.now

        while watch.is_open:
            gaps.append((watch.next_look_at - last) / timedelta(minutes=1))
            last = watch.next_look_at
            watch = look(clock, watch)

        assert gaps == [1] * 60 + [10] * 138 + [60] * 144
        assert watch.ended_at - opened == timedelta(days=7)
        assert watch.looks == len(gaps) - 1

    def test_is_not_left_without_an_answer(self, api, clock, acquirer):
        watch = failed_without_record(api, clock)
        acquirer.answers("query", LOST)
        clock.advance(days=8)

        look_at_watches()
        watch.refresh_from_db()
        assert watch.is_open
        acquirer.answers("query", UNKNOWN)
        watch = look(clock, watch)

        assert not watch.is_open

    def test_is_left_when_the_acquirer_has_declined(self, api, clock, acquirer):
        watch = failed_without_record(api, clock)
        acquirer.answers("query", DECLINED)

        watch = look(clock, watch)

        assert (watch.is_open, watch.found_at) == (False, None)
        assert state(api) == ("failed", "20030")

    def test_is_looked_at_at_once_when_the_provider_announces_something(self, api, clock, acquirer):
        watch = failed_without_record(api, clock)
        asked = acquirer.count("query")
        clock.advance(seconds=1)

        assert watches.make_due(watch.transaction, now=clock.now)
        look_at_watches()

        assert acquirer.count("query") == asked + 1

    def test_is_looked_at_again_if_something_was_announced_during_a_look(self, api, clock, acquirer):
        watch = failed_without_record(api, clock)

        def announced_meanwhile():
            assert watches.make_due(watch.transaction, now=clock.now)
            raise UNKNOWN

        acquirer.answers("query", announced_meanwhile, UNKNOWN)
        watch_looks.look_at(watch.transaction_id)

        watch.refresh_from_db()
        assert watch.next_look_at == clock.now

    def test_is_looked_at_again_soon_if_the_rate_limit_left_no_call(self, api, clock, acquirer):
        watch = failed_without_record(api, clock)
        clock.advance(days=2)
        acquirer.answers("query", RateLimited())

        look_at_watches()

        watch.refresh_from_db()
        assert (watch.next_look_at - clock.now, watch.looks) == (timedelta(seconds=5), 0)

    def test_is_looked_at_when_an_outage_of_the_acquirer_ends(self, api, clock, acquirer):
        watch = failed_without_record(api, clock)
        clock.advance(days=2)
        look(clock, watch)
        acquirer.answers("query", LOST)
        pay(api)
        clock.advance(seconds=10)
        requery_due()
        acquirer.answers("query", APPROVED)
        acquirer.answers("reverse", DONE)

        clock.advance(minutes=1)
        requery_due()
        look_at_watches()

        watch.refresh_from_db()
        assert watch.returned_at == clock.now

    def test_asks_only_the_account_that_the_payment_was_sent_to(self, api, clock, acquirer, monkeypatch):
        watch = failed_without_record(api, clock)
        asked = acquirer.count("query")
        monkeypatch.setattr(ByRefundAcquirer, "account", "by_refund:another")

        watch = look(clock, watch)

        assert acquirer.count("query") == asked
        assert watch.is_open


class TestALateCharge:
    def test_is_given_back_at_once_and_booked(self, api, clock, acquirer):
        watch = failed_without_record(api, clock, amount=70_000)
        events = Delivery.objects.count()
        acquirer.answers("query", APPROVED)
        acquirer.answers("reverse", DONE)

        watch = look(clock, watch)

        assert (watch.amount, watch.found_at, watch.returned_at) == (70_000, clock.now, clock.now)
        assert not watch.is_open
        assert acquirer.calls[-1].name == "reverse"
        assert acquirer.calls[-1].order.acquirer_reference == "pay_1"
        assert state(api) == ("failed", "20030")
        assert Delivery.objects.count() == events
        assert set(house_balances().values()) == {0}
        kinds = Entry.objects.filter(cause=watch.pk).order_by("pk").values_list("kind", flat=True)
        assert list(kinds) == ["late_charge_in", "late_charge_out"]
        assert not Account.objects.exclude(business=None).exclude(balance=0).exists()
        assert_consistent()

    def test_is_owed_until_the_acquirer_has_confirmed(self, api, clock, acquirer):
        watch = failed_without_record(api, clock, amount=70_000)
        acquirer.answers("query", APPROVED)
        acquirer.answers("reverse", LOST, UNKNOWN, DONE)
        watch = look(clock, watch)
        assert house_balances()["late_charges"] == 70_000
        assert_consistent()

        watch = look(clock, watch)
        assert watch.is_owed
        watch = look(clock, watch)

        assert not watch.is_open
        assert house_balances()["late_charges"] == 0
        assert acquirer.count("reverse") == 3
        assert acquirer.calls[-3].name == "reverse"  # no further query once it was found

    def test_is_given_back_however_late_its_reversal_is_confirmed(self, api, clock, acquirer):
        watch = failed_without_record(api, clock)
        acquirer.answers("query", APPROVED)
        acquirer.answers("reverse", LOST)
        watch = look(clock, watch)
        clock.advance(days=9)
        look_at_watches()
        watch.refresh_from_db()
        assert watch.is_owed

        acquirer.answers("reverse", DONE)
        watch = look(clock, watch)

        assert not watch.is_open

    @pytest.mark.parametrize(
        ("capture", "answer"), [(False, APPROVED), (True, PARTLY), (True, MORE_THAN_ORDERED)]
    )
    def test_of_an_unknown_amount_is_reversed_without_an_entry(self, api, clock, acquirer, capture, answer):
        watch = failed_without_record(api, clock, capture=capture)
        acquirer.answers("query", answer)
        acquirer.answers("reverse", DONE)

        watch = look(clock, watch)

        assert (watch.amount, watch.returned_at) == (None, clock.now)
        assert not Entry.objects.exists()
        assert_consistent()

    def test_is_booked_once_if_two_looks_find_it(self, api, clock, acquirer):
        """As when a webhook causes a query while a look waits for its answer."""
        watch = failed_without_record(api, clock)

        def found_by_another_process():
            stored = WatchedAuthorisation.objects.get()
            late_charges.record_charge(stored, APPROVED, now=clock.now)
            late_charges.record_return(stored, now=clock.now)
            return APPROVED

        acquirer.answers("query", found_by_another_process)

        watch_looks.look_at(watch.transaction_id)

        watch.refresh_from_db()
        assert not watch.is_open
        assert Entry.objects.filter(cause=watch.pk).count() == 2
        assert acquirer.count("reverse") == 0  # by this look
        assert_consistent()

    def test_that_a_look_missed_by_a_moment_is_given_back(self, api, clock, acquirer):
        """The acquirer's approval overtakes the answer that it has declined."""
        watch = failed_without_record(api, clock)
        acquirer.answers("reverse", DONE)

        def ended_by_another_process():
            late_charges.record_failure(WatchedAuthorisation.objects.get(), now=clock.now)
            return APPROVED

        acquirer.answers("query", ended_by_another_process)

        watch_looks.look_at(watch.transaction_id)

        watch.refresh_from_db()
        assert (watch.returned_at, watch.is_open) == (clock.now, False)
        assert_consistent()

    def test_is_not_looked_for_by_two_processes(self, api, clock, acquirer):
        watch = failed_without_record(api, clock)
        looked = []

        def look_meanwhile():
            looked.append(watch_looks.look_at(watch.transaction_id))
            raise UNKNOWN

        acquirer.answers("query", look_meanwhile)

        assert watch_looks.look_at(watch.transaction_id)
        assert looked == [False]

    def test_is_in_the_timeline_of_its_payment(self, ada, api, clock, acquirer):
        watch = failed_without_record(api, clock, amount=70_000)
        member = signed_in(MemberFactory(business=ada.business).user, client=Client())
        address = f"/dashboard/payments/{watch.transaction_id}/"
        watched = member.get(address).content.decode()
        acquirer.answers("query", APPROVED)
        acquirer.answers("reverse", LOST, DONE)
        watch = look(clock, watch)
        owed = member.get(address).content.decode()
        look(clock, watch)
        returned = member.get(address).content.decode()

        assert "Last query for a late charge" in watched
        assert "NGN 700.00 charged after the payment failed" in owed
        assert "Late charge: next attempt to return it" in owed
        assert "Late charge returned to the payer" in returned

    def test_that_is_owed_can_not_be_forgotten(self, api, clock):
        watch = failed_without_record(api, clock)
        watch.found_at = clock.now
        watch.next_look_at, watch.ended_at = None, clock.now

        with pytest.raises(IntegrityError), database.atomic():
            watch.save()


class TestAPayerAtTheProvider:
    def begin(self, api, acquirer):
        acquirer.answers("authorise", REDIRECT)
        payment = pay(api).json()
        assert payment["redirect_link"]
        return f"/api/payments/{payment['reference']}"

    def test_may_be_cancelled_and_is_watched(self, api, clock, acquirer):
        address = self.begin(api, acquirer)
        acquirer.answers("query", REDIRECT, APPROVED)
        acquirer.answers("reverse", DONE)

        cancelled = api.post(f"{address}/cancel")
        watch = look(clock, WatchedAuthorisation.objects.get())
        assert watch.is_open
        watch = look(clock, watch)

        assert (cancelled.status_code, cancelled.json()["response_code"]) == (200, "20091")
        assert watch.returned_at == clock.now
        assert api.get(address).json()["response_code"] == "20091"
        assert_consistent()

    def test_whose_time_is_over_fails_by_the_answer_of_the_provider(self, api, clock, acquirer):
        address = self.begin(api, acquirer)
        acquirer.answers("query", NOT_AUTHENTICATED)

        clock.advance(minutes=15)
        expire_due()
        meanwhile = api.get(address).json()
        requery_due()

        assert meanwhile["status"] == "pending"
        assert "redirect_link" not in meanwhile
        assert state(api) == ("failed", "20151")
        assert not WatchedAuthorisation.objects.exists()

    def test_whose_time_is_over_may_have_paid(self, api, clock, acquirer):
        self.begin(api, acquirer)
        acquirer.answers("query", APPROVED)

        clock.advance(minutes=15)
        expire_due()
        requery_due()

        assert state(api) == ("success", "10000")

    def test_who_does_nothing_fails_after_half_an_hour_and_is_watched(self, api, clock, acquirer):
        self.begin(api, acquirer)
        acquirer.answers("query", REDIRECT)
        clock.advance(minutes=15)
        expire_due()
        requery_due()
        assert state(api) == ("pending", "10001")

        clock.advance(minutes=15)
        requery_due()

        assert state(api) == ("failed", "20030")
        assert WatchedAuthorisation.objects.get().is_open

    def test_who_came_back_undecided_fails_after_half_an_hour_and_is_watched(self, api, clock, acquirer):
        self.begin(api, acquirer)
        acquirer.answers("query", REDIRECT)
        Client().get(f"/3ds/{Challenge.objects.get().token}/return")
        assert Transaction.objects.get().awaiting == "rail"

        clock.advance(minutes=29)
        requery_due()
        assert state(api) == ("pending", "10001")
        clock.advance(minutes=1)
        requery_due()

        assert state(api) == ("failed", "20030")
        assert WatchedAuthorisation.objects.get().is_open

    def test_who_can_not_be_sent_there_fails_after_half_an_hour_and_is_watched(self, api, clock, acquirer):
        unsafe = redirects("http://bank.example/acs")
        acquirer.answers("authorise", unsafe)
        acquirer.answers("query", unsafe)
        pay(api)

        clock.advance(minutes=29)
        requery_due()
        assert state(api) == ("pending", "10001")
        clock.advance(minutes=1)
        requery_due()

        assert state(api) == ("failed", "20030")
        assert WatchedAuthorisation.objects.get().is_open

    def test_is_not_asked_again_when_the_time_is_over(self, api, clock, acquirer):
        address = self.begin(api, acquirer)
        acquirer.answers("query", REDIRECT)
        clock.advance(minutes=15)
        expire_due()

        requery_due()

        assert Transaction.objects.get().awaiting == "rail"
        assert "redirect_link" not in api.get(address).json()


class TestAPartialApproval:
    def test_is_voided_before_it_is_declined(self, api, clock, acquirer):
        acquirer.answers("authorise", PARTLY)
        acquirer.answers("reverse", LOST, UNKNOWN, DONE)
        states = [(pay(api).json()["status"], 0)]

        for _ in range(3):
            requery_due()
            states.append((Transaction.objects.get().status, acquirer.count("reverse")))
            clock.advance(minutes=10)

        assert states == [("pending", 0), ("pending", 1), ("pending", 2), ("failed", 3)]
        assert state(api) == ("failed", "20013")
        assert not WatchedAuthorisation.objects.exists()


class TestABlockedAccount:
    """The acquirer refuses our key, not the payment."""

    def test_fails_a_payment_that_was_stored(self, api, acquirer):
        acquirer.answers("authorise", RailBlocked("The key is revoked."))

        payment = pay(api).json()

        assert (payment["status"], payment["response_code"]) == ("failed", "20030")
        assert "gateway_code" not in payment
        assert payment["gateway_recommendation"] == "retry"
        assert not WatchedAuthorisation.objects.exists()

    def test_fails_a_card_check_that_was_stored(self, api, acquirer):
        acquirer.answers("verify", RailBlocked("The key is revoked."))

        check = api.post("/api/payments", orders.card_check()).json()

        assert (check["status"], check["response_code"]) == ("failed", "20030")

    def test_blocks_the_next_requests_before_anything_is_stored(self, api, acquirer):
        acquirer.answers("authorise", RailBlocked("The key is revoked."))
        pay(api)

        answers = [pay(api), api.post("/api/payments", orders.card_check())]

        assert [(one.status_code, one.json()["code"]) for one in answers] == [(503, "rail_unavailable")] * 2
        assert Transaction.objects.count() == 1
        assert acquirer.count("authorise") == 1
        block = RailBlock.objects.get()
        assert (block.account, block.reason) == ("by_refund", "The key is revoked.")

    def test_is_open_again_once_a_payment_a_minute_later_is_answered(self, api, clock, acquirer):
        acquirer.answers("authorise", RailBlocked("The key is revoked."), DECLINED, APPROVED)
        pay(api)

        clock.advance(minutes=1)
        payments = [pay(api).json()["status"] for _ in range(2)]

        assert payments == ["failed", "success"]
        assert not RailBlock.objects.exists()

    def test_stays_blocked_by_a_payment_that_was_not_sent(self, api, clock, acquirer):
        acquirer.answers("authorise", RailBlocked("The key is revoked."), NotSent())
        pay(api)

        clock.advance(minutes=1)
        payment = pay(api).json()

        assert (payment["status"], payment["response_code"]) == ("failed", "20030")
        assert RailBlock.objects.exists()

    def test_stays_blocked_by_a_payment_that_is_refused_again(self, api, clock, acquirer):
        acquirer.answers("authorise", RailBlocked("The key is revoked."))
        pay(api)

        clock.advance(minutes=1)
        codes = [pay(api).status_code for _ in range(2)]

        assert codes == [201, 503]

    def test_is_blocked_by_a_capture_too(self, api, acquirer):
        acquirer.answers("authorise", APPROVED)
        acquirer.answers("operate", RailBlocked("The key is revoked."))
        payment = pay(api, capture=False).json()

        captured = api.post(f"/api/payments/{payment['reference']}/capture")

        assert (captured.status_code, captured.json()["status"]) == (200, "pending")
        assert (pay(api).status_code, RailBlock.objects.get().account) == (503, "by_refund")

    def test_fails_nothing_that_is_queried(self, api, clock, acquirer):
        acquirer.answers("authorise", LOST)
        acquirer.answers("query", RailBlocked("The key is revoked."))
        pay(api)

        clock.advance(hours=1)
        requery_due()

        assert state(api) == ("pending", "10001")
