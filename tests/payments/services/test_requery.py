from datetime import timedelta
from io import StringIO
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.db import OperationalError

from payments.models import CardOperation, Challenge, Transaction
from payments.services.rails import requery
from payments.services.transactions import expiry
from payments.tasks import expire_due, requery_due
from tests import orders
from tests.transactions import authorised_payment, captured_payment, challenged_payment, enter_code

pytestmark = pytest.mark.django_db

LOST = 50_098


def run(command, *arguments):
    output = StringIO()
    call_command(command, *arguments, stdout=output, stderr=StringIO())
    return output.getvalue().strip()


class TestIntervals:
    def test_grow_up_to_a_limit(self, ada, clock, settings):
        settings.CARD_ACQUIRER = "tests.rails.SilentAcquirer"
        payment = captured_payment(business=ada.business, now=clock.now, amount=LOST)
        waits = [payment.next_query_at - clock.now]

        for _ in range(9):
            clock.now = payment.next_query_at
            requery_due()
            payment.refresh_from_db()
            waits.append(payment.next_query_at - clock.now)

        assert waits == [timedelta(seconds=10), *requery.INTERVALS, *[requery.INTERVALS[-1]] * 2]
        assert list(requery.INTERVALS) == sorted(set(requery.INTERVALS))
        assert (payment.status, payment.queries_made) == ("pending", 9)

    def test_also_grow_for_a_refund(self, ada, api, clock, settings):
        settings.CARD_ACQUIRER = "tests.rails.SilentAcquirer"
        payment = captured_payment(business=ada.business, now=clock.now)
        lost = {"reference": "rf", "amount": 20_098}
        api.post(f"/api/payments/{payment.reference}/refunds", lost)
        refund = CardOperation.objects.get()
        waits = []

        for _ in range(3):
            clock.now = refund.next_query_at
            requery_due()
            refund.refresh_from_db()
            waits.append(refund.next_query_at - clock.now)

        assert waits == list(requery.INTERVALS[:3])
        assert (refund.status, refund.queries_made) == ("pending", 3)

    def test_are_used_by_the_scheduler(self, ada, clock):
        payment = captured_payment(business=ada.business, now=clock.now, amount=LOST)

        clock.advance(seconds=9)
        requery_due()
        payment.refresh_from_db()
        before = payment.status
        clock.advance(seconds=1)
        requery_due()

        payment.refresh_from_db()
        assert (before, payment.status) == ("pending", "success")


class TestRequery:
    def test_completes_an_authorisation_without_an_answer(self, ada, clock):
        payment = authorised_payment(business=ada.business, now=clock.now, amount=LOST)

        run("requery_pending")

        payment.refresh_from_db()
        assert (payment.awaiting, payment.amount_captured) == ("capture", 0)
        assert payment.expires_at == clock.now + timedelta(days=7)

    def test_completes_a_payment_after_its_challenge(self, ada, clock):
        payment = challenged_payment(business=ada.business, now=clock.now, amount=LOST)
        enter_code(challenge=payment.challenge, code="123456", now=clock.now)

        run("requery_pending")

        payment.refresh_from_db()
        assert payment.status == "success"

    def test_ignores_a_challenge_that_awaits_its_payer(self, ada, clock):
        payment = challenged_payment(business=ada.business, now=clock.now)

        output = run("requery_pending")

        payment.refresh_from_db()
        assert output == "Queried 0 unknown outcomes; 0 answered."
        assert payment.awaiting == "payer"

    def test_that_began_before_the_challenge_passed_does_not_reopen_it(self, ada, clock, settings):
        settings.CARD_ACQUIRER = "tests.rails.CrashingAcquirer"
        with pytest.raises(LookupError):
            challenged_payment(business=ada.business, now=clock.now, amount=LOST)
        begun = requery.unanswered()
        run("requery_pending")
        enter_code(challenge=Challenge.objects.get(), code="123456", now=clock.now)

        list(requery.query_leased(begun, clock=lambda: clock.now))

        payment = Transaction.objects.get()
        assert payment.awaiting == "rail"
        assert [move.after for move in payment.transitions.order_by("pk")] == ["payer", "rail"]
        assert payment.challenge.passed_at == clock.now

    def test_failure_of_one_does_not_delay_the_others(self, ada, clock, settings, caplog):
        settings.CARD_ACQUIRER = "tests.rails.CrashingAcquirer"
        for amount in (666, 777):
            with pytest.raises(LookupError):
                captured_payment(business=ada.business, now=clock.now, amount=amount)
        settings.CARD_ACQUIRER = "tests.rails.FailingQueryAcquirer"

        clock.advance(minutes=1)
        requery_due()

        wrong, right = Transaction.objects.order_by("amount")
        assert (wrong.status, wrong.queries_made) == ("pending", 1)
        assert wrong.next_query_at > clock.now
        assert right.status == "success"
        assert "requery failed" in caplog.text

    def test_is_repeated_at_the_same_interval_after_a_database_error(self, ada, clock, settings, monkeypatch):
        lost = [captured_payment(business=ada.business, now=clock.now, amount=LOST) for _ in range(5)]
        clock.advance(seconds=10)
        with monkeypatch.context() as patch:
            patch.setattr(requery.transitions, "apply_answer", Mock(side_effect=OperationalError))
            due = requery.unanswered(due_at=clock.now)
            asked = list(requery.query_leased(due, clock=lambda: clock.now))
        assert [one.is_answered for one in asked] == [False] * requery.MAX_STORAGE_FAILURES
        assert len(requery.unanswered(due_at=clock.now)) == len(lost)

        requery_due()

        assert {*Transaction.objects.values_list("status", "queries_made")} == {("success", 0)}

    def test_stays_pending_if_its_connector_is_no_longer_configured(self, ada, clock, settings):
        payment = captured_payment(business=ada.business, now=clock.now, amount=LOST)

        settings.CARD_ACQUIRER = ""
        output = run("requery_pending")

        payment.refresh_from_db()
        assert output == "Queried 1 unknown outcome; 0 answered."
        assert (payment.status, payment.queries_made) == ("pending", 1)


class TestPendingAnswer:
    """The rail answers "processing" first. No outcome is assumed."""

    def test_leaves_a_payment_pending(self, api, settings):
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"

        payment = api.post("/api/payments", orders.card_payment(amount=10_051)).json()
        run("requery_pending")

        assert (payment["status"], payment["response_code"]) == ("pending", "10001")
        after = api.get(f"/api/payments/{payment['reference']}").json()
        assert (after["status"], after["response_code"]) == ("failed", "20051")

    def test_leaves_a_payout_pending(self, api, settings):
        settings.PAYOUT_BANK = "tests.rails.SlowBank"

        payout = api.post("/api/payments", orders.payout()).json()
        run("requery_pending")

        assert payout["status"] == "pending"
        assert api.get(f"/api/payments/{payout['reference']}").json()["status"] == "success"

    def test_leaves_a_refund_pending(self, api, settings):
        order = orders.card_payment()
        api.post("/api/payments", order)
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        refunds = f"/api/payments/{order['reference']}/refunds"

        refund = api.post(refunds, {"reference": "rf", "amount": 100}).json()
        run("requery_pending")

        assert refund["status"] == "pending"
        assert api.get(refunds).json()["data"][0]["status"] == "success"


class TestCrashBetweenIntentAndAnswer:
    @pytest.fixture(autouse=True)
    def _rail_that_crashes(self, settings):
        settings.CARD_ACQUIRER = "tests.rails.CrashingAcquirer"

    def test_returns_500_and_gets_its_outcome_later(self, api, settings):
        order = orders.card_payment()

        crash = api.post("/api/payments", order)
        pending = api.get(f"/api/payments/{order['reference']}").json()
        again = api.post("/api/payments", order)
        run("requery_pending")

        assert (crash.status_code, crash.json()["code"]) == (500, "internal_error")
        assert (pending["status"], pending["response_code"]) == ("pending", "10001")
        assert (again.status_code, again.json()) == (200, pending)
        assert api.get(f"/api/payments/{order['reference']}").json()["status"] == "success"

    def test_never_skips_the_payers_challenge(self, api):
        order = orders.card_payment(three_ds={"enabled": True})

        api.post("/api/payments", order)
        run("requery_pending")

        payment = api.get(f"/api/payments/{order['reference']}").json()
        assert payment["status"] == "pending"
        assert payment["redirect_link"].endswith(Challenge.objects.get().token)

    @pytest.mark.parametrize("action", ["capture", "void"])
    def test_of_a_capture_or_void_is_resolved_later(self, api, settings, action):
        settings.CARD_ACQUIRER = "payments.rails.sandbox.SandboxAcquirer"
        order = orders.card_payment(capture=False)
        address = f"/api/payments/{order['reference']}"
        api.post("/api/payments", order)
        settings.CARD_ACQUIRER = "tests.rails.CrashingAcquirer"

        crash = api.post(f"{address}/{action}")
        pending = api.get(address).json()["status"]
        run("requery_pending")

        assert (crash.status_code, pending) == (500, "pending")
        assert api.get(address).json()["response_code"] == {"capture": "10000", "void": "20090"}[action]


class TestUnconfiguredRail:
    @pytest.mark.parametrize("order", [orders.card_payment(), orders.card_check(), orders.payout()])
    def test_returns_503_and_stores_nothing(self, api, settings, order):
        settings.CARD_ACQUIRER = settings.PAYOUT_BANK = ""

        answer = api.post("/api/payments", order)

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert int(answer["Retry-After"]) > 0
        assert not Transaction.objects.exists()

    def test_reports_invalid_requests_first(self, api, settings):
        settings.CARD_ACQUIRER = ""

        assert api.post("/api/payments", orders.card_payment(amount=0)).status_code == 400

    @pytest.mark.parametrize("rest", ["/capture", "/void", "/refunds"])
    def test_leaves_a_payment_unchanged(self, api, settings, rest):
        order = orders.card_payment(capture=rest == "/refunds")
        api.post("/api/payments", order)
        settings.CARD_ACQUIRER = ""

        body = {"reference": "rf"} if rest == "/refunds" else None
        answer = api.post(f"/api/payments/{order['reference']}{rest}", body)

        assert answer.status_code == 503
        assert not CardOperation.objects.exists()


class TestCommands:
    def test_requery_pending_counts_without_querying_on_a_dry_run(self, ada, clock):
        payment = captured_payment(business=ada.business, now=clock.now, amount=LOST)

        output = run("requery_pending", "--dry-run")

        payment.refresh_from_db()
        assert output == "Would query 1 unknown outcome."
        assert (payment.status, payment.queries_made) == ("pending", 0)

    def test_requery_pending_queries_all_or_due_ones(self, ada, clock):
        captured_payment(business=ada.business, now=clock.now, amount=LOST)

        due, everything = run("requery_pending", "--due"), run("requery_pending")

        assert due == "Queried 0 unknown outcomes; 0 answered."
        assert everything == "Queried 1 unknown outcome; 1 answered."

    def test_expire_due_counts_without_changes_on_a_dry_run(self, ada, clock):
        payment = authorised_payment(business=ada.business, now=clock.now)
        challenged_payment(business=ada.business, now=clock.now)
        clock.advance(days=8)

        output = run("expire_due", "--dry-run")

        payment.refresh_from_db()
        assert output == "Would expire 2 transactions."
        assert payment.status == "pending"

    def test_expire_due_expires_overdue_payments_once(self, ada, clock):
        over = authorised_payment(business=ada.business, now=clock.now)
        clock.advance(days=6)
        not_over = authorised_payment(business=ada.business, now=clock.now)
        clock.advance(days=1)

        first, second = run("expire_due"), run("expire_due")

        over.refresh_from_db()
        not_over.refresh_from_db()
        assert (first, second) == ("Expired 1 transaction.", "Expired 0 transactions.")
        assert (over.response_code, not_over.status) == ("20068", "pending")

    def test_expire_due_continues_after_a_failure(self, ada, clock, monkeypatch, caplog):
        wrong = authorised_payment(business=ada.business, now=clock.now)
        right = authorised_payment(business=ada.business, now=clock.now)
        clock.advance(days=8)
        expire_one = expiry.expire_one

        def fail(transaction_id, *, now):
            if transaction_id == wrong.pk:
                raise LookupError
            return expire_one(transaction_id, now=now)

        monkeypatch.setattr(expiry, "expire_one", fail)
        output = run("expire_due")

        right.refresh_from_db()
        assert output == "Expired 1 transaction."
        assert right.response_code == "20068"
        assert "expiry failed" in caplog.text

    def test_the_scheduler_also_expires(self, ada, clock):
        payment = challenged_payment(business=ada.business, now=clock.now)
        clock.advance(minutes=15)

        expire_due()

        payment.refresh_from_db()
        assert payment.response_code == "20151"
