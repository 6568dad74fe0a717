"""Payout batches by API: checked, approved, sent, followed, cancelled and retried."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core import mail
from django.db import connection, connections
from django.utils import timezone

from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import Beneficiary, PayoutControls, ReservedReference, Tariff, Transaction
from payments.rails.protocol import AnswerLost
from payments.rails.sandbox import SandboxBank
from payments.rules.fees import Flow
from payments.services import fee_rules
from payments.services.payouts import payouts
from payments.services.payouts.controls.server_questions import Answer, Decision
from payments.services.rails import requery
from payout_batches.models import PayoutBatch, PayoutBatchItem, WorkLease
from payout_batches.services import checks, corrections, sending, server_answers
from tests import orders
from tests.beneficiaries import beneficiary_of, blocked_beneficiary
from tests.factories import MemberFactory
from tests.settling import STAFF
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

PATH = "/api/payout-batches"


def violations():
    return [one.invariant.name for one in check(INVARIANTS) if not one.holds]


@pytest.fixture
def events(ada):
    """Subscribe to events of batches, and return a function that returns all events."""
    make_endpoint(business=ada.business, events=["payout_batch"])
    return lambda: [json.loads(each.body) for each in Delivery.objects.order_by("created_at")]


@pytest.fixture(autouse=True)
def fast(settings):
    settings.PAYOUT_BATCH_RATE = 1_000


def created(api, *items, **changes):
    answer = api.post(PATH, orders.payout_batch(*items, **changes))
    assert answer.status_code == 201, answer.json()
    return answer.json()["reference"]


def checked(api, *items, **changes):
    reference = created(api, *items, **changes)
    checks.check_due()
    return reference


def sent(api, *items, **changes):
    reference = checked(api, *items, **changes)
    answer = approve(api, reference)
    assert answer.status_code == 200, answer.json()
    sending.send_due()
    return reference


def approve(api, reference, **body):
    return api.post(f"{PATH}/{reference}/approve", body)


def look(api, reference):
    return api.get(f"{PATH}/{reference}").json()


def statuses(api, reference):
    return [each["status"] for each in api.get(f"{PATH}/{reference}/payouts").json()["data"]]


def errors(answer):
    return {each["field"]: each["code"] for each in answer.json()["errors"]}


def to_account(number, place=0, **changes):
    customer = {"name": f"Supplier {place}", "account_number": number, "bank_code": "058"}
    return orders.batch_item(place, customer=customer, **changes)


def test_is_checked_approved_sent_and_completed(api, ada, events):
    request = orders.payout_batch(reference="wk48")
    answer = api.post(PATH, request)
    assert (answer.status_code, answer.headers["Location"]) == (201, f"{PATH}/wk48")
    assert answer.json()["counts"] == {"checking": 3}
    assert approve(api, "wk48").json()["code"] == "invalid_state"

    checks.check_due()
    ready = look(api, "wk48")
    assert (ready["status"], ready["counts"], ready["sums"]) == ("ready", {"ok": 3}, {"ok": 60_000})
    assert (ready["fees"], ready["available"], ready["missing"]) == (3_000, 0, 63_000)
    first = request["payouts"][0]["reference"]
    assert api.get(f"/api/payments/{first}").status_code == 404

    assert approve(api, "wk48").json()["status"] == "processing"
    assert approve(api, "wk48").headers["Idempotent-Replayed"] == "true"
    sending.send_due()
    done = look(api, "wk48")
    assert (done["status"], done["counts"], done["missing"]) == ("completed", {"success": 3}, 0)
    items = api.get(f"{PATH}/wk48/payouts").json()["data"]
    assert [each["reference"] for each in items] == [each["reference"] for each in request["payouts"]]
    assert items[0]["payout"] == api.get(f"/api/payments/{first}").json()
    again = api.post(PATH, request)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert api.get(PATH).json()["data"] == [done]
    completed = [each for each in events() if each["event"] == "payout_batch.completed"]
    assert [each["data"]["counts"] for each in completed] == [{"success": 3}]
    assert violations() == []


def test_reports_every_error_of_every_payout_and_stores_nothing(api, ada):
    api.post("/api/payments", orders.payout(reference="used"))
    items = [
        orders.batch_item(0, amount=10.5, reference="a b"),
        orders.batch_item(1, currency="USD"),
        orders.batch_item(2, customer={"beneficiary": "nobody", "name": "X"}),
    ]
    answer = api.post(PATH, orders.payout_batch(*items, title="", reference="x" * 91))
    assert errors(answer) == {
        "reference": "invalid_length",
        "title": "invalid_length",
        "payouts.0.amount": "invalid",
        "payouts.0.reference": "invalid",
        "payouts.1.currency": "unsupported_currency",
        "payouts.2.customer.name": "not_allowed_here",
    }

    twice = orders.batch_item(3)
    beside = [
        twice,
        twice,
        orders.batch_item(4, reference="used"),
        orders.batch_item(5, customer={"beneficiary": "no"}),
    ]
    assert errors(api.post(PATH, orders.payout_batch(*beside))) == {
        "payouts.0.reference": "duplicate",
        "payouts.1.reference": "duplicate",
        "payouts.2.reference": "duplicate",
        "payouts.3.customer.beneficiary": "unknown_beneficiary",
    }
    late = (timezone.now() + timedelta(days=31)).isoformat()
    assert errors(api.post(PATH, orders.payout_batch(run_at=late))) == {"run_at": "out_of_range"}
    assert not PayoutBatch.objects.exists()
    assert not ReservedReference.objects.exists()


@pytest.mark.long
def test_takes_1000_payouts_in_a_mebibyte_and_no_more(api):
    items = [orders.batch_item(place, narration="x" * 250) for place in range(1_000)]
    assert api.post(PATH, orders.payout_batch(*items)).status_code == 201
    too_many = [orders.batch_item(place) for place in range(1_001)]
    assert errors(api.post(PATH, orders.payout_batch(*too_many))) == {"payouts": "invalid_length"}
    assert api.post(PATH, b" " * (1024 * 1024 + 1)).status_code == 413
    assert api.post("/api/payments", b" " * (64 * 1024 + 1)).status_code == 413


def test_reference_of_an_item_is_taken_before_it_is_sent(api, other_api):
    item = orders.batch_item()
    created(api, item)
    payout = orders.payout(reference=item["reference"])

    refused = api.post("/api/payments", payout)

    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate_reference")
    assert other_api.post("/api/payments", payout).status_code == 201
    assert errors(api.post(PATH, orders.payout_batch(item))) == {"payouts.0.reference": "duplicate"}


def test_every_finding_needs_a_reason(api, ada):
    api.post(
        "/api/payments",
        orders.payout(reference="paid", amount=20_000, customer=orders.batch_item(6)["customer"]),
    )
    items = [
        orders.batch_item(0),
        to_account("0000000095", 1),
        to_account("0000000094", 2),
        to_account("0000000000", 3),
        orders.batch_item(4, customer=orders.batch_item(0)["customer"]),
        orders.batch_item(6),
    ]
    reference = checked(api, *items)
    shown = api.get(f"{PATH}/{reference}/payouts").json()["data"]
    found = ["ok", "name_differs", "unverified", "unknown_account", "duplicate", "duplicate"]
    assert [each["status"] for each in shown] == found
    assert shown[1]["customer"]["account_name"] == "Sandbox Account 0095"
    assert [each.get("duplicate_of") for each in shown[4:]] == [items[0]["reference"], "paid"]
    assert look(api, reference)["status"] == "needs_correction"
    assert approve(api, reference).json()["code"] == "invalid_state"
    assert errors(approve(api, reference, accept={items[0]["reference"]: "Sure"})) == {
        f"accept.{items[0]['reference']}": "invalid"
    }

    reasons = {each["reference"]: "Checked by phone" for each in items[1:]}
    assert approve(api, reference, accept=reasons).json()["status"] == "processing"
    sending.send_due()
    assert look(api, reference)["counts"] == {"success": 6}


@pytest.mark.parametrize("how", ["corrected", "removed"])
def test_duplicate_is_none_once_the_other_row_is_another(api, ada, how):
    rows = [to_account("0123456781"), to_account("0123456781", 1), to_account("0123456781", 2)]
    batch = PayoutBatch.objects.get(reference=checked(api, *rows))
    first, second, third = batch.items.order_by("position")
    assert [first.state, second.state, third.state] == ["ok", "duplicate", "duplicate"]

    if how == "removed":
        corrections.remove(first.pk, actor=STAFF, now=timezone.now())
    else:
        user = MemberFactory(business=ada.business).user
        corrections.correct(first.pk, account_number="0129998887", user=user, actor=STAFF, now=timezone.now())
        checks.check_due()

    second.refresh_from_db()
    third.refresh_from_db()
    assert (second.state, second.duplicate_of, second.problem) == ("ok", "", "")
    assert (third.state, third.duplicate_of) == ("duplicate", second.reference)


def test_ready_batch_of_which_a_row_is_removed_finds_what_was_paid_since(api):
    batch = PayoutBatch.objects.get(
        reference=checked(api, to_account("0123456781"), to_account("0123456782", 1))
    )
    first, second = batch.items.order_by("position")
    customer = {"name": "Ada", "account_number": "0123456782", "bank_code": "058"}
    paid = api.post("/api/payments", orders.payout(amount=second.amount, customer=customer)).json()

    corrections.remove(first.pk, actor=STAFF, now=timezone.now())

    second.refresh_from_db()
    batch.refresh_from_db()
    assert (batch.status, second.duplicate_of) == ("needs_correction", paid["reference"])


def test_of_two_equal_batches_the_second_needs_a_decision_once_the_first_is_paid(api):
    for name in ("monday", "again"):
        checked(api, to_account("0123456781", reference=f"{name}-1"), reference=name)
    assert approve(api, "monday").status_code == 200
    sending.send_due()

    refused = approve(api, "again")

    assert (refused.status_code, refused.json()["detail"]) == (409, "These payouts need a decision: again-1.")
    (item,) = api.get(f"{PATH}/again/payouts").json()["data"]
    assert (look(api, "again")["status"], item["duplicate_of"]) == ("needs_correction", "monday-1")
    assert approve(api, "again", accept={"again-1": "Two invoices"}).status_code == 200
    sending.send_due()
    assert statuses(api, "again") == ["success"]


def test_waits_until_its_time(api):
    run_at = (timezone.now() + timedelta(days=2)).isoformat()
    reference = checked(api, run_at=run_at)
    assert approve(api, reference).json()["status"] == "scheduled"
    sending.send_due()
    assert not Transaction.objects.exists()

    advanced = api.post("/api/sandbox/advance", {"payout_batch": reference})

    assert (advanced.status_code, advanced.json()["status"]) == (200, "completed")


def test_what_is_not_covered_is_held_and_fails_after_24_hours(api, ada, settings):
    settings.PAYOUT_REQUIRES_BALANCE = True
    MemberFactory(business=ada.business, role="owner")
    fill_wallet(ada.business, 45_000)
    reference = checked(api)
    refused = approve(api, reference)
    assert (refused.status_code, refused.json()["code"]) == (409, "insufficient_funds")
    approve(api, reference, as_far_as_balance=True)
    sending.send_due()
    assert statuses(api, reference) == ["success", "success", "held"]
    assert look(api, reference)["missing"] == 18_000
    assert len(mail.outbox) == 0  # after the commit

    fill_wallet(ada.business, 18_000)
    PayoutBatch.objects.update(next_attempt_at=timezone.now())
    sending.send_due()
    assert look(api, reference)["status"] == "completed"

    poor = checked(api, orders.batch_item(7), orders.batch_item(8))
    approve(api, poor, as_far_as_balance=True)
    sending.send_due()
    assert api.post("/api/sandbox/advance", {"payout_batch": poor}).json()["status"] == "completed"
    codes = Transaction.objects.filter(status="failed").values_list("response_code", flat=True)
    assert list(codes) == ["20051"] * 2
    assert violations() == []


def sent_in_part(api, monkeypatch):
    """Send the first of two payouts, whose outcome is not known yet."""
    reference = checked(api, to_account("0000000097"), orders.batch_item(1))
    approve(api, reference)
    monkeypatch.setattr(sending, "RUN_TIME", 0.0)
    run = sending._Run
    monkeypatch.setattr(
        run, "send", lambda self: self._call(sending._accept(self._next(), now=timezone.now()))
    )
    sending.send_due()
    return reference


def test_what_was_sent_costs_what_it_was_charged_after_the_rest_is_cancelled(api, ada, monkeypatch):
    reference = sent_in_part(api, monkeypatch)
    tariff = Tariff(business=ada.business, flow="payout", currency="NGN", fixed=9_000)
    fee_rules.agree(tariff, actor=STAFF, now=timezone.now())

    cancelled = api.post(f"{PATH}/{reference}/cancel").json()

    assert cancelled["fees"] == 1_000


def test_cancel_before_and_while_it_is_sent(api, monkeypatch):
    before = checked(api)
    assert api.post(f"{PATH}/{before}/cancel").json()["counts"] == {"cancelled": 3}
    assert approve(api, before).json()["code"] == "invalid_state"

    during = sent_in_part(api, monkeypatch)
    cancelled = api.post(f"{PATH}/{during}/cancel").json()
    assert (cancelled["status"], cancelled["counts"]) == ("processing", {"pending": 1, "cancelled": 1})
    list(requery.requery(requery.unanswered()))
    sending.send_due()
    ended = look(api, during)
    assert (ended["status"], ended["counts"]) == ("cancelled", {"success": 1, "cancelled": 1})
    assert api.post(f"{PATH}/{during}/cancel").headers["Idempotent-Replayed"] == "true"
    assert violations() == []


def test_retry_repeats_only_what_failed_and_only_once(api):
    items = [orders.batch_item(0, amount=20_051), to_account("0000000097", 1), orders.batch_item(2)]
    reference = sent(api, *items)
    assert statuses(api, reference) == ["failed", "pending", "success"]
    assert look(api, reference)["status"] == "processing"

    first = api.post(f"{PATH}/{reference}/retry")
    again = api.post(f"{PATH}/{reference}/retry")

    made = first.json()
    assert (first.status_code, made["reference"], made["retry_of"]) == (201, f"{reference}-r1", reference)
    assert (again.status_code, again.json()["id"]) == (200, made["id"])
    repeated = api.get(f"{PATH}/{reference}-r1/payouts").json()["data"]
    assert [each["reference"] for each in repeated] == [f"{items[0]['reference']}-r1"]
    checks.check_due()
    approve(api, f"{reference}-r1")
    sending.send_due()
    second = api.post(f"{PATH}/{reference}-r1/retry").json()
    assert second["reference"] == f"{reference}-r2"
    good = sent(api, orders.batch_item(9))
    assert api.post(f"{PATH}/{good}/retry").json()["code"] == "invalid_state"


def test_sandbox_has_another_member_reject_a_ready_or_waiting_batch(api, ada):
    ready = checked(api)
    PayoutControls.objects.create(business=ada.business, approval="always")
    waiting = checked(api, orders.batch_item(7))
    approve(api, waiting)

    for reference in (ready, waiting):
        answer = api.post("/api/sandbox/advance", {"payout_batch": reference, "until": "rejected"})
        (item, *_) = api.get(f"{PATH}/{reference}/payouts").json()["data"]
        assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
        assert (item["status"], item["problem"]) == (
            "failed",
            "20092 Payout rejected: Rejected in the sandbox",
        )
    again = api.post("/api/sandbox/advance", {"payout_batch": ready, "until": "rejected"})
    assert (again.status_code, again.json()["code"]) == (409, "invalid_state")
    assert not Transaction.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {"payment": "a", "until": "rejected"},
        {"payout_batch": "a", "until": "watch"},
        {"payout_batch": "a", "until": []},
    ],
)
def test_sandbox_rejects_only_batches_and_watches_only_payments(api, body):
    refused = api.post("/api/sandbox/advance", body)

    assert (refused.status_code, [each["field"] for each in refused.json()["errors"]]) == (400, ["until"])


def test_blocked_account_is_an_error_however_it_is_named(api, ada):
    blocked = blocked_beneficiary(ada.business, account_number="0690213447", bank_code="044")
    account = {"name": "Kano Dye Works", "account_number": "0690213447", "bank_code": "044"}
    items = [
        orders.batch_item(0),
        orders.batch_item(1, customer={"beneficiary": blocked.reference}),
        orders.batch_item(2, customer=account),
    ]

    answer = api.post(PATH, orders.payout_batch(*items))

    assert (answer.status_code, errors(answer)) == (
        400,
        {
            "payouts.1.customer.beneficiary": "beneficiary_blocked",
            "payouts.2.customer.account_number": "beneficiary_blocked",
        },
    )
    assert not PayoutBatch.objects.exists()


def test_beneficiary_that_is_blocked_meanwhile_is_not_paid(api, ada):
    found = beneficiary_of(ada.business)
    reference = checked(
        api, orders.batch_item(0, customer={"beneficiary": found.reference}), orders.batch_item(1)
    )
    Beneficiary.objects.update(blocked_at=timezone.now(), block_reason="Forged")
    approve(api, reference)

    sending.send_due()

    shown = api.get(f"{PATH}/{reference}/payouts").json()["data"]
    assert [each["status"] for each in shown] == ["failed", "success"]
    assert "blocked" in shown[0]["problem"]
    assert shown[0]["customer"]["beneficiary"] == found.reference


def test_bank_that_leaves_the_list_after_the_checks_is_not_paid(api, monkeypatch):
    reference = checked(api)
    approve(api, reference)
    monkeypatch.setattr(sending, "banks", SimpleNamespace(find=lambda _code: None))

    sending.send_due()

    shown = api.get(f"{PATH}/{reference}/payouts").json()["data"]
    assert {each["status"] for each in shown} == {"failed"}
    assert {each["problem"] for each in shown} == {"The bank is not listed any more."}
    assert not Transaction.objects.exists()


def test_process_that_dies_after_accepting_pays_once(api, monkeypatch):
    reference = checked(api)
    approve(api, reference)
    with monkeypatch.context() as patch:
        patch.setattr(sending._Run, "_call", lambda *_: sys.exit(1))
        with pytest.raises(SystemExit):
            sending.send_due()
    assert statuses(api, reference).count("pending") == 1
    assert look(api, reference)["counts"] == {"pending": 1, "ok": 2}

    sending.send_due()
    Transaction.objects.update(query_leased_until=None)  # its lease has ended
    list(requery.requery(requery.unanswered()))
    sending.send_due()

    assert look(api, reference)["counts"] == {"success": 3}
    assert Transaction.objects.count() == 3
    assert violations() == []


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
def test_cancel_while_a_payout_is_stored_that_waited(api, monkeypatch):
    """Fails as a deadlock if the batch is changed in the transaction that holds its item."""
    reference = checked(api)
    approve(api, reference)
    PayoutBatch.objects.update(waits_for="The bank is unavailable.")
    accept, answers = payouts.accept, []
    with ThreadPoolExecutor(1) as pool:

        def accept_slowly(**order):
            accepted = accept(**order)
            if not answers:
                answers.append(pool.submit(lambda: api.post(f"{PATH}/{reference}/cancel").status_code))
                time.sleep(0.5)  # the cancellation waits for the item now
            return accepted

        monkeypatch.setattr(payouts, "accept", accept_slowly)
        sending.send_due()
        assert answers[0].result() == 200
        pool.submit(connections.close_all).result()

    assert sorted(statuses(api, reference)) == ["cancelled", "cancelled", "success"]
    assert look(api, reference)["status"] == "cancelled"


def test_rail_that_is_unavailable_lets_the_batch_wait(api, monkeypatch, settings):
    reference = checked(api)
    approve(api, reference)
    settings.PAYOUT_BANK = ""
    sending.send_due()
    waiting = look(api, reference)
    assert (waiting["status"], waiting["counts"]) == ("processing", {"ok": 3})
    assert waiting["waits_for"]

    settings.PAYOUT_BANK = "sandbox"
    PayoutBatch.objects.update(next_attempt_at=timezone.now())
    sending.send_due()
    assert look(api, reference)["status"] == "completed"


def test_checks_go_on_where_another_process_stopped(api, monkeypatch):
    class Interrupted(Exception):
        pass

    asked = []

    class Bank(SandboxBank):
        def account_name(self, *, account_number, **_):
            asked.append(account_number)
            if len(asked) == 3:
                raise AnswerLost
            return f"Supplier {int(account_number[-5:])}"

    monkeypatch.setattr(checks, "bank_for", lambda _business: Bank())
    reference = created(api, *[orders.batch_item(place) for place in range(7)])
    monkeypatch.setattr(checks, "RUN_TIME", 0.0)
    held = WorkLease.acquire("enquiries:sandbox", lasts=timedelta(seconds=60), now=timezone.now())
    checks.check_due()
    assert asked == []
    WorkLease.release("enquiries:sandbox", held, now=timezone.now())
    checks.check_due()
    assert PayoutBatchItem.objects.filter(state="checking").count() == 2
    checks.check_due()
    assert len(asked) == 7
    assert look(api, reference)["counts"] == {"ok": 6, "unverified": 1}


@pytest.mark.parametrize("server_url", ["", "http://127.0.0.1:9/ask"])
def test_price_that_ends_meanwhile_stops_neither_the_batch_nor_those_of_others(
    api, other_api, ada, events, *, server_url, monkeypatch
):
    monkeypatch.setattr(
        server_answers.server_questions,
        "ask",
        lambda found: [Answer(each.id, Decision.APPROVE, "") for each in found],
    )
    PayoutControls.objects.create(business=ada.business, server_url=server_url)
    for caller in (api, other_api):
        checked(caller, reference="wk48")
        assert approve(caller, "wk48").status_code == 200
    withdrawn = Tariff(business=ada.business, flow=Flow.PAYOUT, currency="NGN", is_offered=False)
    fee_rules.agree(withdrawn, actor=STAFF, now=timezone.now())

    sending.send_due()

    ended = look(api, "wk48")
    assert (ended["status"], ended["counts"], ended["missing"]) == ("completed", {"failed": 3}, 0)
    assert api.get(PATH).json()["data"] == [ended]
    assert look(other_api, "wk48")["counts"] == {"success": 3}
    completed = [each["data"] for each in events() if each["event"] == "payout_batch.completed"]
    assert [each["counts"] for each in completed] == [{"failed": 3}]


def test_batches_of_others_are_missing(api, other_api):
    reference = checked(api)

    for answer in (
        other_api.get(f"{PATH}/{reference}"),
        other_api.get(f"{PATH}/{reference}/payouts"),
        *(other_api.post(f"{PATH}/{reference}/{each}") for each in ("approve", "cancel", "retry")),
    ):
        assert answer.status_code == 404


def test_sending_without_open_batches_costs_one_query(django_assert_num_queries, api, ada):
    sent(api)
    with django_assert_num_queries(1):
        sending.send_due()
