"""Expired authorisations: the payment fails, and the amount is released at the acquirer."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from payments.models import CardOperation, Transaction
from payments.rails import RailUnavailable
from payments.services.transactions import expiry, intents, transitions
from payments.tasks import expire_due, requery_due
from tests.transactions import authorised_payment, challenged_payment

pytestmark = pytest.mark.django_db


def run(command, *arguments):
    output = StringIO()
    call_command(command, *arguments, stdout=output, stderr=StringIO())
    return output.getvalue().strip()


@pytest.fixture
def authorised(ada, clock):
    """Return an overdue authorisation that has not been expired yet."""
    payment = authorised_payment(business=ada.business, now=clock.now)
    clock.now = payment.expires_at
    return payment


class TestExpiredAuthorisation:
    def test_has_a_void_that_is_due_at_once(self, authorised, clock):
        expire_due()

        authorised.refresh_from_db()
        void = CardOperation.objects.get()
        assert (authorised.status, authorised.response_code) == ("failed", "20068")
        assert (void.kind, void.status, void.amount) == ("void", "pending", authorised.amount)
        assert (void.created_at, void.next_query_at) == (clock.now, clock.now)
        assert len(void.system_trace_audit_number) == 6
        assert void.retrieval_reference_number != authorised.retrieval_reference_number

    def test_is_released_by_the_next_requery_and_stays_expired(self, authorised):
        expire_due()
        before = Transaction.objects.values().get()

        requery_due()

        void = CardOperation.objects.get()
        assert (void.status, void.response_code) == ("success", "10000")
        assert Transaction.objects.values().get() == before

    def test_is_released_once(self, authorised):
        for _ in range(3):
            expire_due()
            requery_due()

        assert CardOperation.objects.count() == 1

    def test_whose_void_is_declined_stays_expired_and_the_void_fails(self, authorised, settings):
        expire_due()
        settings.CARD_ACQUIRER = "tests.rails.RefusingAcquirer"

        requery_due()
        requery_due()

        authorised.refresh_from_db()
        void = CardOperation.objects.get()
        assert (void.status, void.gateway_code) == ("failed", "05")
        assert (authorised.status, authorised.response_code) == ("failed", "20068")

    def test_has_no_void_if_its_failure_is_not_stored(self, authorised, clock, monkeypatch):
        def fail(*_arguments, **_rest):
            raise LookupError

        monkeypatch.setattr(transitions, "finish", fail)

        with pytest.raises(LookupError):
            expiry.expire_one(authorised.pk, now=clock.now)

        assert not CardOperation.objects.exists()

    def test_stays_open_while_no_trace_number_is_available(self, authorised, clock, monkeypatch):
        class NoNumbers:
            def take(self):
                raise RailUnavailable

        with monkeypatch.context() as without_numbers:
            without_numbers.setattr(intents, "trace_numbers", NoNumbers())
            assert list(expiry.expire([authorised.pk], clock=lambda: clock.now)) == [False]
        assert Transaction.objects.get().awaiting == "capture"

        assert list(expiry.expire([authorised.pk], clock=lambda: clock.now)) == [True]

    def test_has_no_second_void_after_the_merchants_own(self, api, authorised, clock):
        clock.advance(days=-1)
        assert api.post(f"/api/payments/{authorised.reference}/void").status_code == 200
        clock.advance(days=1)

        expire_due()

        assert CardOperation.objects.count() == 1
        assert Transaction.objects.get().response_code == "20090"


class TestEarlierExpiries:
    """Earlier releases expired authorisations without a void."""

    @pytest.fixture
    def unreleased(self, authorised):
        expire_due()
        CardOperation.objects.all().delete()
        return authorised

    def test_are_released_by_the_command(self, unreleased):
        would = run("expire_due", "--dry-run")
        output = run("expire_due")
        run("requery_pending")

        assert would.endswith("Would release 1 expired authorisation at the acquirer.")
        assert output.endswith("Opened the voids of 1 expired authorisation.")
        assert CardOperation.objects.get().status == "success"
        assert "release" not in run("expire_due", "--dry-run")

    def test_are_not_released_twice(self, unreleased, clock):
        ids = expiry.unreleased()
        clock.advance(seconds=1)

        assert list(expiry.release(ids * 2)) == [True, False]
        assert expiry.unreleased() == []


def test_expiry_of_a_challenge_opens_no_void(ada, clock):
    challenged_payment(business=ada.business, now=clock.now)
    clock.now += timedelta(minutes=16)

    expire_due()

    assert Transaction.objects.get().response_code == "20151"
    assert not CardOperation.objects.exists()
