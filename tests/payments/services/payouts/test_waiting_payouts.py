"""Payouts that wait for approval by other members before they are sent."""

from datetime import timedelta
from functools import partial

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from ledger.services import balances
from merchants.models import AuditEntry
from merchants.people.audit import Actor
from payments.models import PayoutApproval, PayoutControls, Transaction
from payments.services.payouts.controls import approvals, payout_freezes, waiting_payouts
from payments.services.payouts.controls.approvals import Needed, PayoutItem
from payments.services.payouts.controls.makers import Maker
from tests import orders
from tests.factories import MemberFactory
from tests.racing import racers
from tests.transactions import start
from webhooks import services as webhooks
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db
STAFF = Actor(name="staff@example.com")


@pytest.fixture
def business(ada):
    return ada.business


@pytest.fixture
def checker(business):
    return MemberFactory(business=business, role="finance").user


def controls(business, **values):
    PayoutControls.objects.update_or_create(business=business, defaults=values)


def waiting(api, **changes):
    made = api.post("/api/payments", orders.payout(**changes)).json()
    assert made["awaiting_approval"] is True
    return Transaction.objects.get(pk=made["id"])


def approve(payout, user):
    return waiting_payouts.approve(payout.pk, user=user, actor=STAFF, now=timezone.now())


class TestApproval:
    def test_lets_a_payout_go_that_waited(self, api, business, checker):
        controls(business, approval="always")
        payout = waiting(api)
        before = api.get(f"/api/payments/{payout.reference}").json()

        approve(payout, checker)

        after = api.get(f"/api/payments/{payout.reference}").json()
        assert (before["status"], before["response_code"], before["fee"]) == ("pending", "10001", 0)
        assert (after["status"], after["response_code"]) == ("success", "10000")
        assert "awaiting_approval" not in after
        call_command("check_ledger")

    def test_is_asked_for_above_the_amount_only(self, api, business):
        controls(business, approval="above", approval_above={"NGN": 100_000})

        below = api.post("/api/payments", orders.payout(amount=100_000)).json()

        assert below["status"] == "success"
        assert waiting(api, amount=100_001).approval.why == "Above NGN 1,000.00"

    def test_takes_the_money_and_gives_it_back_when_rejected(self, api, business, checker):
        controls(business, approval="always")
        payout = waiting(api, amount=400_000)
        taken = balances(business)[0].available

        waiting_payouts.reject(payout.pk, reason="Not ours", user=checker, actor=STAFF, now=timezone.now())

        after = api.get(f"/api/payments/{payout.reference}").json()
        assert (after["status"], after["response_code"]) == ("failed", "20092")
        assert after["response_summary"] == "Payout rejected"
        assert (taken, balances(business)[0].available) == (-401_000, 0)
        call_command("check_ledger")

    def test_is_not_needed_for_keys_where_they_may_pay_alone(self, api, business):
        controls(business, approval="always", keys_need_approval=False)

        assert api.post("/api/payments", orders.payout()).json()["status"] == "success"

    def test_of_the_keys_own_maker_is_refused(self, api, ada, business, checker):
        ada.made_by = checker
        ada.save()
        controls(business, approval="always")
        payout = waiting(api)

        with pytest.raises(approvals.MayNotApprove, match="the key"):
            approve(payout, checker)
        with pytest.raises(approvals.MayNotApprove, match="Only owners"):
            approve(payout, MemberFactory(business=business, role="developer").user)
        with pytest.raises(approvals.MayNotApprove):
            approve(payout, MemberFactory(role="owner").user)  # of another business

        payout.refresh_from_db()
        assert payout.awaiting == "approval"

    def test_of_two_different_members_is_needed_above_the_second_amount(self, api, business, checker):
        controls(business, approval="always", two_approvals_above={"NGN": 100_000})
        payout = waiting(api, amount=100_001)

        assert approve(payout, checker).awaiting == "approval"
        with pytest.raises(approvals.AlreadyApproved):
            approve(payout, checker)
        assert approve(payout, MemberFactory(business=business, role="owner").user).status == "success"

    def test_holds_only_for_what_was_shown(self, api, business, checker):
        controls(business, approval="always")
        payout = waiting(api)
        PayoutApproval.objects.update(digest=approvals.digest_of([]))

        with pytest.raises(approvals.ApprovalChanged):
            approve(payout, checker)

    def test_may_follow_a_limit(self, api, business, checker):
        controls(business, per_payout={"NGN": 100_000}, ask_instead=True)
        payout = waiting(api, amount=100_001)

        assert payout.approval.why == "Over the limit “Per payout”"
        assert approve(payout, checker).status == "success"
        call_command("check_ledger")

    def test_of_a_set_counts_its_sum(self, business, checker):
        controls(business, approval="above", approval_above={"NGN": 150})
        items = [PayoutItem(f"row-{row}", 100, "NGN", "0123456789", "058", "Ada") for row in range(2)]
        maker = Maker.of_member(MemberFactory(business=business, role="owner").user)

        assert approvals.needed(None, items, maker=maker) == Needed(0, "")
        needed = approvals.needed(business.payout_controls, items, maker=maker)
        asked = approvals.open_approval(
            business=business, items=items, maker=maker, needed=needed, now=timezone.now()
        )

        assert needed == Needed(1, "Above NGN 1.50")
        with pytest.raises(approvals.ApprovalChanged):
            approvals.approve(asked.pk, items=items[:1], user=checker, now=timezone.now())
        given = approvals.approve(asked.pk, items=items, user=checker, now=timezone.now())
        assert given.state == PayoutApproval.State.APPROVED


class TestEndOfWaiting:
    def test_is_a_failure_after_72_hours(self, api, business, checker):
        controls(business, approval="always")
        payout = waiting(api)
        due = payout.approval.expires_at

        assert waiting_payouts.expire_overdue(now=due - timedelta(seconds=1)) == 0
        assert waiting_payouts.expire_overdue(now=due) == 1

        payout = Transaction.objects.get(pk=payout.pk)
        assert (payout.status, payout.response_code) == ("failed", "20092")
        assert payout.approval.state == "expired"
        assert AuditEntry.objects.get(action="payout.expired").target == payout.reference
        with pytest.raises(approvals.AlreadyDecided):
            approve(payout, checker)

    def test_after_72_hours_is_mailed_at_most_once_an_hour(self, api, business, checker, mailoutbox):
        controls(business, approval="always")
        due = [waiting(api).approval.expires_at for _ in range(3)]

        waiting_payouts.expire_overdue(now=due[1])
        waiting_payouts.expire_overdue(now=due[2])

        (sent,) = mailoutbox
        assert sent.subject == f"Payouts of {business.name} were not approved in time"
        assert "2 payouts waited for approval for 72 hours, and failed." in sent.body
        assert "/dashboard/payouts/?status=failed" in sent.body
        assert checker.email in sent.bcc + sent.to

    def test_can_be_a_cancellation_by_the_key(self, api, business):
        controls(business, approval="always")
        payout = waiting(api)

        cancelled = api.post(f"/api/payments/{payout.reference}/cancel", {})
        again = api.post(f"/api/payments/{payout.reference}/cancel", {})

        assert (cancelled.status_code, cancelled.json()["response_code"]) == (200, "20091")
        assert again["Idempotent-Replayed"] == "true"
        assert PayoutApproval.objects.get().state == "cancelled"
        assert balances(business)[0].available == 0
        call_command("check_ledger")

    def test_sends_no_event_before_and_one_after(self, api, business, checker):
        webhooks.configure(
            business=business,
            url="http://127.0.0.1:9/hook",
            subscribed_events=["payout"],
            enabled=True,
            actor=STAFF,
            now=timezone.now(),
        )
        controls(business, approval="always")
        payout = waiting(api)
        assert not Delivery.objects.exists()

        approve(payout, checker)

        assert Delivery.objects.get().event == Event.PAYOUT_SUCCESS


class TestFreeze:
    def test_refuses_new_payouts_and_keeps_those_that_wait(self, api, business, checker):
        controls(business, approval="always")
        payout, due = waiting(api), None
        payout_freezes.freeze(business, reason="Stolen key", actor=STAFF, now=timezone.now())

        refused = api.post("/api/payments", orders.payout())
        with pytest.raises(payout_freezes.PayoutsFrozen):
            approve(payout, checker)
        due = payout.approval.expires_at
        later = due + timedelta(days=1)
        assert waiting_payouts.expire_overdue(now=later) == 0
        payout_freezes.lift(business, reason="Key revoked", actor=STAFF, now=later)

        assert (refused.status_code, refused.json()["code"]) == (409, "payouts_frozen")
        assert waiting_payouts.expire_overdue(now=later) == 0
        assert approve(payout, checker).status == "success"

    def test_does_not_touch_what_was_sent(self, api, business):
        order = orders.payout(
            customer={"name": "Ada Obi", "account_number": "0000000097", "bank_code": "058"}
        )
        api.post("/api/payments", order)
        payout_freezes.freeze(business, reason="Stolen key", actor=STAFF, now=timezone.now())

        call_command("requery_pending")

        assert api.get(f"/api/payments/{order['reference']}").json()["status"] == "success"


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
def test_only_one_of_parallel_decisions_counts(business, checker):
    """Fails without the lock of the payout in `_lock_waiting` and `cancel`."""
    controls(business, approval="always")
    other, now = MemberFactory(business=business, role="owner").user, timezone.now()
    acting = {"actor": STAFF, "now": now}
    with racers(4) as line:
        for _ in range(10):
            payout = start(orders.payout(), business=business, now=now)
            line.race(
                partial(waiting_payouts.approve, payout.pk, user=checker, **acting),
                partial(waiting_payouts.approve, payout.pk, user=other, **acting),
                partial(waiting_payouts.reject, payout.pk, reason="No", user=other, **acting),
                partial(waiting_payouts.cancel, payout.pk, now=now),
            )

            ended = Transaction.objects.get(pk=payout.pk)
            assert (ended.status, ended.approval.state) in {
                ("success", "approved"),
                ("failed", "rejected"),
                ("failed", "cancelled"),
            }
            assert ended.transitions.filter(attribute="status").count() == 1
    call_command("check_ledger")
