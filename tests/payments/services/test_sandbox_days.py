"""POST /api/sandbox/advance with a day: settle the payments of one business now."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ledger.invariants import check
from merchants.api import rate_limits
from merchants.models import AuditEntry
from payments.invariants.registry import INVARIANTS
from payments.models import BatchTransition, SettlementBatch, Transaction
from payments.rules.settlement import business_days
from payments.services.sandbox import sandbox_turns
from payments.services.sandbox.sandbox_days import DayState
from payments.services.settlement.batches import batches
from tests.racing import racers
from tests.refunds import pay, refund
from tests.settling import decide, settle, today
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db

PATH = "/api/sandbox/advance"
PATHS = {
    "pending": ["initiated", "pending"],
    "approved": ["initiated", "pending", "approved"],
    "released": ["initiated", "pending", "approved", "released"],
    "rejected": ["initiated", "pending", "rejected"],
}


@pytest.fixture(autouse=True)
def _no_turns(monkeypatch):
    monkeypatch.setattr(sandbox_turns, "TURN", timedelta(0))


def close(api, state="released"):
    answer = api.post(PATH, {"day": state})
    assert answer.status_code == 200, answer.content
    return answer.json()


def holds():
    return all(one.holds for one in check(INVARIANTS))


class TestDay:
    @pytest.mark.parametrize("state", DayState)
    def test_moves_new_batches_to_the_state_step_by_step(self, api, state):
        pay(api)

        closed = close(api, state)

        (batch,) = closed["batches"]
        assert (batch["status"], batch["number"], batch["day"]) == (state, 1, today().isoformat())
        assert batch["count"] == 1
        taken = BatchTransition.objects.order_by("pk").values_list("after", "actor")
        assert list(taken) == [(each, "sandbox") for each in PATHS[state]]
        assert Transaction.objects.get().settle_status == state
        assert closed["balance"] == api.get("/api/balance").json()["data"]
        shown = api.get(f"/api/settlements/{batch['id']}").json()
        del shown["items"]
        assert shown == batch
        assert holds()

    def test_releases_the_batches_that_wait_at_pending_too(self, api):
        pay(api)
        [waiting] = close(api, "pending")["batches"]

        [released] = close(api, "released")["batches"]

        assert (released["id"], released["status"]) == (waiting["id"], "released")
        assert holds()

    def test_credits_the_wallet_with_what_is_released(self, api):
        payment = pay(api)
        refund(api, payment, amount=10_000)

        closed = close(api)

        (batch,), (balance, *_) = closed["batches"], closed["balance"]
        assert batch["refunds"] == 10_000
        assert (balance["available"], balance["pending"]) == (batch["net"], 0)
        assert holds()

    def test_settles_each_payment_under_its_own_business_day(self, api):
        pay(api), pay(api)
        first = Transaction.objects.order_by("pk")[:1]
        Transaction.objects.filter(pk__in=first.values("pk")).update(
            finished_at=timezone.now() - timedelta(days=3)
        )

        days = [batch["day"] for batch in close(api)["batches"]]

        assert days == [(today() - timedelta(days=3)).isoformat(), today().isoformat()]

    def test_closed_again_makes_a_further_batch_or_none(self, api):
        pay(api)
        close(api)

        assert close(api)["batches"] == []
        pay(api)
        assert [batch["number"] for batch in close(api, "pending")["batches"]] == [2]

    def test_closed_again_settles_rejected_payments_once_more(self, api):
        pay(api)
        close(api, "rejected")

        (batch,) = close(api)["batches"]

        assert (batch["number"], batch["count"], batch["status"]) == (2, 1, "released")
        assert holds()

    def test_leaves_earlier_batches_as_they_are(self, api):
        pay(api)
        (pending,) = settle()
        pay(api)
        (rejected,) = settle()
        decide(rejected, "reject")

        (batch,) = close(api, "approved")["batches"]

        assert batch["count"] == 1
        pending.refresh_from_db(), rejected.refresh_from_db()
        assert (pending.state, rejected.state) == ("pending", "rejected")

    def test_completes_the_batch_of_a_killed_run(self, api, monkeypatch):
        monkeypatch.setattr(batches, "CHUNK", 1)
        pay(api), pay(api)
        steps = batches.settle(batches.due(until=today()), actor="settle", now=timezone.now())
        next(steps)

        (batch,) = close(api)["batches"]

        assert (batch["count"], batch["status"]) == (2, "released")
        assert holds()

    def test_leaves_other_businesses_alone(self, api, other_api, monkeypatch):
        """Their payments stay without a batch, and their unfinished batches as they are."""
        monkeypatch.setattr(batches, "CHUNK", 1)
        pay(other_api), pay(other_api)
        next(batches.settle(batches.due(until=today()), actor="settle", now=timezone.now()))
        before = list(SettlementBatch.objects.values())
        pay(api)

        assert len(close(api)["batches"]) == 1

        assert list(SettlementBatch.objects.filter(pk=before[0]["id"]).values()) == before
        states = Transaction.objects.filter(business=before[0]["business_id"]).values_list("settle_status")
        assert sorted(states) == [("",), ("initiated",)]
        assert BatchTransition.objects.filter(batch=before[0]["id"]).count() == 1

    def test_publishes_one_event_for_each_released_batch(self, api, ada):
        make_endpoint(business=ada.business, events=["settlement"])
        pay(api)

        close(api)
        close(api)

        assert Delivery.objects.get().event == Event.SETTLEMENT_RELEASED

    def test_is_in_the_audit_trail_with_its_decisions(self, api, ada):
        pay(api)

        (batch,) = close(api)["batches"]

        entries = AuditEntry.objects.filter(business=ada.business).order_by("pk")
        assert list(entries.values_list("action", "actor", "target")) == [
            ("settlement_batch.approved", "sandbox", batch["id"]),
            ("settlement_batch.released", "sandbox", batch["id"]),
            ("sandbox.day_closed", ada.public_id, "released"),
        ]

    def test_without_payments_changes_nothing(self, api):
        closed = close(api)

        assert closed["batches"] == []
        assert closed["balance"] == api.get("/api/balance").json()["data"]
        assert not AuditEntry.objects.exists()

    def test_is_not_closed_in_production(self, api, settings):
        pay(api)
        settings.SANDBOX = False

        answer = api.post(PATH, {"day": "released"})

        assert (answer.status_code, answer.json()["code"]) == (403, "sandbox_only")
        assert not SettlementBatch.objects.exists()

    def test_is_settled_with_todays_payments_by_staff_only_if_they_ask(self, api):
        """The command without a date stops at yesterday, as before."""
        pay(api)

        assert not settle(business_days.last_business_day(timezone.now()))


@pytest.mark.django_db(transaction=True)
@pytest.mark.long
@pytest.mark.parametrize("state", ["released", "rejected"])
def test_of_fifty_simultaneous_calls_one_settles(api, other_api, state, monkeypatch):
    """Fails without the lock of the business, and, for rejected batches, without turns."""
    monkeypatch.setattr(rate_limits, "SANDBOX_CALLS", 50)
    monkeypatch.setattr(sandbox_turns, "TURN", timedelta(hours=1))
    monkeypatch.setattr(sandbox_turns, "end", lambda began_at: None)
    pay(api), pay(api), pay(other_api)

    with racers(10) as line:
        answers = [answer for _ in range(5) for answer in line.race(*[lambda: close(api, state)] * 10)]

    assert sorted(len(answer["batches"]) for answer in answers) == [0] * 49 + [1]
    batch = SettlementBatch.objects.get()
    assert (batch.state, batch.payments_count) == (state, 2)
    assert AuditEntry.objects.filter(action="sandbox.day_closed").count() == 1
    assert holds()
