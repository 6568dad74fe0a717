"""Faults of ours at Paystack block the rail: no payee is declined for them, and staff see why."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from connectors.paystack.simulator import tables
from connectors.paystack.simulator.tables import Error
from merchants.models import AuditEntry
from operations import doctor_checks, metrics
from payments.models import RailBlock, RailSilence, Transaction
from payments.services.rails.requery import requery_due
from tests import orders
from tests.connectors.paystack.client import LIVE_KEY, NOON
from tests.connectors.paystack.connected import PAYMENTS, made_bank, paystack_connected, reference_of
from tests.dashboard.people import signed_in
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

MOST_STATEMENTS = 4  # of a request that is refused: its key, its nonce, and whether it repeats an earlier one
BALANCE = 100_000_000  # of the simulator at its start
FAULTS = {
    "one-time password": {"otp": True},
    "IP whitelist": {"ip_refused": True},
    "on hold": {"on_hold": True},
    "registration": {"starter": True},
}


@pytest.fixture
def paystack(settings, api):
    with paystack_connected(settings, api) as connected:
        yield connected


def outcome(payout):
    return (payout["status"], payout["response_code"])


def sends(paystack):
    return paystack.simulator.calls["POST /transfer"]


class TestBlockOfAll:
    @pytest.mark.parametrize("reason", FAULTS)
    def test_keeps_payouts_pending_and_refuses_new_ones(self, paystack, reason):
        paystack.command(switch=FAULTS[reason])

        payout = paystack.pay_out()
        refused = paystack.post(reference="second")

        assert outcome(payout) == ("pending", "10001")
        assert (refused.status_code, refused.json()["code"]) == (503, "rail_unavailable")
        assert not Transaction.objects.filter(reference="second").exists()
        offered = {each["flow"]: each for each in paystack.api.get("/api/capabilities").json()["data"]}
        assert offered["payout"]["available"] is False
        block = RailBlock.objects.get()
        assert (block.connector, block.account, block.amount) == ("paystack", "paystack:463433", None)
        assert reason in block.reason

    def test_of_a_refused_key_ends_with_the_first_accepted_payout(self, paystack):
        paystack.plan("POST /transferrecipient: refuse 401")
        payout = paystack.pay_out()
        assert "PAYSTACK_SECRET_KEY" in RailBlock.objects.get().reason

        paystack.requery_later()

        assert outcome(paystack.again(payout)) == ("success", "10000")
        assert not RailBlock.objects.exists()
        assert paystack.pay_out()["status"] == "success"

    def test_answers_the_repeated_request_of_a_stored_payout(self, paystack):
        order = orders.payout()
        paystack.command(switch={"on_hold": True})
        first = paystack.api.post(PAYMENTS, order).json()

        again = paystack.api.post(PAYMENTS, order)

        assert (again.status_code, again.json()["id"]) == (200, first["id"])

    def test_sends_one_probe_a_minute(self, paystack):
        paystack.command(switch={"on_hold": True})
        waiting = [Transaction.objects.get(pk=paystack.pay_out()["id"])]
        RailBlock.objects.all().delete()
        paystack.pass_time(0)
        waiting.append(Transaction.objects.get(pk=paystack.pay_out()["id"]))
        before = sends(paystack)

        paystack.requery_later(after=61)
        paystack.requery_later(after=20)
        assert sends(paystack) == before + 1
        paystack.requery_later(after=41)
        assert sends(paystack) == before + 2

        paystack.command(switch={"on_hold": False})
        paystack.requery_later(after=61)
        paystack.requery_later(after=61)
        assert len(paystack.paid()) == 2

    def test_sends_a_new_payout_as_probe_if_none_waits(self, paystack):
        paystack.command(switch={"on_hold": True})
        paystack.pay_out()
        Transaction.objects.update(status="failed", awaiting="", finished_at=timezone.now())
        paystack.command(switch={"on_hold": False})
        assert paystack.post().status_code == 503

        paystack.pass_time(61)

        assert paystack.pay_out()["status"] == "success"
        assert not RailBlock.objects.exists()

    def test_of_a_refused_query_ends_although_the_transfer_stays_pending(self, settings, api):
        with paystack_connected(settings, api, key=LIVE_KEY) as paystack:
            paystack.command(default={"transfer": "pending"})
            paystack.pay_out()
            paystack.plan("GET /transfer/verify: refuse 403")
            paystack.requery()
            assert paystack.post().status_code == 503

            paystack.requery_later()

            assert paystack.post().status_code == 201
            assert not RailBlock.objects.exists()

    def test_by_one_time_passwords_ends_although_a_transfer_waits_for_one(self, paystack):
        paystack.command(switch={"otp": True})
        payout = paystack.pay_out()
        paystack.command(switch={"otp": False})

        paystack.requery_later()

        assert paystack.pay_out()["status"] == "success"
        assert outcome(paystack.again(payout)) == ("pending", "10001")

    def test_passes_to_the_amount_if_the_probe_is_only_too_large(self, paystack):
        paystack.command(switch={"on_hold": True})
        paystack.pay_out(amount=2 * BALANCE)
        paystack.command(switch={"on_hold": False})

        paystack.requery_later()

        assert RailBlock.objects.get().amount == 2 * BALANCE
        assert paystack.pay_out()["status"] == "success"

    @pytest.mark.parametrize("status", ["abandoned", "blocked", "rejected"])
    def test_begins_with_a_transfer_that_our_settings_there_ended(self, settings, api, status):
        with paystack_connected(settings, api, key=LIVE_KEY) as paystack:
            paystack.command(default={"transfer": "pending"})
            payout = paystack.pay_out()
            paystack.command(transfer={"reference": reference_of(payout), "status": status})

            paystack.requery()

            assert outcome(paystack.again(payout)) == ("failed", "20030")
            assert status in RailBlock.objects.get().reason
            assert paystack.post().status_code == 503

    def test_begins_with_the_fifth_equal_refusal_that_is_not_documented(self, paystack, monkeypatch):
        refusal = Error(400, "Sorry, we can't make the transfer to this recipient at the moment")
        monkeypatch.setitem(tables.ERRORS, "on_hold", refusal)
        paystack.command(switch={"on_hold": True})

        payouts = [paystack.pay_out() for _ in range(5)]

        assert {outcome(payout) for payout in payouts} == {("pending", "10001")}
        assert "Sorry, we can't make the transfer" in RailBlock.objects.get().reason
        assert paystack.post().status_code == 503

    def test_does_not_begin_with_four_equal_refusals_before_a_success(self, paystack, monkeypatch):
        monkeypatch.setitem(tables.ERRORS, "on_hold", Error(400, "Sorry", "unknown"))
        for is_on_hold in [*[True] * 4, False, *[True] * 4]:
            paystack.command(switch={"on_hold": is_on_hold})
            paystack.pay_out()

        assert not RailBlock.objects.exists()


class TestBlockByAmount:
    def test_refuses_only_payouts_of_this_amount_or_more(self, paystack):
        payout = paystack.pay_out(amount=2 * BALANCE)

        assert outcome(payout) == ("pending", "10001")
        block = RailBlock.objects.get()
        assert (block.currency, block.amount) == ("NGN", 2 * BALANCE)
        assert "balance" in block.reason
        assert paystack.post(amount=2 * BALANCE).status_code == 503
        assert paystack.pay_out(amount=2 * BALANCE - 1)["status"] == "pending"
        assert RailBlock.objects.get().amount == 2 * BALANCE - 1
        assert paystack.pay_out(amount=250_000)["status"] == "success"
        assert RailBlock.objects.exists()

    def test_ends_when_the_balance_is_topped_up(self, paystack):
        payout = paystack.pay_out(amount=2 * BALANCE)

        paystack.command(top_up=2 * BALANCE)
        paystack.requery_later()

        assert outcome(paystack.again(payout)) == ("success", "10000")
        assert not RailBlock.objects.exists()


class TestRateLimit:
    def test_that_ends_soon_delays_the_payout(self, paystack):
        paystack.plan("POST /transfer: refuse 429")

        assert paystack.pay_out()["status"] == "success"

    def test_that_lasts_refuses_new_payouts_until_it_ends(self, paystack):
        minute = int(NOON.timestamp()) // tables.RATE_WINDOW
        paystack.simulator.integration.switches["unlimited"] = False
        paystack.simulator._windows["/transfer"] = (minute, tables.RATES["test"][""])
        payout = paystack.pay_out()
        assert outcome(payout) == ("pending", "10001")
        assert paystack.post().status_code == 503

        # A minute later. Processes share the limit in Redis, if there is one.
        made_bank()._connector._client._buckets.clear()
        cache.clear()
        paystack.requery_later()

        assert outcome(paystack.again(payout)) == ("success", "10000")
        assert paystack.pay_out()["status"] == "success"
        assert not RailBlock.objects.exists()


class TestBreaker:
    def test_refuses_new_payouts_at_once_while_paystack_is_down(self, paystack, monkeypatch):
        paystack.command(switch={"is_down": True})
        for _ in range(5):
            paystack.post()
        before, calls = Transaction.objects.count(), paystack.simulator.calls.total()
        made_bank()._connector._client.breaker.start = lambda probe: None  # has a thread of its own
        slept = []
        monkeypatch.setattr("time.sleep", slept.append)

        with CaptureQueriesContext(connection) as statements:
            refused = paystack.post()

        assert (refused.status_code, refused.json()["code"]) == (503, "rail_unavailable")
        assert (Transaction.objects.count(), paystack.simulator.calls.total(), slept) == (before, calls, [])
        assert len(statements) <= MOST_STATEMENTS, [each["sql"] for each in statements]
        assert not RailBlock.objects.exists()

    def test_closes_with_the_first_answer_to_a_harmless_call(self, paystack):
        paystack.command(switch={"is_down": True})
        payouts = [paystack.pay_out() for _ in range(5)]
        paystack.command(switch={"is_down": False})

        paystack.requery_later()

        assert {outcome(paystack.again(payout)) for payout in payouts} == {("success", "10000")}
        assert paystack.pay_out()["status"] == "success"

    def test_everything_open_resolves_within_five_minutes_after_an_hour(self, paystack):
        paystack.plan("POST /transfer: cut", "POST /transfer: lose_and_cut")
        payouts = [paystack.pay_out(), paystack.pay_out()]
        paystack.command(switch={"is_down": True})
        payouts.append(paystack.pay_out())
        let_pass(paystack, seconds=60, times=60)
        assert {outcome(paystack.again(payout)) for payout in payouts} == {("pending", "10001")}

        paystack.command(switch={"is_down": False})
        let_pass(paystack, seconds=10, times=30)

        assert {outcome(paystack.again(payout)) for payout in payouts} == {("success", "10000")}
        assert paystack.paid() == {reference_of(payout): 250_000 for payout in payouts}
        assert not RailSilence.objects.exists()


def let_pass(paystack, *, seconds, times):
    """Let the scheduled queries of some time run."""
    for _ in range(times):
        paystack.pass_time(seconds)
        past = timedelta(seconds=seconds)
        RailSilence.objects.update(since=F("since") - past, probed_at=F("probed_at") - past)
        list(requery_due())


class TestStaff:
    @pytest.fixture
    def staff(self):
        person = UserFactory(email="staff@example.com", is_staff=True, is_superuser=True)
        return signed_in(person, client=Client())

    def test_see_and_end_a_block(self, paystack, staff, caplog):
        paystack.command(switch={"on_hold": True})
        payout = paystack.pay_out()
        block = RailBlock.objects.get()
        assert "rail blocked" in caplog.text
        assert "on hold" in staff.get(f"/admin/payments/railblock/{block.pk}/change/").content.decode()
        paystack.command(switch={"on_hold": False})

        paystack.pass_time(61)
        page = staff.post(
            f"/admin/payments/railblock/{block.pk}/unblock/", {"reason": "Called Paystack"}, follow=True
        )

        assert "The account is unblocked." in page.content.decode()
        assert not RailBlock.objects.exists()
        entry = AuditEntry.objects.get(action="rail.unblocked")
        assert (entry.actor, entry.target) == ("staff@example.com", "paystack:463433")
        assert entry.after == {"reason": "Called Paystack"}
        assert Transaction.objects.get().next_query_at <= timezone.now()
        paystack.requery()
        assert outcome(paystack.again(payout)) == ("success", "10000")

    def test_need_a_reason_to_end_a_block(self, paystack, staff):
        paystack.command(switch={"on_hold": True})
        paystack.pay_out()
        block = RailBlock.objects.get()

        staff.post(f"/admin/payments/railblock/{block.pk}/unblock/", {"reason": ""})

        assert RailBlock.objects.exists()

    def test_doctor_names_it_and_metrics_count_it(self, paystack):
        paystack.pay_out(amount=2 * BALANCE)
        assert b"sluice_rail_blocks 1.0" in metrics.exposition()

        [finding] = doctor_checks._blocks(timezone.now())

        assert finding.severity == doctor_checks.Severity.BROKEN
        assert "payouts from NGN 2,000,000.00" in finding.said
        assert "balance at Paystack is too low" in finding.said
