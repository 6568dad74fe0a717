"""Settlement from a successful payment to the wallet: batches, their items and their state transitions."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ledger import services as ledger
from ledger.models import Entry
from merchants.models import ApiKey, AuditEntry
from payments.models import (
    BatchTransition,
    InvalidState,
    SettlementBatch,
    SettlementItem,
    Transaction,
    Transition,
)
from payments.rules.settlement import business_days
from payments.rules.settlement.settlement_transitions import BATCH_TRANSITIONS, PAYMENT_TRANSITIONS
from payments.services.settlement.batches import batches
from tests import orders
from tests.refunds import pay, refund
from tests.settling import decide, settle, today

pytestmark = pytest.mark.django_db

LAGOS_MIDNIGHT = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)


def pay_by_transfer(api, amount=50_000):
    """Pay by bank transfer and return the payment's reference."""
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
    payment = api.post("/api/payments", orders.transfer_payment(account["id"], amount=amount)).json()
    number = payment["virtual_account_details"]["account_number"]
    api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": amount})
    return payment["reference"]


def shown(api, reference):
    return api.get(f"/api/payments/{reference}").json()


def api_business(api):
    return ApiKey.objects.get(public_id=api.credentials.api_key).business


def totals(batch):
    return batch.gross, batch.fees, batch.refunds, batch.net


def finished_at(moment, *references):
    Transaction.objects.filter(reference__in=references).update(finished_at=moment)


def run(*arguments):
    out = StringIO()
    call_command("settle", *arguments, unfinished=True, stdout=out, stderr=StringIO())
    return out.getvalue()


class TestSettleStatus:
    def test_is_omitted_until_the_payment_is_in_a_batch(self, api):
        assert "settle_status" not in shown(api, pay(api))

    def test_follows_the_batch_to_its_release(self, api):
        reference = pay(api)
        seen = []

        (batch,) = settle()
        seen.append(shown(api, reference)["settle_status"])
        for decision in ("approve", "release"):
            decide(batch, decision)
            seen.append(shown(api, reference)["settle_status"])

        assert seen == ["pending", "approved", "released"]

    def test_transitions_are_logged(self, api):
        pay(api)
        (batch,) = settle()
        decide(batch, "approve", "release")

        logged = Transition.objects.filter(attribute="settle_status").order_by("id")

        assert [(one.before, one.after, one.cause) for one in logged] == [
            ("", "initiated", "settlement"),
            ("initiated", "pending", "settlement"),
            ("pending", "approved", "settlement"),
            ("approved", "released", "settlement"),
        ]

    def test_of_a_payment_in_a_rejected_batch_restarts_in_another_one(self, api):
        reference = pay(api)
        (first,) = settle()

        decide(first, "reject")
        was = shown(api, reference)["settle_status"]
        (second,) = settle()

        assert (was, shown(api, reference)["settle_status"]) == ("rejected", "pending")
        assert (second.day, first.number, second.number) == (first.day, 1, 2)
        assert totals(first) == totals(second)


class TestSettle:
    def test_includes_successful_payments_only(self, api):
        taken = [pay(api), pay(api, amount=300_000)]
        api.post("/api/payments", orders.card_payment(amount=50_051))  # declined
        api.post("/api/payments", orders.card_payment(amount=50_098))  # unknown
        api.post("/api/payments", orders.card_payment(capture=False))
        api.post("/api/payments", orders.payout())
        api.post("/api/payments", orders.card_check())

        (batch,) = settle()

        assert {item.transaction.reference for item in batch.items.all()} == set(taken)
        assert batch.payments_count == 2

    def test_sums_gross_fees_and_net(self, api):
        pay(api, amount=50_000)
        pay(api, amount=300_000)

        (batch,) = settle()

        assert totals(batch) == (350_000, 750 + 14_500, 0, 334_750)

    def test_includes_the_captured_amount_of_a_partial_capture(self, api):
        order = orders.card_payment(amount=100_000, capture=False)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/capture", {"amount": 40_000})

        (batch,) = settle()

        assert totals(batch) == (40_000, 600, 0, 39_400)

    def test_includes_the_received_amount_of_a_transfer(self, api):
        reference = pay_by_transfer(api, amount=123_456)

        (batch,) = settle()

        assert totals(batch) == (123_456, 1_235, 0, 122_221)
        assert shown(api, reference)["settle_status"] == "pending"
        decide(batch, "approve", "release")
        assert shown(api, reference)["settle_status"] == "released"

    def test_creates_a_batch_per_business_currency_and_business_day(self, api, other_api):
        pay(api)
        pay(other_api)
        pay(api, currency="USD")
        finished_at(timezone.now() - timedelta(days=2), pay(api))

        made = settle()

        assert len({(batch.business_id, batch.currency, batch.day) for batch in made}) == len(made) == 4

    def test_uses_business_days_in_lagos_time(self, api):
        before, after = pay(api), pay(api)
        finished_at(LAGOS_MIDNIGHT - timedelta(microseconds=1), before)
        finished_at(LAGOS_MIDNIGHT, after)

        (first,) = settle(date(2026, 3, 1))
        (second,) = settle(date(2026, 3, 2))

        assert [(one.day, one.items.get().transaction.reference) for one in (first, second)] == [
            (date(2026, 3, 1), before),
            (date(2026, 3, 2), after),
        ]

    def test_creates_nothing_when_repeated(self, api):
        pay(api)
        settle()

        assert settle() == []
        assert SettlementBatch.objects.count() == 1

    def test_puts_late_payments_into_another_batch_of_their_day(self, api):
        pay(api)
        settle()
        pay(api)

        (late,) = settle()

        assert (late.number, late.payments_count) == (2, 1)

    def test_works_in_several_chunks(self, api, monkeypatch):
        monkeypatch.setattr(batches, "CHUNK", 2)
        for _ in range(5):
            pay(api)

        steps = list(batches.settle(batches.due(until=today()), actor="settle", now=timezone.now()))

        assert [step.payments for step in steps] == [2, 2, 1, 0]
        assert len({step.batch.pk for step in steps}) == 1
        assert Transaction.objects.filter(settle_status="pending").count() == 5

    def test_finds_payments_that_finished_before_those_of_the_last_chunk(self, api, monkeypatch):
        monkeypatch.setattr(batches, "CHUNK", 2)
        now = timezone.now()
        paid = [pay(api) for _ in range(3)]
        for minute, reference in enumerate(paid):
            finished_at(business_days.begins_at(today()) + timedelta(minutes=10 + minute), reference)
        steps = batches.settle(batches.due(until=today()), actor="settle", now=now)
        next(steps)
        finished_at(business_days.begins_at(today()), pay(api))

        following = [step.payments for step in steps]

        assert following == [1, 1, 0]
        assert SettlementBatch.objects.get().payments_count == 4

    def test_reads_no_payments_of_earlier_chunks(self, api, monkeypatch):
        """Their index entries exist until VACUUM, so each chunk would take longer than the one before it."""
        monkeypatch.setattr(batches, "CHUNK", 2)
        for _ in range(4):
            pay(api)
        steps = batches.settle(batches.due(until=today()), actor="settle", now=timezone.now())
        next(steps)
        last = SettlementItem.objects.latest("pk").transaction.finished_at

        with CaptureQueriesContext(connection) as queries:
            next(steps)

        limited = re.compile(rf"LIMIT {batches.CHUNK}( FOR UPDATE)?$")
        locking = [query["sql"] for query in queries if limited.search(query["sql"])]
        assert len(locking) == 1
        assert last.strftime("%H:%M:%S.%f") in locking[0]

    def test_continues_the_batch_of_a_killed_run(self, api, monkeypatch):
        monkeypatch.setattr(batches, "CHUNK", 2)
        for _ in range(5):
            pay(api)
        begun = next(batches.settle(batches.due(until=today()), actor="settle", now=timezone.now()))
        assert SettlementBatch.objects.get().state == "initiated"

        (batch,) = settle(date(2020, 1, 1))  # nothing is due, but there is an incomplete batch

        assert (batch.pk, batch.state, batch.payments_count) == (begun.batch.pk, "pending", 5)

    def test_first_completes_a_batch_of_another_day(self, api, monkeypatch):
        monkeypatch.setattr(batches, "CHUNK", 1)
        finished_at(timezone.now() - timedelta(days=2), pay(api), pay(api))
        pay(api)
        work = batches.due(until=today())
        next(batches.settle(work, actor="settle", now=timezone.now()))

        made = settle()

        assert [(batch.state, batch.payments_count) for batch in made] == [("pending", 2), ("pending", 1)]


class TestRefund:
    def test_before_settlement_is_netted_in_the_same_batch(self, api):
        reference = pay(api, amount=50_000)
        refund(api, reference, amount=10_000)

        (batch,) = settle()

        assert totals(batch) == (50_000, 750, 10_000, 39_250)

    def test_after_settlement_is_netted_from_the_next_batch(self, api):
        reference = pay(api, amount=50_000)
        (first,) = settle()
        refund(api, reference, amount=10_000)
        assert settle() == []  # a refund alone creates no batch
        pay(api, amount=50_000)

        (second,) = settle()

        assert totals(first) == (50_000, 750, 0, 49_250)
        assert totals(second) == (50_000, 750, 10_000, 39_250)

    def test_of_another_currency_or_business_is_not_netted(self, api, other_api):
        dollars, theirs = pay(api, currency="USD"), pay(other_api)
        settle()
        refund(api, dollars)
        refund(other_api, theirs)
        pay(api)

        (batch,) = settle()

        assert batch.refunds == 0

    def test_failed_or_unknown_is_not_netted(self, api):
        reference = pay(api, amount=200_000)
        for amount in (20_005, 20_098):
            api.post(f"/api/payments/{reference}/refunds", {"reference": f"rf-{amount}", "amount": amount})

        (batch,) = settle()

        assert batch.refunds == 0

    def test_of_a_payment_in_a_rejected_batch_waits_for_its_payment(self, api):
        reference = pay(api)
        (first,) = settle()
        decide(first, "reject")
        refund(api, reference, amount=10_000)

        (second,) = settle()

        assert {item.transaction.reference for item in second.items.all()} == {reference}
        assert second.refunds == 10_000

    def test_not_covered_by_the_batch_is_carried_into_a_later_one(self, api):
        reference = pay(api, amount=50_000)
        decide(*settle(), "approve", "release")
        refund(api, reference)
        pay(api, amount=10_000)
        (short,) = settle()
        pay(api, amount=100_000)
        (unrelated,) = settle()  # the short batch is not released yet and could be rejected
        decide(short, "approve", "release")
        pay(api, amount=100_000)

        (next_one,) = settle()

        assert (short.net, short.carried_forward) == (0, 40_150)
        assert unrelated.brought_forward == 0
        assert (next_one.brought_forward, next_one.net) == (40_150, 100_000 - 1_500 - 40_150)
        short.refresh_from_db()
        assert short.carried_into_id == next_one.pk

    def test_carried_forward_is_carried_again_after_a_rejection(self, api):
        reference = pay(api, amount=50_000)
        decide(*settle(), "approve", "release")
        refund(api, reference)
        pay(api, amount=10_000)
        (short,) = settle()
        decide(short, "approve", "release")
        pay(api, amount=100_000)
        (rejected,) = settle()
        decide(rejected, "reject")

        (second,) = settle()

        assert rejected.brought_forward == second.brought_forward == 40_150
        short.refresh_from_db()
        assert short.carried_into_id == second.pk


class TestBatch:
    STATES = {
        "initiated": (),
        "pending": (),
        "approved": ("approve",),
        "released": ("approve", "release"),
        "rejected": ("reject",),
    }
    REACHED_BY = {"approve": "approved", "release": "released", "reject": "rejected"}

    def batch_that_is(self, api, state):
        pay(api)
        if state == "initiated":
            return next(batches.settle(batches.due(until=today()), actor="settle", now=timezone.now())).batch
        return decide(*settle(), *self.STATES[state])

    @pytest.mark.parametrize("state", BATCH_TRANSITIONS)
    @pytest.mark.parametrize("decision", REACHED_BY)
    def test_allows_only_the_transitions_of_the_table(self, api, state, decision):
        batch = self.batch_that_is(api, state)
        is_allowed = self.REACHED_BY[decision] in BATCH_TRANSITIONS[state]

        try:
            decide(batch, decision)
        except InvalidState:
            was_allowed = False
        else:
            was_allowed = True

        batch.refresh_from_db()
        assert was_allowed == is_allowed
        assert batch.state == (self.REACHED_BY[decision] if is_allowed else state)
        assert set(Transaction.objects.values_list("settle_status", flat=True)) == {batch.state}

    def test_table_has_every_state(self):
        assert set(BATCH_TRANSITIONS) == set(Transaction.SettleStatus.values)
        assert set(PAYMENT_TRANSITIONS) == {"", *Transaction.SettleStatus.values}

    def test_stores_actor_and_reason_of_each_transition(self, api):
        pay(api)
        (batch,) = settle()
        decide(batch, "reject", reason="The acquirer's file is short.")

        moves = BatchTransition.objects.filter(batch=batch).order_by("id")

        assert [(one.before, one.after, one.actor, one.reason) for one in moves] == [
            ("", "initiated", "settle", ""),
            ("initiated", "pending", "settle", ""),
            ("pending", "rejected", "staff@example.com", "The acquirer's file is short."),
        ]
        entry = AuditEntry.objects.get(action="settlement_batch.rejected")
        assert (entry.actor, entry.target) == ("staff@example.com", str(batch.pk))
        assert entry.after == {"state": "rejected", "reason": "The acquirer's file is short."}

    @pytest.mark.parametrize("reason", ["", "  "])
    def test_is_not_rejected_without_a_reason(self, api, reason):
        pay(api)
        (batch,) = settle()

        with pytest.raises(InvalidState):
            decide(batch, "reject", reason=reason)

    def test_keeps_its_items_and_totals_when_it_is_rejected(self, api):
        batch = self.batch_that_is(api, "rejected")

        assert totals(batch) == (50_000, 750, 0, 49_250)
        assert [item.is_live for item in batch.items.all()] == [False]

    def test_rejected_before_completion_has_totals(self, api):
        batch = decide(self.batch_that_is(api, "initiated"), "reject")

        assert totals(batch) == (50_000, 750, 0, 49_250)


class TestRelease:
    def money(self, api):
        (naira,) = [one for one in ledger.balances(api_business(api)) if one.currency == "NGN"]
        return naira.pending, naira.available

    def test_credits_the_net_to_the_wallet(self, api):
        pay(api, amount=50_000)
        (batch,) = settle()
        before = self.money(api)

        decide(batch, "approve", "release")

        assert (before, self.money(api)) == ((49_250, 0), (0, 49_250))

    def test_nets_a_refund_after_settlement_with_the_next_one(self, api):
        reference = pay(api, amount=50_000)
        decide(*settle(), "approve", "release")
        refund(api, reference, amount=10_000)
        after_refund = self.money(api)
        pay(api, amount=50_000)
        decide(*settle(), "approve", "release")

        assert after_refund == (-10_000, 49_250)
        assert self.money(api) == (0, 49_250 + 39_250)

    def test_of_an_uncovered_batch_takes_nothing_from_the_wallet(self, api):
        reference = pay(api, amount=50_000)
        decide(*settle(), "approve", "release")
        refund(api, reference)
        pay(api, amount=10_000)
        decide(*settle(), "approve", "release")
        owed = self.money(api)
        pay(api, amount=100_000)
        decide(*settle(), "approve", "release")

        assert owed == (-40_150, 49_250)
        assert self.money(api) == (0, 49_250 + 98_500 - 40_150)

    def test_is_booked_once(self, api):
        pay(api)
        (batch,) = settle()
        decide(batch, "approve", "release")

        with pytest.raises(InvalidState):
            decide(batch, "release")

        assert Entry.objects.filter(kind=Entry.Kind.SETTLEMENT_RELEASED, cause=batch.pk).count() == 1


class TestCommand:
    def test_settles_yesterday_by_default(self, api):
        finished_at(timezone.now() - timedelta(days=1), pay(api))
        pay(api)

        said = run()

        yesterday = today() - timedelta(days=1)
        assert said.splitlines()[-1] == f"Settled 1 payment up to the end of {yesterday} in 1 batch."
        assert SettlementItem.objects.count() == 1

    def test_dry_run_changes_nothing(self, api):
        pay(api)

        said = run("--date", str(today()), "--dry-run")

        assert "Would settle 1 payment up to" in said
        assert not SettlementBatch.objects.exists()

    def test_returns_json(self, api, ada):
        pay(api)

        document = json.loads(run("--date", str(today()), "--json"))

        (batch,) = document["batches"]
        assert document["dry_run"] is False
        assert batch["business"] == str(ada.business.pk)
        assert (batch["gross"], batch["fees"], batch["net"]) == (50_000, 750, 49_250)
        assert (batch["state"], batch["day"]) == ("pending", str(today()))

    @pytest.mark.parametrize("day", ["yesterday", "2026-02-30", "01/02/2026", "", "9999-12-31"])
    def test_rejects_an_invalid_day(self, day):
        with pytest.raises(CommandError, match="is not a day"):
            run("--date", day)


class TestUnfinishedDay:
    """Payments of a day that is not over would join its batch later."""

    def refused(self, *arguments):
        with pytest.raises(CommandError) as refusal:
            call_command("settle", "--date", today().isoformat(), *arguments, stdout=StringIO())
        assert refusal.value.returncode == 2
        return str(refusal.value)

    def test_is_refused_in_production(self, api, settings):
        reference = pay(api)
        settings.SANDBOX = False

        assert "Settle it after that." in self.refused("--unfinished")
        assert "settle_status" not in shown(api, reference)

    def test_needs_a_flag_in_the_sandbox(self, api):
        reference = pay(api)

        assert "add --unfinished" in self.refused()
        call_command(
            "settle", "--date", today().isoformat(), "--unfinished", stdout=StringIO(), stderr=StringIO()
        )

        assert shown(api, reference)["settle_status"] == "pending"
