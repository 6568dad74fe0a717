"""What a batch waits for before it is sent: approval by other members, the business's server, limits and freezes."""

from datetime import timedelta
from itertools import cycle

import pytest
from django.db import transaction as database
from django.utils import timezone

from merchants.models import AuditEntry
from merchants.people.audit import Actor
from payments.models import InvalidState, PayoutApproval, PayoutControls, PayoutServerQuestion, Transaction
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls import approvals, payout_freezes, waiting_payouts
from payments.services.payouts.controls.approvals import ApprovalChanged, MayNotApprove
from payments.services.payouts.controls.makers import NO_MAKER
from payments.services.payouts.controls.server_questions import Answer, Decision
from payments.services.staff.actions import business_closing
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.services import batches, checks, corrections, sending, server_answers
from tests import orders
from tests.batches import checked_batch
from tests.beneficiaries import beneficiary_of, blocked_beneficiary
from tests.factories import ApiKeyFactory, MemberFactory, UserFactory
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def business(ada):
    return ada.business


@pytest.fixture
def checker(business):
    return MemberFactory(business=business, role="finance").user


def controls(business, **values):
    PayoutControls.objects.update_or_create(business=business, defaults=values)


def acting():
    return {"actor": Actor(name="test"), "now": timezone.now()}


def server_deciding(business, monkeypatch, *decisions, text=""):
    """Give the business a server that decides all questions so, or if several decisions are given, one question by each."""
    controls(business, server_url="http://127.0.0.1:9/ask")
    left = cycle(decisions) if len(decisions) == 1 else iter(decisions)
    monkeypatch.setattr(
        server_answers.server_questions,
        "ask",
        lambda found: [Answer(each.id, next(left), text) for each in found],
    )


def asked(business):
    """Return a batch whose approval was asked for."""
    controls(business, approval="always", approval_above={})
    made = checked_batch(business)
    batches.approve(made.pk, **acting())
    made.refresh_from_db()
    return made


def test_waits_until_another_member_approves_all_of_it(business, checker):
    made = asked(business)
    sending.send_due()
    assert (made.status, Transaction.objects.count()) == ("awaiting_approval", 0)
    with pytest.raises(MayNotApprove):
        batches.approve_as_member(made.pk, user=UserFactory(), **acting())

    batches.approve_as_member(made.pk, user=checker, **acting())
    sending.send_due()

    made.refresh_from_db()
    assert made.status == "completed"
    assert set(Transaction.objects.values_list("status", flat=True)) == {"success"}


def test_is_not_approved_by_who_changed_an_account_of_it(business, checker):
    controls(business, approval="always")
    made = checked_batch(business)
    corrections.correct(made.items.first().pk, account_number="0129998887", user=checker, **acting())
    checks.check_due()
    batches.approve(made.pk, **acting())

    with pytest.raises(MayNotApprove, match="You changed an account of this batch"):
        batches.approve_as_member(made.pk, user=checker, **acting())

    other = MemberFactory(business=business, role="owner").user
    assert batches.approve_as_member(made.pk, user=other, **acting()).status == "processing"


def test_of_an_exempt_key_needs_approval_once_a_member_changed_an_account_of_it(business, checker):
    controls(business, approval="always", keys_need_approval=False)
    made = checked_batch(business)
    PayoutBatch.objects.filter(pk=made.pk).update(key=ApiKeyFactory(business=business))
    corrections.correct(made.items.first().pk, account_number="0129998887", user=checker, **acting())
    checks.check_due()

    batches.approve(made.pk, **acting())

    made.refresh_from_db()
    assert (made.status, made.approval.why) == ("awaiting_approval", "Every payout needs approval")
    with pytest.raises(MayNotApprove, match="You changed an account of this batch"):
        batches.approve_as_member(made.pk, user=checker, **acting())


def test_retry_is_not_approved_by_who_changed_an_account_of_what_it_repeats(business, checker):
    controls(business, approval="always")
    made = checked_batch(business)
    corrections.correct(made.items.first().pk, account_number="0129998887", user=checker, **acting())
    checks.check_due()
    batches.approve(made.pk, **acting())
    batches.reject(made.pk, reason="Wrong week", user=checker, **acting())

    again = batches.retry(made.pk, maker=NO_MAKER, **acting()).resource
    checks.check_due()
    batches.approve(again.pk, **acting())

    with pytest.raises(MayNotApprove, match="You changed an account of this batch"):
        batches.approve_as_member(again.pk, user=checker, **acting())


def test_payout_over_a_limit_is_not_approved_by_who_changed_its_account(business, checker):
    made = checked_batch(business, orders.batch_item(0))
    maker = MemberFactory(business=business, role="owner").user
    PayoutBatch.objects.filter(pk=made.pk).update(maker=maker)
    corrections.correct(made.items.get().pk, account_number="0129998887", user=checker, **acting())
    checks.check_due()
    batches.approve(made.pk, **acting())
    controls(business, per_payout={"NGN": 100}, ask_instead=True)

    sending.send_due()

    payout = Transaction.objects.get(awaiting=Transaction.Awaiting.APPROVAL)
    for one in (checker, maker):
        with pytest.raises(MayNotApprove, match="You made this payout"):
            waiting_payouts.approve(payout.pk, user=one, **acting())
    other = MemberFactory(business=business, role="owner").user
    assert waiting_payouts.approve(payout.pk, user=other, **acting()).status == "success"


def test_changed_after_approval_was_asked_for_is_refused(business, checker):
    made = asked(business)
    PayoutBatchItem.objects.filter(position=1).update(amount=1)

    with pytest.raises(ApprovalChanged):
        batches.approve_as_member(made.pk, user=checker, **acting())


def test_changed_after_it_was_approved_is_not_sent(business, checker):
    made = asked(business)
    batches.approve_as_member(made.pk, user=checker, **acting())
    PayoutBatchItem.objects.filter(position=1).update(account_number="0124559810")

    sending.send_due()

    made.refresh_from_db()
    assert (made.status, Transaction.objects.count()) == ("cancelled", 0)
    assert made.items.filter(state="failed", problem__contains="have changed").count() == 3


def test_changed_after_its_first_payout_failed_is_not_sent(business, checker):
    made = asked(business)
    batches.approve_as_member(made.pk, user=checker, **acting())
    made.items.filter(position=1).update(state="failed", problem="The bank is not listed any more.")
    made.items.filter(position=2).update(account_number="0124559810")

    sending.send_due()

    made.refresh_from_db()
    assert (made.status, Transaction.objects.count()) == ("cancelled", 0)


def test_rejected_fails_its_items(business, checker):
    made = asked(business)

    batches.reject(made.pk, reason="Wrong week", user=checker, **acting())
    sending.send_due()

    made.refresh_from_db()
    assert made.status == "cancelled"
    assert {each.problem for each in made.items.all()} == {"20092 Payout rejected: Wrong week"}
    assert not Transaction.objects.exists()


def test_without_a_decision_is_cancelled_after_72_hours(api, business, checker):
    made = asked(business)

    advanced = api.post("/api/sandbox/advance", {"payout_batch": made.reference})

    assert (advanced.status_code, advanced.json()["status"]) == (200, "cancelled")
    assert advanced.json()["counts"] == {"cancelled": 3}
    assert AuditEntry.objects.get(action="payout_batch.expired").target == made.reference


@pytest.mark.parametrize("decision", [Decision.APPROVE, Decision.DENY])
def test_server_is_asked_once_about_all_of_it(business, monkeypatch, decision):
    controls(business, server_url="http://127.0.0.1:9/ask")
    questions = []

    def ask(found):
        questions.extend(found)
        return [Answer(each.id, decision, "") for each in found]

    monkeypatch.setattr(server_answers.server_questions, "ask", ask)
    made = checked_batch(business)
    batches.approve(made.pk, **acting())
    assert PayoutServerQuestion.objects.count() == 1

    sending.send_due()

    made.refresh_from_db()
    sent = Transaction.objects.count()
    assert (made.status, len(questions), sent) == ("completed", 1, 3 if decision is Decision.APPROVE else 0)


def test_server_that_does_not_answer_is_asked_again_when_the_sandbox_advances(api, business, monkeypatch):
    server_deciding(business, monkeypatch, Decision.NONE, Decision.NONE, Decision.APPROVE)
    made = checked_batch(business)
    batches.approve(made.pk, **acting())
    sending.send_due()

    states = [
        api.post("/api/sandbox/advance", {"payout_batch": made.reference}).json()["status"] for _ in range(2)
    ]

    assert states == ["processing", "completed"]


def test_says_that_it_waits_for_the_server(api, business, monkeypatch):
    server_deciding(business, monkeypatch, Decision.NONE, Decision.APPROVE, text="The server answered 500.")
    made = checked_batch(business)
    address = f"/api/payout-batches/{made.reference}"

    asked_now = api.post(f"{address}/approve").json()["waits_for"]
    sending.send_due()
    asked_again = api.get(address).json()["waits_for"]
    ended = api.post("/api/sandbox/advance", {"payout_batch": made.reference}).json()

    assert asked_now == "Your server is asked about this batch."
    assert asked_again == "Your server is asked about this batch. The server answered 500."
    assert (ended["status"], ended.get("waits_for")) == ("completed", None)


@pytest.mark.parametrize("decision", [Decision.DENY, Decision.NONE])
def test_says_that_the_server_rejected_it(business, monkeypatch, decision):
    server_deciding(business, monkeypatch, decision, text="The server answered 500.")
    made = checked_batch(business)
    batches.approve(made.pk, **acting())
    for _ in range(server_answers.server_questions.ATTEMPTS):
        PayoutServerQuestion.objects.update(next_attempt_at=timezone.now())
        sending.send_due()

    problem = {
        Decision.DENY: "20092 Payout rejected: your server denied it.",
        Decision.NONE: "20092 Payout rejected: your server did not approve it. The server answered 500.",
    }[decision]
    assert {each.problem for each in made.items.all()} == {problem}


def test_that_the_server_rejected_ends_before_its_time(business, monkeypatch):
    server_deciding(business, monkeypatch, Decision.DENY)
    make_endpoint(business=business, events=["payout_batch"])
    made = checked_batch(business)
    batches.schedule(made.pk, timezone.now() + timedelta(days=1), **acting())
    batches.approve(made.pk, **acting())

    sending.send_due()

    made.refresh_from_db()
    assert (made.status, made.finished_at is not None) == ("completed", True)
    assert [each.event for each in Delivery.objects.all()] == ["batch.completed"]


def test_server_is_not_asked_about_a_cancelled_batch(business, monkeypatch):
    server_deciding(business, monkeypatch, Decision.DENY)
    made = checked_batch(business)
    batches.approve(made.pk, **acting())
    batches.cancel(made.pk, **acting())
    finished_at = PayoutBatch.objects.get(pk=made.pk).finished_at

    sending.send_due()

    made.refresh_from_db()
    question = PayoutServerQuestion.objects.get()
    assert (question.state, question.attempts) == (PayoutServerQuestion.State.CANCELLED, 0)
    assert (made.status, made.finished_at) == ("cancelled", finished_at)


def test_ends_once(business):
    made = checked_batch(business)
    batches.cancel(made.pk, **acting())

    with database.atomic():
        assert not batches.end_if_final(batches.lock(made.pk), now=timezone.now())


def test_payout_over_a_limit_fails_and_the_others_go_on(business):
    made = checked_batch(business, orders.batch_item(0), orders.batch_item(1, amount=12_000))
    controls(business, per_payout={"NGN": 15_000})
    batches.approve(made.pk, **acting())

    sending.send_due()

    assert [each.status for each in made.items.order_by("position")] == ["failed", "success"]


def test_over_a_limit_beside_those_before_it_needs_a_reason(business):
    controls(business, per_day={"NGN": 45_000})
    made = checked_batch(business)

    states = {each.reference: each.state for each in made.items.order_by("position")}
    assert (made.status, list(states.values())) == ("needs_correction", ["ok", "ok", "over_limit"])
    assert "“Per day”" in made.items.get(state="over_limit").problem
    with pytest.raises(InvalidState):
        batches.approve(made.pk, **acting())

    batches.approve(made.pk, accept={list(states)[2]: "Tomorrow"}, **acting())
    sending.send_due()

    assert [each.status for each in made.items.order_by("position")] == ["success", "success", "failed"]


def test_over_a_limit_is_paid_after_approval_where_the_business_asks_instead(business, checker):
    controls(business, per_payout={"NGN": 15_000}, ask_instead=True)
    made = checked_batch(business, orders.batch_item(0), orders.batch_item(1, amount=12_000))
    over = made.items.get(state="over_limit")

    batches.approve(made.pk, accept={over.reference: "The yearly rent"}, **acting())
    sending.send_due()
    made.refresh_from_db()
    assert (made.status, made.approval.why) == ("awaiting_approval", "Over a limit")

    batches.approve_as_member(made.pk, user=checker, **acting())
    sending.send_due()
    assert {each.status for each in made.items.all()} == {"success"}


def test_beneficiary_blocked_after_the_approval_is_not_paid_and_the_others_are(business, checker):
    controls(business, approval="always")
    saved = beneficiary_of(business)
    made = checked_batch(
        business, orders.batch_item(0, customer={"beneficiary": saved.reference}), orders.batch_item(1)
    )
    batches.approve(made.pk, **acting())
    batches.approve_as_member(made.pk, user=checker, **acting())
    beneficiaries.block(saved.pk, reason="Forged invoice", **acting())

    sending.send_due()

    made.refresh_from_db()
    blocked, other = made.items.order_by("position")
    assert (blocked.status, other.status, made.status) == ("failed", "success", "completed")
    assert blocked.problem.startswith("This beneficiary is blocked.")
    assert [each.account_number for each in Transaction.objects.all()] == [other.account_number]


def test_account_blocked_after_the_approval_is_not_paid_although_the_file_names_no_beneficiary(
    business, checker
):
    made = asked(business)
    batches.approve_as_member(made.pk, user=checker, **acting())
    item = made.items.order_by("position").first()
    blocked_beneficiary(business, account_number=item.account_number, bank_code=item.bank_code)

    sending.send_due()

    item.refresh_from_db()
    assert item.status == "failed"
    assert not Transaction.objects.filter(account_number=item.account_number).exists()


def test_business_closed_after_the_approval_pays_nothing(business, checker):
    made = asked(business)
    batches.approve_as_member(made.pk, user=checker, **acting())
    closing = business_closing.closing(business, reason="Fraud")
    business_closing.perform(closing, Actor(name="staff"), timezone.now())

    sending.send_due()

    made.refresh_from_db()
    assert (made.status, Transaction.objects.count()) == ("processing", 0)
    assert made.waits_for == "The operator has frozen the payouts of this business."


def test_freeze_lets_it_wait(business):
    made = checked_batch(business)
    batches.approve(made.pk, **acting())
    controls(business, frozen_at=timezone.now(), freeze_reason="Stolen key")

    sending.send_due()

    made.refresh_from_db()
    assert (made.status, Transaction.objects.count()) == ("processing", 0)
    assert made.waits_for == "The operator has frozen the payouts of this business."


def test_approval_asked_for_during_a_freeze_has_all_its_time_afterwards(business, checker):
    frozen_at = timezone.now() - timedelta(days=5)
    payout_freezes.freeze(business, reason="Stolen key", actor=Actor(name="staff"), now=frozen_at)
    made = asked(business)
    asked_at = frozen_at + timedelta(days=1)
    PayoutApproval.objects.update(created_at=asked_at, expires_at=asked_at + approvals.LIFETIME)

    lifted_at = timezone.now()
    payout_freezes.lift(business, reason="Key revoked", actor=Actor(name="staff"), now=lifted_at)
    sending.send_due()

    assert PayoutApproval.objects.get().expires_at == lifted_at + approvals.LIFETIME
    assert batches.approve_as_member(made.pk, user=checker, **acting()).status == "processing"
