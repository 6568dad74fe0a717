"""Payouts through the whole service to a simulated Paystack over HTTP: paid once, whatever happens to the answers."""

import json
import logging
import traceback
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.apps import apps
from django.db.models import F
from django.utils import timezone

from connectors.models import ProviderEvent
from connectors.paystack.api import bank_codes
from connectors.paystack.api.client import PaystackClient
from connectors.paystack.simulator import tables
from connectors.paystack.simulator.answers import Request
from connectors.paystack.simulator.money.transfers import create_recipient, send
from connectors.services import event_processing
from kit.connectors import connectors
from kit.connectors.connector_metrics import RAIL_DIFFERENCES
from kit.connectors.http_client import HttpClient, HttpRequest, NoAnswer
from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import PayoutReturn, RailBlock, Transaction
from payments.rails.protocol import AnswerLost, PayoutOrder
from payments.services.payouts import reversed_payouts
from payments.services.rails.rail_queries.rail_blocks import cached_blocks
from payments.services.transfers import account_provider_calls
from tests.connectors.paystack.client import KEY, LIVE_KEY
from tests.connectors.paystack.connected import (
    made_bank,
    paystack_connected,
    reference_of,
    short_timeout,
)
from tests.connectors.provider_webhooks import PAYSTACK, paystack_event, process
from tests.connectors.provider_webhooks import send as send_event
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import ProviderMessage
from virtual_accounts.services import provider_messages
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

WITH_EFFECT = ["swallow", "cut", "half", "garbage", "fail 500", "fail 502", "redirect"]
WITHOUT_EFFECT = ["lose", "lose_and_cut", "refuse 500", "refuse 503"]


@pytest.fixture
def paystack(settings, api):
    with paystack_connected(settings, api) as connected:
        yield connected


@pytest.fixture
def live(settings, api):
    """Return a Paystack whose transfers stay pending."""
    with paystack_connected(settings, api, key=LIVE_KEY) as connected:
        connected.command(default={"transfer": "pending"})
        yield connected


def outcome(payout):
    return (payout["status"], payout["response_code"])


class TestPayout:
    def test_succeeds(self, paystack, ada):
        make_endpoint(business=ada.business)

        payout = paystack.pay_out(amount=250_000, narration="Rent")

        assert outcome(payout) == ("success", "10000")
        assert paystack.paid() == {reference_of(payout): 250_000}
        stored = Transaction.objects.get()
        assert (stored.connector, stored.account) == ("paystack", "paystack:463433")
        assert stored.acquirer_transaction_id.startswith("TRF_")
        assert Delivery.objects.get(subject=payout["id"]).event == "payout.success"
        assert [one.broken for one in check(INVARIANTS) if not one.holds] == []

    def test_succeeds_after_its_bank_has_answered(self, live):
        payout = live.pay_out()
        assert outcome(payout) == ("pending", "10001")

        live.command(transfer={"reference": reference_of(payout), "status": "success"})
        live.requery()

        found = live.again(payout)
        assert outcome(found) == ("success", "10000")
        assert len(found["acquirer_transaction_id"]) == 30  # the NIP session
        assert Transaction.objects.get().rail_cost == live.only_transfer().fee

    def test_succeeds_although_its_bank_has_left_the_list(self, live, monkeypatch):
        payout = live.pay_out()
        closed = {
            code: replace(bank, is_active=False) for code, bank in tables.BANKS.items() if code == "058"
        }
        monkeypatch.setattr(tables, "BANKS", tables.BANKS | closed)
        made_bank()._connector._banks._next_read = 0.0  # a day later

        live.command(transfer={"reference": reference_of(payout), "status": "success"})
        live.requery()

        assert outcome(live.again(payout)) == ("success", "10000")

    @pytest.mark.parametrize("status", ["failed", "reversed"])
    def test_fails(self, live, status):
        payout = live.pay_out()

        live.command(transfer={"reference": reference_of(payout), "status": status})
        live.requery()

        assert outcome(live.again(payout)) == ("failed", "20030")
        assert live.paid() == {}
        assert not RailBlock.objects.exists()

    def test_stays_pending_with_a_status_that_is_not_known(self, live):
        payout = live.pay_out()
        live.simulator.integration.tables.transfers[reference_of(payout)].status = "queued"

        live.requery()

        assert outcome(live.again(payout)) == ("pending", "10001")

    def test_to_an_account_that_does_not_exist_fails(self, paystack):
        payout = paystack.pay_out(
            customer={"name": "Ada Obi", "account_number": "0000000000", "bank_code": "058"}
        )

        assert outcome(payout) == ("failed", "20030")
        assert paystack.books()["transfers"] == {}

    def test_to_a_bank_that_paystack_does_not_have_fails(self, paystack, monkeypatch):
        others = {code: bank for code, bank in tables.BANKS.items() if bank.nip_code != "000013"}
        monkeypatch.setattr(tables, "BANKS", others)

        payout = paystack.pay_out()

        assert outcome(payout) == ("failed", "20030")
        assert paystack.books()["transfers"] == {}

    @pytest.mark.parametrize(
        ("is_second", "unreadable"),
        [
            (True, {"data": None}),
            (False, {"meta": {"next": ["cursor"]}}),
            (True, {"meta": {"next": "again"}}),
        ],
    )
    def test_to_a_bank_on_a_page_that_cannot_be_read_waits(
        self, paystack, monkeypatch, is_second, unreadable
    ):
        get = PaystackClient.get

        def without_second_page(self, path, *, query=None, **more):
            answer = get(self, path, query=query, **more)
            is_page = path == "/bank" and ("next" in query) == is_second
            return replace(answer, **unreadable) if is_page else answer

        monkeypatch.setattr(bank_codes, "PAGE", 20)
        monkeypatch.setattr(PaystackClient, "get", without_second_page)

        payout = paystack.pay_out(
            customer={"name": "Ada Obi", "account_number": "0123456789", "bank_code": "057"}
        )

        assert outcome(payout) == ("pending", "10001")

    @pytest.mark.parametrize("member", ["nip_sort_code", "nip_code"])
    def test_uses_paystacks_code_of_a_bank(self, settings, api, monkeypatch, member):
        """A code of letters, which no table of ours has."""
        theirs = replace(tables.BANKS["058"], code="035A")
        monkeypatch.setattr(tables, "BANKS", {"035A": theirs})
        with paystack_connected(settings, api, nip_member=member) as paystack:
            payout = paystack.pay_out()

            assert outcome(payout) == ("success", "10000")
            assert paystack.only_transfer().recipient.bank_code == "035A"

    def test_is_below_the_smallest_amount(self, paystack):
        refused = paystack.post(amount=9_999)

        assert (refused.status_code, refused.json()["code"]) == (400, "not_supported")
        assert [each["field"] for each in refused.json()["errors"]] == ["amount"]

    def test_is_in_another_currency(self, paystack):
        refused = paystack.post(currency="USD")

        assert refused.status_code == 400
        assert not Transaction.objects.exists()

    def test_of_another_integration_waits(self, live, settings):
        payout = live.pay_out()
        live.command(transfer={"reference": reference_of(payout), "status": "success"})
        settings.PAYSTACK_INTEGRATION = "1"
        connectors._made.cache_clear()
        before = live.simulator.calls.total()

        live.requery()

        assert outcome(live.again(payout)) == ("pending", "10001")
        assert live.simulator.calls.total() == before


class TestLostAnswers:
    @pytest.mark.parametrize("fault", WITH_EFFECT)
    def test_with_effect_is_found(self, paystack, fault):
        paystack.plan(f"POST /transfer: {fault}")

        with short_timeout():
            payout = paystack.pay_out()
        assert outcome(payout) == ("pending", "10001")
        paystack.requery()

        assert outcome(paystack.again(payout)) == ("success", "10000")
        assert paystack.paid() == {reference_of(payout): 250_000}
        assert paystack.simulator.calls["POST /transfer"] == 1

    @pytest.mark.parametrize("fault", WITHOUT_EFFECT)
    def test_without_effect_is_sent_again_after_a_minute(self, paystack, fault):
        paystack.plan(f"POST /transfer: {fault}")

        with short_timeout():
            payout = paystack.pay_out()
        paystack.requery()
        assert outcome(paystack.again(payout)) == ("pending", "10001")
        assert paystack.paid() == {}
        paystack.requery_later()

        assert outcome(paystack.again(payout)) == ("success", "10000")
        assert paystack.paid() == {reference_of(payout): 250_000}

    def test_waits_a_minute_after_each_attempt(self, paystack):
        paystack.plan("POST /transfer: refuse 500", "POST /transfer: refuse 500")
        payout = paystack.pay_out()
        paystack.requery_later()

        paystack.requery_later(after=40)
        assert outcome(paystack.again(payout)) == ("pending", "10001")

        paystack.requery_later(after=21)
        assert outcome(paystack.again(payout)) == ("success", "10000")

    def test_is_sent_again_at_any_age(self, paystack):
        paystack.plan("POST /transfer: lose_and_cut")
        payout = paystack.pay_out()

        paystack.requery_later(after=400 * 86_400)

        assert outcome(paystack.again(payout)) == ("success", "10000")
        assert not Transaction.objects.beyond_retry_window(at=timezone.now()).exists()

    def test_hidden_for_longer_than_a_minute_is_paid_once(self, live):
        live.plan("POST /transfer: hide 90")
        payout = live.pay_out()

        live.requery_later()
        assert live.simulator.calls["POST /transfer"] == 2  # the second one is refused as a duplicate
        live.command(transfer={"reference": reference_of(payout), "status": "success"})
        live.requery_later()

        assert outcome(live.again(payout)) == ("success", "10000")
        assert live.paid() == {reference_of(payout): 250_000}

    @pytest.mark.parametrize("kind", ["400", "404", "without_code"])
    def test_duplicate_is_looked_up(self, settings, api, kind):
        with paystack_connected(settings, api, transfer_repeated=kind) as paystack:
            paystack.plan("POST /transfer: repeat")

            payout = paystack.pay_out()

            assert outcome(payout) == ("success", "10000")
            assert paystack.paid() == {reference_of(payout): 250_000}

    def test_refused_when_sent_again_is_looked_up_once_more(self, paystack):
        """The first attempt arrived after all, and the account was closed since."""
        order = an_order()
        paystack.plan("POST /transfer: fail 500")
        with pytest.raises(AnswerLost):
            made_bank().send(order)
        paystack.command(names={order.account_number: ""})

        assert made_bank().send(order).outcome.is_success

    @pytest.mark.parametrize("path", ["/bank", "/transferrecipient"])
    def test_before_the_transfer_leaves_it_unsent(self, paystack, path):
        paystack.plan(f"{'GET' if path == '/bank' else 'POST'} {path}: fail 500")

        payout = paystack.pay_out()
        assert outcome(payout) == ("pending", "10001")
        paystack.requery_later()

        assert outcome(paystack.again(payout)) == ("success", "10000")

    @pytest.mark.parametrize("fault", WITH_EFFECT)
    def test_of_a_query_changes_nothing(self, live, fault):
        payout = live.pay_out()
        live.plan(f"GET /transfer/verify: {fault}")

        with short_timeout():
            live.requery()

        assert outcome(live.again(payout)) == ("pending", "10001")

    def test_is_not_sent_by_a_process_with_an_expired_lease(self, paystack):
        order = replace(an_order(), send_by=timezone.now() - timedelta(seconds=1))

        with pytest.raises(AnswerLost):
            made_bank().send(order)

        assert paystack.books()["transfers"] == {}


class TestWebhook:
    def test_has_the_payout_queried(self, live, client):
        payout = live.pay_out()
        live.command(transfer={"reference": reference_of(payout), "status": "success"})
        event = live.simulator.integration.outbox.events[-1]

        assert send_event(client, PAYSTACK, event.body, key=LIVE_KEY).status_code == 200
        process()

        assert outcome(live.again(payout)) == ("success", "10000")

    def test_about_a_success_that_paystack_does_not_have_changes_nothing(self, live, client):
        payout = live.pay_out()
        event = paystack_event(reference=reference_of(payout), status="success", amount=250_000)

        assert send_event(client, PAYSTACK, event, key=LIVE_KEY).status_code == 200
        process()

        assert outcome(live.again(payout)) == ("pending", "10001")


class TestReversedTransfer:
    """Paystack may give back a transfer that succeeded, such as one that the beneficiary's bank refused later."""

    @pytest.fixture
    def paid(self, live):
        payout = live.pay_out(amount=250_000)
        live.command(transfer={"reference": reference_of(payout), "status": "success"})
        live.requery()
        assert outcome(live.again(payout)) == ("success", "10000")
        live.simulator.deliver()
        return payout

    def test_is_a_returned_payout(self, live, paid, client, ada):
        make_endpoint(business=ada.business, events=["payout", "reversal"])
        reverse(live, paid)

        live.deliver(client)

        found = live.again(paid)
        assert outcome(found) == ("success", "10000")
        assert found["reversal"]["amount"] == 250_000
        assert PayoutReturn.objects.get().applied == PayoutReturn.Applied.REVERSED
        assert [each.event for each in Delivery.objects.order_by("pk")] == ["payout.reversed"]
        settle_events()
        event = ProviderEvent.objects.get(kind="transfer.reversed")
        assert (event.result, event.outcome) == ("queried", "returned: NGN 2,500.00")
        assert [one.broken for one in check(INVARIANTS) if not one.holds] == []

    def test_counts_once_however_often_it_is_told(self, live, paid, client):
        body = reverse(live, paid)
        live.deliver(client)

        for _ in range(2):
            ProviderEvent.objects.update(asked_at=F("asked_at") - timedelta(seconds=11))
            assert send_event(client, PAYSTACK, body, key=LIVE_KEY).status_code == 200
            settle_events()

        assert PayoutReturn.objects.count() == 1
        assert live.again(paid)["reversal"]["amount"] == 250_000

    def test_is_looked_up_again_if_it_is_told_during_a_query(self, live, paid, client):
        """The answer on its way is from before the transfer was given back."""
        early = paystack_event("transfer.failed", reference=reference_of(paid), status="failed")
        assert send_event(client, PAYSTACK, early, key=LIVE_KEY).status_code == 200
        event_processing.process_due()
        (message,) = provider_messages.lease(limit=1, at=timezone.now(), length=timedelta(seconds=30))
        answer = reversed_payouts.query_of(message.subject)()

        body = reverse(live, paid)
        assert send_event(client, PAYSTACK, body, key=LIVE_KEY).status_code == 200
        event_processing.process_due()
        reversed_payouts.apply(message.subject, answer)
        provider_messages.record_answer(message, now=timezone.now())
        settle_events()

        assert live.again(paid)["reversal"]["amount"] == 250_000

    @pytest.mark.parametrize("status", ["reversed", "failed"])
    def test_is_believed_from_a_query_only(self, live, paid, client, status):
        event = paystack_event(f"transfer.{status}", reference=reference_of(paid), status=status)

        assert send_event(client, PAYSTACK, event, key=LIVE_KEY).status_code == 200
        settle_events()

        assert "reversal" not in live.again(paid)
        assert not PayoutReturn.objects.exists()
        assert ProviderEvent.objects.get(kind=f"transfer.{status}").outcome == "nothing changed"

    def test_is_looked_up_again_if_it_is_told_before_paystack_shows_it(self, live, paid, client):
        event = paystack_event("transfer.reversed", reference=reference_of(paid), status="reversed")
        assert send_event(client, PAYSTACK, event, key=LIVE_KEY).status_code == 200
        settle_events()
        assert not PayoutReturn.objects.exists()

        reverse(live, paid)
        settle_events()

        assert live.again(paid)["reversal"]["amount"] == 250_000
        assert not ProviderMessage.objects.exists()
        assert not ProviderEvent.objects.exclude(next_attempt_at=None).exists()

    def test_is_looked_up_again_without_an_answer(self, live, paid, client):
        body = reverse(live, paid)
        live.plan("GET /transfer/verify: fail 502")
        assert send_event(client, PAYSTACK, body, key=LIVE_KEY).status_code == 200
        settle_events()
        assert not PayoutReturn.objects.exists()

        ProviderMessage.objects.update(next_attempt_at=timezone.now())
        settle_events()

        assert live.again(paid)["reversal"]["amount"] == 250_000

    def test_before_its_success_is_known_fails_the_payout(self, live, client):
        payout = live.pay_out()
        live.command(transfer={"reference": reference_of(payout), "status": "success"})
        reverse(live, payout)

        live.deliver(client)
        live.requery()

        assert outcome(live.again(payout)) == ("failed", "20030")
        assert not PayoutReturn.objects.exists()

    def test_of_another_integration_is_not_asked_about(self, live, paid, client, settings):
        body = reverse(live, paid)
        assert send_event(client, PAYSTACK, body, key=LIVE_KEY).status_code == 200
        process()
        settings.PAYSTACK_INTEGRATION = "1"
        connectors._made.cache_clear()
        before = live.simulator.calls.total()

        settle_events()

        assert live.simulator.calls.total() == before
        assert not PayoutReturn.objects.exists()


def reverse(live, payout):
    """Have Paystack give a transfer back, and return the body of the event that it sends."""
    live.command(transfer={"reference": reference_of(payout), "status": "reversed"})
    return live.simulator.integration.outbox.events[-1].body


def settle_events():
    """Process events and what they ask."""
    for _ in range(3):
        ProviderEvent.objects.filter(next_attempt_at__gt=timezone.now()).update(
            next_attempt_at=timezone.now()
        )
        event_processing.process_due()
        account_provider_calls.send_due()


class TestDifferences:
    """Another program has used our reference."""

    @pytest.mark.parametrize(
        ("changes", "differs"),
        [
            ({"amount": 250_001}, "amount"),
            ({"number": "0123456780"}, "account_number"),
            ({"bank": "044"}, "bank_code"),
        ],
    )
    def test_a_duplicate_with_other_values_is_never_a_success(self, paystack, caplog, changes, differs):
        order = an_order()
        theirs = {"amount": 250_000, "number": "0123456789", "bank": "058"} | changes
        _transfer_of_another(paystack, order.id.hex, **theirs)

        counted = RAIL_DIFFERENCES.labels("paystack")._value.get()

        with pytest.raises(AnswerLost):
            made_bank().send(order)
        with pytest.raises(AnswerLost):
            made_bank().query(order)

        assert RAIL_DIFFERENCES.labels("paystack")._value.get() == counted + 2
        assert caplog.text.count(f"'differs': '{differs}'") == 2

    def test_another_integration_blocks_before_money_moves(self, paystack):
        paystack.simulator.integration.settings = replace(
            paystack.simulator.integration.settings, integration=1
        )

        payout = paystack.pay_out()

        assert outcome(payout) == ("pending", "10001")
        assert paystack.books()["transfers"] == {}
        assert "another integration" in RailBlock.objects.get().reason

    def test_another_environment_blocks_before_money_moves(self, paystack):
        paystack.simulator.integration.domain = "live"

        payout = paystack.pay_out()

        assert outcome(payout) == ("pending", "10001")
        assert paystack.books()["transfers"] == {}
        assert "other environment" in RailBlock.objects.get().reason


class TestNameEnquiry:
    def test_returns_the_name(self, paystack):
        paystack.command(names={"0123456789": "ADA  OBI"})

        assert made_bank().account_name(account_number="0123456789", nip_code="000013") == "ADA OBI"

    def test_returns_none_for_an_account_that_is_not_resolved(self, paystack):
        assert made_bank().account_name(account_number="0000000000", nip_code="000013") is None
        assert made_bank().account_name(account_number="0123456789", nip_code="999999") is None

    @pytest.mark.parametrize("fault", ["swallow", "fail 500", "refuse 429", "garbage"])
    def test_without_an_answer_tells_nothing(self, paystack, fault):
        paystack.plan(f"GET /bank/resolve: {fault}", f"GET /bank/resolve: {fault}")

        with short_timeout(), pytest.raises(AnswerLost):
            made_bank().account_name(account_number="0123456789", nip_code="000013")

    def test_of_a_holder_without_a_name_tells_nothing(self, paystack):
        paystack.command(names={"0123456789": None})

        with pytest.raises(AnswerLost):
            made_bank().account_name(account_number="0123456789", nip_code="000013")

    @pytest.mark.parametrize("status", ["429", "400"])
    def test_daily_limit_of_test_mode_is_no_unknown_account(self, settings, api, status):
        with paystack_connected(settings, api, resolve_limit=status):
            for _ in range(3):
                made_bank().account_name(account_number="0123456789", nip_code="000013")

            with pytest.raises(AnswerLost):
                made_bank().account_name(account_number="0123456789", nip_code="000013")


class TestBankList:
    def test_is_read_once_and_kept(self, paystack):
        paystack.pay_out()
        read = paystack.simulator.calls["GET /bank"]

        paystack.pay_out()

        assert paystack.simulator.calls["GET /bank"] == read

    def test_is_kept_if_it_cannot_be_read_again(self, paystack):
        paystack.pay_out()
        made_bank()._connector._banks._next_read = 0.0
        paystack.plan("GET /bank: fail 500")

        assert outcome(paystack.pay_out()) == ("success", "10000")


class TestSecrets:
    @pytest.mark.long
    def test_key_reaches_no_log_row_or_exception(self, paystack, caplog):
        caplog.set_level(logging.DEBUG)
        faults = [*WITH_EFFECT, *WITHOUT_EFFECT, "refuse 401", "refuse 403", "refuse 429"]
        paystack.plan(*[f"POST /transfer: {fault}" for fault in faults])
        with short_timeout():
            for _ in faults:
                paystack.post()
                RailBlock.objects.all().delete()
                cached_blocks.cache_clear()

        assert "no answer from Paystack" in caplog.text
        assert KEY not in caplog.text
        stored = [str(row) for model in apps.get_models() for row in model._base_manager.values_list()]
        assert stored
        assert KEY not in "".join(stored)
        assert KEY not in repr(vars(made_bank()._connector)) + str(HttpRequest("GET", "u", {"a": KEY}))
        with pytest.raises(NoAnswer) as lost:
            HttpClient().call(HttpRequest("GET", "http://127.0.0.1:9", {"a": f"{KEY}\n"}), timeout=2)
        assert KEY not in "".join(traceback.format_exception(lost.value))


def an_order():
    return PayoutOrder(
        id=uuid4(),
        amount=250_000,
        currency="NGN",
        beneficiary="Ada Obi",
        account_number="0123456789",
        nip_code="000013",
        narration="",
    )


def _transfer_of_another(paystack, reference, *, amount, number, bank):
    """Let another program send a transfer with our reference."""

    def post(path, **body):
        target = Request("POST", path, {}, "", b"", body)
        handler = create_recipient if path == "/transferrecipient" else send
        return json.loads(handler(paystack.simulator.integration, target).body)["data"]

    made = post("/transferrecipient", type="nuban", name="Other", account_number=number, bank_code=bank)
    post("/transfer", source="balance", amount=amount, recipient=made["recipient_code"], reference=reference)
