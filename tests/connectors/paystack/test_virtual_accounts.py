"""Virtual accounts that Paystack opens: numbers, transfers and sessions, over HTTP to a simulated Paystack."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from connectors.paystack import examination
from connectors.paystack.api import codes
from connectors.paystack.api.client import PaystackClient
from kit.connectors import connectors
from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import Transaction
from payments.services.reconciliation import ledger_lines
from payments.services.transfers import account_provider_calls, virtual_account_payments
from tests import orders
from tests.bank_statements import bank_account
from tests.connectors.paystack.connected import INTEGRATION, paystack_connected
from tests.disputed import declare_moved
from tests.payers import Payer
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import (
    ProviderMessage,
    Session,
    Transfer,
    UnappliedMoney,
    UnclaimedTransfer,
    VirtualAccount,
)
from virtual_accounts.providers import PROVIDERS
from virtual_accounts.providers.protocol import AccountProvider
from virtual_accounts.services import unclaimed_transfers
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

ACCOUNTS = "/api/virtual-accounts"
# Without hyphens, it has thirteen digits that pass for a card number. One id in 2,000 does.
LIKE_A_CARD_NUMBER = UUID("019f717a-5753-7431-8589-3f0926d1c44d")


@pytest.fixture
def paystack(settings, api):
    with paystack_connected(settings, api, standing_at=timezone.now(), opens_accounts=True) as connected:
        yield connected


@pytest.fixture
def account(paystack):
    return create(paystack, orders.dynamic_account())


@pytest.fixture
def subscribed(ada):
    return make_endpoint(business=ada.business, events=["payment", "account", "unapplied"])


def create(paystack, order=None):
    answer = paystack.api.post(ACCOUNTS, order or orders.static_account())
    assert answer.status_code == 201, answer.content
    return answer.json()


def again(paystack, account):
    return paystack.api.get(f"{ACCOUNTS}/{account['reference']}").json()


def number_of(account):
    return account["customer"]["account_number"]


def receive(paystack, client, number, amount, **sender):
    told = paystack.command(receive={"account_number": number, "amount": amount, **sender})
    paystack.deliver(client)
    return told["results"]["receive"]


def events():
    return list(Delivery.objects.order_by("created_at").values_list("event", flat=True))


def assert_books_hold():
    assert [one.broken for one in check(INVARIANTS) if not one.holds] == []


def create_unanswered(paystack):
    """Create an account whose opening wasn't answered."""
    paystack.plan("POST /customer: lose_and_cut")
    return create(paystack)


def ask_many_times():
    """Send what waits again and again, as in an outage of an hour."""
    for _ in range(8):
        ProviderMessage.objects.unanswered().update(next_attempt_at=timezone.now(), leased_until=None)
        account_provider_calls.send_due()


class TestOpening:
    def test_an_account_has_its_number_at_once(self, paystack, subscribed):
        account = create(paystack)

        [opened] = paystack.simulator.integration.tables.accounts.values()
        assert (account["status"], number_of(account)) == ("active", opened.account_number)
        assert account["customer"]["bank_code"] == ""  # the test bank is none of ours
        stored = VirtualAccount.objects.get()
        assert opened.customer.email == f"pay+va-{stored.pk.hex}@shop.example"
        assert (stored.provider_account, stored.bank_name) == ("paystack:463433", "Test Bank")
        assert events() == []  # the answer has told it
        assert_books_hold()

    def test_a_business_is_the_last_name_of_its_customer(self, paystack):
        create(paystack, orders.business_account(business_name="Ada Books Ltd"))

        [opened] = paystack.simulator.integration.tables.accounts.values()
        assert opened.customer.last_name == "Ada Books Ltd"

    def test_without_an_answer_it_is_inactive_until_its_number_is_there(self, paystack, subscribed):
        paystack.plan("POST /dedicated_account: cut")
        account = create(paystack)
        assert (account["status"], number_of(account)) == ("inactive", "")
        assert (
            paystack.api.post(ACCOUNTS, orders.static_account(reference=account["reference"])).status_code
            == 200
        )

        ProviderMessage.objects.update(next_attempt_at=timezone.now(), leased_until=None)
        account_provider_calls.send_due()

        [opened] = paystack.simulator.integration.tables.accounts.values()
        account = again(paystack, account)
        assert (account["status"], number_of(account)) == ("active", opened.account_number)
        [event] = Delivery.objects.all()
        assert event.event == "account.active"
        assert opened.account_number in event.body
        assert_books_hold()

    def test_a_refused_customer_fails_it_and_a_refused_business_does_not(self, paystack, subscribed):
        paystack.command(switch={"accounts_refused": True})
        account = create(paystack)
        assert again(paystack, account)["status"] == "inactive"
        message = ProviderMessage.objects.get()
        assert "Dedicated NUBAN is not available" in message.last_error

        paystack.command(switch={"accounts_refused": False})
        paystack.plan("POST /customer: refuse 400")
        ProviderMessage.objects.update(next_attempt_at=timezone.now(), leased_until=None)
        account_provider_calls.send_due()

        assert VirtualAccount.objects.get().opening == "failed"
        assert events() == ["account.failed"]
        assert not ProviderMessage.objects.unanswered().exists()

    def test_an_error_that_is_no_definite_refusal_fails_none(self, paystack, subscribed):
        paystack.plan("POST /customer: fail 409")
        create(paystack)
        assert VirtualAccount.objects.get().opening == "pending"

        ProviderMessage.objects.update(next_attempt_at=timezone.now(), leased_until=None)
        account_provider_calls.send_due()

        assert VirtualAccount.objects.get().opening == ""

    @pytest.mark.parametrize(
        ("switch", "longest"),
        [("is_down", timedelta(minutes=2)), ("accounts_refused", timedelta(hours=1))],
    )
    def test_an_outage_is_asked_about_more_often_than_a_refusal(self, paystack, switch, longest):
        create_unanswered(paystack)
        paystack.command(switch={switch: True})

        ask_many_times()

        waits = ProviderMessage.objects.get().next_attempt_at - timezone.now()
        assert longest - timedelta(seconds=10) < waits <= longest

    def test_an_account_of_another_integration_is_none_of_ours(self, paystack, settings):
        settings.PAYSTACK_INTEGRATION = "1"
        paystack.plan("POST /customer: cut")
        account = create(paystack)
        assert (account["status"], number_of(account)) == ("inactive", "")

        ProviderMessage.objects.update(next_attempt_at=timezone.now(), leased_until=None)
        account_provider_calls.send_due()

        assert again(paystack, account)["status"] == "inactive"
        assert ProviderMessage.objects.get().last_error == codes.OTHER_INTEGRATION

    def test_one_that_is_deactivated_meanwhile_stays_inactive(self, paystack, subscribed):
        paystack.plan("POST /dedicated_account: lose_and_cut")
        account = create(paystack)
        assert paystack.api.post(f"{ACCOUNTS}/{account['reference']}/deactivate", {}).status_code == 200

        ProviderMessage.objects.update(next_attempt_at=timezone.now(), leased_until=None)
        account_provider_calls.send_due()

        account = again(paystack, account)
        assert (account["status"], len(number_of(account))) == ("inactive", 10)
        assert events() == []


class TestTransfersToAccounts:
    def test_one_is_a_payment_once_it_is_looked_up(self, paystack, subscribed, client):
        number = number_of(create(paystack))

        told = receive(paystack, client, number, 250_000, sender_name="Bisi Ojo")
        paystack.simulator.integration.outbox.replay()
        paystack.deliver(client)

        assert told == "accepted"
        payment = Transaction.objects.get()
        assert (payment.status, payment.amount) == ("success", 250_000)
        transfer = Transfer.objects.get()
        assert transfer.sender == {"name": "Bisi Ojo", "account_number": "XXXXXX6789"}
        assert transfer.provider_account == "paystack:463433"
        assert transfer.bank_reference.startswith("paystack:")
        assert events() == ["payment.success"]
        assert_books_hold()

    @pytest.mark.parametrize("reference", ["020293904002", "4084084084084081"])
    def test_one_whose_reference_is_a_number_is_looked_up(self, paystack, client, monkeypatch, reference):
        number = number_of(create(paystack))
        integration = paystack.simulator.integration
        made = integration.new_transaction
        monkeypatch.setattr(
            integration, "new_transaction", lambda **one: made(**one | {"reference": reference})
        )

        receive(paystack, client, number, 250_000)

        assert Transaction.objects.get().status == "success"

    def test_one_that_is_looked_up_too_early_is_looked_up_again(self, paystack, client):
        number = number_of(create(paystack))
        paystack.command(receive={"account_number": number, "amount": 50_000})
        [transfer] = paystack.simulator.integration.tables.transactions.values()
        transfer.status = "pending"
        paystack.deliver(client)
        assert not Transaction.objects.exists()

        transfer.status = "success"
        ask_many_times()

        assert Transaction.objects.get().status == "success"
        assert not ProviderMessage.objects.unanswered().exists()

    def test_one_without_its_receiver_is_of_the_account_s_customer(self, paystack, client):
        number = number_of(create(paystack))
        paystack.command(receive={"account_number": number, "amount": 50_000})
        [transfer] = paystack.simulator.integration.tables.transactions.values()
        del transfer.authorization["receiver_bank_account_number"]

        paystack.deliver(client)

        assert Transaction.objects.get().status == "success"
        assert_books_hold()

    def test_one_that_has_failed_is_not_looked_up_again(self, paystack, client):
        number = number_of(create(paystack))
        paystack.command(receive={"account_number": number, "amount": 50_000})
        [transfer] = paystack.simulator.integration.tables.transactions.values()
        transfer.status = "failed"

        paystack.deliver(client)

        assert not Transaction.objects.exists()
        assert not ProviderMessage.objects.unanswered().exists()

    def test_one_is_expected_by_an_account_that_names_the_former_integration(self, paystack, client):
        receive(paystack, client, number_of(create(paystack)), 250_000)
        ours = bank_account(kind="provider", connector_account="paystack:1", receives=["paystack"])
        accounts = {"former": "paystack:1", "present": Transfer.objects.get().provider_account}
        declare_moved(Transaction.objects.get(), connector="paystack", **accounts)

        expected = ledger_lines.expected(ours, timezone.localdate())

        assert [(each.kind, each.amount) for each in expected] == [("transfer", 250_000)]

    def test_one_that_cannot_be_looked_up_is_looked_up_soon_after_the_outage(self, paystack, client):
        account = create(paystack)
        paystack.command(receive={"account_number": number_of(account), "amount": 50_000})
        paystack.command(switch={"is_down": True})
        paystack.deliver(client)

        ask_many_times()

        waits = ProviderMessage.objects.unanswered().get().next_attempt_at - timezone.now()
        assert waits <= timedelta(minutes=2)

    def test_events_alone_and_those_about_other_customers_change_nothing(self, paystack, subscribed, client):
        create(paystack)
        paystack.command(
            forge={
                "event": "charge.success",
                "signature": "right",
                "data": {
                    "domain": "test",
                    "channel": "dedicated_nuban",
                    "reference": "another-program-s",
                    "customer": {"email": "somebody@else.example"},
                },
            }
        )
        paystack.deliver(client)

        assert not Transfer.objects.exists()
        assert not ProviderMessage.objects.unanswered().exists()


class TestSessions:
    @pytest.fixture
    def pay(self, paystack, account):
        def start(**changes):
            order = orders.transfer_payment(account["id"], **{"expiry_duration": 1800, **changes})
            answer = paystack.api.post("/api/payments", order)
            assert answer.status_code == 201, answer.content
            return answer.json()

        return start

    def find(self, paystack, payment):
        return paystack.api.get(f"/api/payments/{payment['reference']}").json()

    def test_the_exact_amount_pays_it(self, paystack, pay, subscribed, client):
        payment = pay(amount=50_000)
        details = payment["virtual_account_details"]
        assert details["account_name"] == "PAYSTACK CHECKOUT"

        receive(paystack, client, details["account_number"], 50_000)

        assert self.find(paystack, payment)["response_code"] == "10000"
        assert events() == ["payment.success"]
        assert_books_hold()

    def test_another_amount_is_sent_back_and_ends_it(self, paystack, pay, subscribed, client):
        payment = pay(amount=50_000)

        told = receive(paystack, client, payment["virtual_account_details"]["account_number"], 40_000)

        assert told == "rejected"
        found = self.find(paystack, payment)
        assert (found["status"], found["response_code"]) == ("failed", "20013")
        assert found["response_summary"] == "Amount mismatch: expected 50000 NGN but received another amount"
        assert found["virtual_account_details"]["amount_received"] == ""
        assert found["virtual_account_details"]["status"] == "mismatch"
        assert events() == ["payment.mismatch"]
        assert not UnappliedMoney.objects.exists()
        assert_books_hold()

    def test_it_ends_only_once_the_provider_says_that_nothing_arrived(
        self, paystack, pay, subscribed, client
    ):
        payment = pay(amount=50_000)
        expire_here(payment)
        paystack.plan("GET /transaction/verify: fail 500")
        account_provider_calls.send_due()
        assert self.find(paystack, payment)["status"] == "pending"

        paystack.simulator.advance(1801)
        ProviderMessage.objects.update(next_attempt_at=timezone.now())
        account_provider_calls.send_due()

        assert self.find(paystack, payment)["response_code"] == "20068"
        assert events() == ["payment.failed"]
        assert_books_hold()

    def test_money_that_arrived_counts_when_its_event_was_lost(self, paystack, pay, client):
        payment = pay(amount=50_000)
        paystack.command(webhooks=["lost"])
        receive(paystack, client, payment["virtual_account_details"]["account_number"], 50_000)
        assert self.find(paystack, payment)["status"] == "pending"

        expire_here(payment)
        account_provider_calls.send_due()

        assert self.find(paystack, payment)["status"] == "success"

    @pytest.mark.parametrize("webhook", ["normal", "lost"])
    def test_an_id_that_looks_like_a_card_number_is_asked_about(
        self, paystack, pay, client, monkeypatch, webhook
    ):
        monkeypatch.setattr(virtual_account_payments, "new_id", lambda _now: LIKE_A_CARD_NUMBER)
        payment = pay(amount=50_000)
        assert Session.objects.get().pk == LIKE_A_CARD_NUMBER
        paystack.command(webhooks=[webhook])

        receive(paystack, client, payment["virtual_account_details"]["account_number"], 50_000)
        if webhook == "lost":
            expire_here(payment)
            account_provider_calls.send_due()

        assert self.find(paystack, payment)["status"] == "success"
        assert_books_hold()

    def test_a_success_after_its_end_is_unapplied(self, paystack, pay, subscribed, client):
        payment = pay(amount=50_000)
        assert paystack.api.post(f"/api/payments/{payment['reference']}/cancel", {}).status_code == 200

        receive(paystack, client, payment["virtual_account_details"]["account_number"], 50_000)

        assert self.find(paystack, payment)["response_code"] == "20091"
        assert UnappliedMoney.objects.get().amount == 50_000
        assert_books_hold()

    def test_a_number_that_was_given_to_another_session_pays_the_right_one(self, settings, api, client, ada):
        with paystack_connected(
            settings, api, standing_at=timezone.now(), opens_accounts=True, session_numbers="reused"
        ) as paystack:
            account = create(paystack, orders.dynamic_account())
            first, second = (
                orders.transfer_payment(account["id"], expiry_duration=1800, amount=amount)
                for amount in (50_000, 60_000)
            )
            number = api.post("/api/payments", first).json()["virtual_account_details"]["account_number"]
            paystack.command(webhooks=["late 60"])
            receive(paystack, client, number, 50_000)
            assert api.post(f"/api/payments/{first['reference']}/cancel", {}).status_code == 200
            opened = api.post("/api/payments", second).json()
            assert opened["virtual_account_details"]["account_number"] == number

            paystack.simulator.advance(61)
            paystack.deliver(client)

            assert self.find(paystack, opened)["status"] == "pending"
            assert UnappliedMoney.objects.get().amount == 50_000
            [unapplied] = api.get("/api/unapplied-transfers").json()["data"]
            assert (unapplied["why"], unapplied["payment_reference"]) == ("late", first["reference"])
            assert_books_hold()

    def test_a_late_transfer_names_no_payment_of_the_business_that_has_the_number_now(
        self, settings, api, other_api, client
    ):
        with paystack_connected(
            settings, api, standing_at=timezone.now(), opens_accounts=True, session_numbers="reused"
        ) as paystack:
            account = create(paystack, orders.dynamic_account())
            first = orders.transfer_payment(account["id"], expiry_duration=1800, amount=50_000)
            number = api.post("/api/payments", first).json()["virtual_account_details"]["account_number"]
            paystack.command(webhooks=["late 60"])
            receive(paystack, client, number, 50_000)
            assert api.post(f"/api/payments/{first['reference']}/cancel", {}).status_code == 200
            theirs = other_api.post(ACCOUNTS, orders.dynamic_account()).json()
            second = orders.transfer_payment(theirs["id"], expiry_duration=1800, amount=60_000)
            opened = other_api.post("/api/payments", second).json()
            assert opened["virtual_account_details"]["account_number"] == number

            paystack.simulator.advance(61)
            paystack.deliver(client)

            [unapplied] = api.get("/api/unapplied-transfers").json()["data"]
            assert unapplied["payment_reference"] == first["reference"]

    def test_without_an_answer_nothing_is_stored(self, paystack, account):
        order = orders.transfer_payment(account["id"], expiry_duration=1800)
        paystack.plan("POST /charge: cut")

        assert paystack.api.post("/api/payments", order).status_code == 503
        assert not Transaction.objects.exists()
        assert paystack.api.post("/api/payments", order).status_code == 201

    def test_money_for_one_that_was_never_stored_is_unclaimed(self, paystack, account, client):
        paystack.plan("POST /charge: cut")
        order = orders.transfer_payment(account["id"], expiry_duration=1800, amount=50_000)
        assert paystack.api.post("/api/payments", order).status_code == 503
        [number] = paystack.simulator.integration.tables.sessions

        receive(paystack, client, number, 50_000)

        assert UnclaimedTransfer.objects.get().amount == 50_000
        assert not Transaction.objects.exists()
        assert_books_hold()

    def test_money_for_one_that_was_never_stored_stays_money_at_paystack(self, paystack, account, client):
        paystack.plan("POST /charge: cut")
        order = orders.transfer_payment(account["id"], expiry_duration=1800, amount=50_000)
        paystack.api.post("/api/payments", order)
        [number] = paystack.simulator.integration.tables.sessions
        receive(paystack, client, number, 50_000)
        unclaimed, ours = UnclaimedTransfer.objects.get(), f"paystack:{INTEGRATION}"
        there = bank_account(kind="provider", connector_account=ours, receives=["paystack"])
        hosting = bank_account(name="hosting", number="1018550902", receives=["hosting_bank"])

        expected = [ledger_lines.expected(each, timezone.localdate()) for each in (there, hosting)]

        assert [[(line.kind, line.id) for line in lines] for lines in expected] == [
            [("unclaimed", unclaimed.pk)],
            [],
        ]
        assert unclaimed_transfers.notice_to(number, unclaimed).provider_account == ours

    def test_money_for_one_that_was_never_stored_is_looked_up_until_it_has_arrived(
        self, paystack, account, client
    ):
        paystack.plan("POST /charge: cut")
        order = orders.transfer_payment(account["id"], expiry_duration=1800, amount=50_000)
        assert paystack.api.post("/api/payments", order).status_code == 503
        [number] = paystack.simulator.integration.tables.sessions
        paystack.command(receive={"account_number": number, "amount": 50_000})
        [transfer] = paystack.simulator.integration.tables.transactions.values()
        transfer.status = "pending"
        paystack.deliver(client)
        assert not UnclaimedTransfer.objects.exists()

        transfer.status = "success"
        ask_many_times()

        assert UnclaimedTransfer.objects.get().amount == 50_000
        assert not ProviderMessage.objects.unanswered().exists()

    def test_its_time_is_within_the_provider_s_bounds(self, paystack, account, api):
        order = orders.transfer_payment(account["id"], expiry_duration=600)
        refused = api.post("/api/payments", order)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "expiry_duration")

        static = create(paystack)
        assert api.post("/api/payments", order | {"payment_method_id": static["id"]}).status_code == 201

        link = api.post("/api/payment-links", orders.payment_link(transfer_window=600))
        assert link.json()["errors"][0] | {"message": ""} == {
            "field": "transfer_window",
            "code": "not_supported",
            "message": "",
        }


class TestPayerPages:
    """What payers see of a number that Paystack opened."""

    @pytest.fixture
    def payer(self, settings):
        settings.PROXIES_IN_FRONT = 1
        return Payer("192.0.2.1")

    @pytest.fixture
    def checkout(self, paystack, payer, api):
        """Return a payer's checkout at a link, which waits for a transfer."""
        link = api.post("/api/payment-links", orders.payment_link(amount=50_000, transfer_window=1800)).json()
        checkout = payer.begin(link["url"], method="virtual_account")
        assert payer.pay_by_transfer(checkout).status_code == 303
        return checkout

    def test_offer_no_simulated_transfer(self, payer, checkout):
        page = payer.get(checkout).content.decode()
        assert "Waiting for your transfer" in page
        assert "Simulate" not in page

        assert payer.post(f"{checkout}/simulate").status_code == 404

        assert Transaction.objects.get().status == "pending"
        payment = Transaction.objects.get().pk
        assert "simulate" not in payer.get(f"/pay/{payment}").content.decode()

    def test_say_that_another_amount_goes_back(self, paystack, payer, checkout, client):
        payment = Transaction.objects.get()
        receive(paystack, client, payment.session.number_id, 40_000)

        for page in (checkout, f"/pay/{payment.pk}"):
            shown = payer.get(page)
            assert shown.status_code == 200
            assert "it is returned to your account" in shown.content.decode()


def expire_here(payment):
    """Let a session's time be over by our clock."""
    passed = timezone.now() - timedelta(seconds=1)
    Session.objects.filter(payment=payment["id"]).update(expires_at=passed)
    ProviderMessage.objects.update(next_attempt_at=passed)


class TestRefusedKey:
    def test_makes_numbers_unavailable_until_it_is_accepted(self, paystack, account, api):
        breaker = connectors.make(PROVIDERS["paystack"], protocol=AccountProvider)._connector._client.breaker
        breaker.start = lambda probe: None  # has a thread of its own
        paystack.command(switch={"ip_refused": True})
        first = api.post("/api/payments", orders.transfer_payment(account["id"], expiry_duration=1800))
        calls = paystack.simulator.calls.total()

        second = api.post("/api/payments", orders.transfer_payment(account["id"], expiry_duration=1800))

        assert [each.json()["code"] for each in (first, second)] == ["rail_unavailable"] * 2
        assert paystack.simulator.calls.total() == calls
        breaker._make_probe()
        assert not breaker.allows_calls()
        paystack.command(switch={"ip_refused": False})
        breaker._make_probe()
        assert breaker.allows_calls()


class TestOtherIntegration:
    def test_is_asked_nothing_about_accounts_and_transfers(self, paystack, client, settings):
        opened = create(paystack)
        create_unanswered(paystack)
        told = {"account_number": number_of(opened), "amount": 50_000}
        paystack.command(receive=told)
        paystack.plan("GET /transaction: fail 502")
        paystack.deliver(client)
        settings.PAYSTACK_INTEGRATION = "1"
        connectors._made.cache_clear()
        before = paystack.simulator.calls.total()

        ask_many_times()

        assert paystack.simulator.calls.total() == before
        assert ProviderMessage.objects.unanswered().count() == 2
        assert not Transfer.objects.exists()


class TestCapabilities:
    def test_tell_currency_amount_and_time(self, paystack, api):
        flows = {
            row["flow"]: row
            for row in api.get("/api/capabilities").json()["data"]
            if row["currency"] == "NGN"
        }

        told = flows["virtual_account_payment"]
        assert told["expiry_duration"] == {"minimum": 900, "maximum": 28800}
        assert (told["available"], told["minimum_amount"]) == (True, 10_000)

    def test_transfers_cannot_be_simulated(self, paystack, api):
        account = create(paystack)

        refused = api.post(f"{ACCOUNTS}/simulate", {"account_number": number_of(account), "amount": 50_000})

        assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, "not_supported")


def test_the_doctor_says_where_accounts_are_opened(paystack, settings):
    assert "test-bank" in said_by_doctor()
    settings.PAYSTACK_PREFERRED_BANK = "wema-bank"
    assert "not at wema-bank" in said_by_doctor()


def said_by_doctor():
    [remark] = examination._accounts("", PaystackClient())
    return remark.said
