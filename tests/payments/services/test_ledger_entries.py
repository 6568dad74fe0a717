"""The ledger entries of each money event, and the balances that the merchant sees."""

import pytest

from ledger.models import Account, Entry
from payments.models import Transaction
from payments.services.rails import requery
from tests import orders
from tests.settling import decide, settle
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


def held():
    """Return the accounts with a balance."""
    return {account.kind: account.balance for account in Account.objects.exclude(balance=0)}


def booked():
    return list(Entry.objects.order_by("id").values_list("kind", flat=True))


def balance(api, currency="NGN"):
    shown = api.get("/api/balance").json()["data"]
    return next((row["available"], row["pending"]) for row in shown if row["currency"] == currency)


def requery_everything(now):
    for _ in requery.query_leased(requery.unanswered(), clock=lambda: now):
        pass


class TestCardPayment:
    def test_is_credited_to_pending_settlement_less_its_fee(self, api):
        api.post("/api/payments", orders.card_payment(amount=50_000))

        assert held() == {"acquirer_receivable": -50_000, "pending_settlement": 49_250, "fees": 750}
        assert balance(api) == (0, 49_250)
        entry = Entry.objects.get()
        assert (entry.kind, entry.cause) == ("card", Transaction.objects.get().pk)

    def test_books_nothing_when_it_is_declined(self, api):
        api.post("/api/payments", orders.card_payment(amount=10_051))

        assert booked() == []

    def test_books_the_captured_amount(self, api):
        order = orders.card_payment(amount=50_000, capture=False)
        api.post("/api/payments", order)
        assert booked() == []

        api.post(f"/api/payments/{order['reference']}/capture", {"amount": 20_000})

        assert held() == {"acquirer_receivable": -20_000, "pending_settlement": 19_700, "fees": 300}

    def test_books_nothing_when_it_is_voided(self, api):
        order = orders.card_payment(capture=False)
        api.post("/api/payments", order)

        api.post(f"/api/payments/{order['reference']}/void")

        assert booked() == []

    def test_is_booked_once_however_often_it_is_queried(self, api):
        order = orders.card_payment()
        for _ in range(3):
            api.post("/api/payments", order)

        assert booked() == ["card"]

    def test_books_nothing_for_a_card_check(self, api):
        api.post("/api/payments", orders.card_check())

        assert booked() == []


class TestRefund:
    def test_is_debited_to_pending_settlement(self, api):
        order = orders.card_payment(amount=50_000)
        api.post("/api/payments", order)

        api.post(f"/api/payments/{order['reference']}/refunds", {"reference": "r1", "amount": 30_000})
        api.post(f"/api/payments/{order['reference']}/refunds", {"reference": "r2"})

        assert held()["refunds_payable"] == 50_000
        assert balance(api) == (0, -750)

    def test_books_nothing_when_it_fails(self, api):
        order = orders.card_payment(amount=50_000)
        api.post("/api/payments", order)

        api.post(f"/api/payments/{order['reference']}/refunds", {"reference": "r1", "amount": 10_005})

        assert booked() == ["card"]


class TestPayout:
    def test_debits_the_wallet_with_its_fee(self, api):
        api.post("/api/payments", orders.payout(amount=250_000))

        assert booked() == ["payout_accepted", "payout_sent"]
        assert held() == {"wallet": -251_000, "bank_clearing": 250_000, "fees": 1_000}

    def test_is_in_flight_until_the_bank_answers(self, api, ada):
        order = orders.payout(amount=250_000)
        order["customer"] |= {"account_number": "0000000097"}
        api.post("/api/payments", order)

        assert held() == {"wallet": -251_000, "payouts_in_flight": 251_000}

        requery_everything(Transaction.objects.get().created_at)

        assert held() == {"wallet": -251_000, "bank_clearing": 250_000, "fees": 1_000}

    def test_is_credited_to_the_wallet_when_it_fails(self, api):
        api.post("/api/payments", orders.payout(amount=250_051))

        assert booked() == ["payout_accepted", "payout_failed"]
        assert held() == {}
        assert balance(api) == (0, 0)

    def test_is_debited_once_however_often_it_is_queried(self, api):
        order = orders.payout(amount=250_000)
        for _ in range(3):
            api.post("/api/payments", order)

        assert booked() == ["payout_accepted", "payout_sent"]


@pytest.fixture
def covered_only(settings):
    settings.PAYOUT_REQUIRES_BALANCE = True


@pytest.fixture
def no_bank(settings):
    settings.PAYOUT_BANK = "tests.rails.UncallableBank"


@pytest.mark.usefixtures("covered_only", "no_bank")
class TestPayoutThatTheWalletDoesNotCover:
    def test_fails_with_20051_without_a_call_to_the_bank(self, api):
        answer = api.post("/api/payments", orders.payout())

        shown = answer.json()
        assert answer.status_code == 201
        assert (shown["status"], shown["response_code"]) == ("failed", "20051")
        assert shown["response_summary"] == "Payment failed"
        assert shown["fee"] == 0
        assert "gateway_code" not in shown
        assert "gateway_recommendation" not in shown
        assert booked() == []
        assert Transaction.objects.get().transitions.get().cause == "funding"

    def test_notifies_the_merchant(self, api, ada):
        make_endpoint(business=ada.business)

        api.post("/api/payments", orders.payout())

        delivery = Delivery.objects.get()
        assert (delivery.event, delivery.subject) == ("payout.failed", Transaction.objects.get().pk)

    def test_stays_failed_when_it_is_requested_again(self, api):
        order = orders.payout()
        first = api.post("/api/payments", order)

        again = api.post("/api/payments", order)

        assert (again.status_code, again.json()) == (200, first.json())


@pytest.mark.usefixtures("covered_only")
class TestPayoutThatTheWalletCovers:
    def test_may_use_the_whole_balance(self, api, ada):
        fill_wallet(ada.business, 251_000)

        assert api.post("/api/payments", orders.payout(amount=250_000)).json()["status"] == "success"
        assert api.post("/api/payments", orders.payout(amount=1)).json()["response_code"] == "20051"
        assert balance(api) == (0, 0)

    def test_is_not_covered_without_its_fee(self, api, ada):
        fill_wallet(ada.business, 250_999)

        assert api.post("/api/payments", orders.payout(amount=250_000)).json()["response_code"] == "20051"
        assert balance(api) == (250_999, 0)

    def test_is_not_covered_by_another_currency(self, api, ada):
        fill_wallet(ada.business, 251_000, currency="USD")

        shown = api.post("/api/payments", orders.payout(amount=250_000)).json()

        assert shown["response_code"] == "20051"

    def test_leaves_the_amount_owed_for_refunds(self, api, ada):
        """Refunds are netted from the next settlement. Until then, the wallet must hold their amount."""
        payment = orders.card_payment(amount=1_000_000)
        api.post("/api/payments", payment)
        decide(*settle(), "approve", "release")
        fill_wallet(ada.business, 200_000)
        api.post(f"/api/payments/{payment['reference']}/refunds", {"reference": "rf-1"})
        wallet, pending = balance(api)
        assert (wallet, pending) == (1_175_000, -1_000_000)

        beyond = api.post("/api/payments", orders.payout(amount=wallet + pending - 999)).json()
        within = api.post("/api/payments", orders.payout(amount=wallet + pending - 1_000)).json()

        assert (beyond["status"], beyond["response_code"]) == ("failed", "20051")
        assert beyond["response_summary"] == "Payment failed"
        assert within["status"] == "success"
        assert balance(api) == (1_000_000, -1_000_000)

    def test_cannot_use_pending_settlement(self, api):
        api.post("/api/payments", orders.card_payment(amount=1_000_000))

        assert api.post("/api/payments", orders.payout(amount=1_000)).json()["response_code"] == "20051"

    def test_is_recorded_in_its_entry(self, api, ada, settings):
        fill_wallet(ada.business, 251_000)
        api.post("/api/payments", orders.payout(amount=250_000))
        settings.PAYOUT_REQUIRES_BALANCE = False
        api.post("/api/payments", orders.payout(amount=250_000))

        accepted = Entry.objects.filter(kind="payout_accepted").order_by("id")
        assert list(accepted.values_list("is_covered", flat=True)) == [True, False]

    def test_can_use_money_of_a_failed_payout(self, api, ada):
        fill_wallet(ada.business, 251_051)
        api.post("/api/payments", orders.payout(amount=250_051))

        assert api.post("/api/payments", orders.payout(amount=250_000)).json()["status"] == "success"


class TestBalance:
    def test_lists_every_currency_of_the_business_in_minor_units(self, api):
        assert api.get("/api/balance").json() == {
            "data": [
                {"currency": "NGN", "available": 0, "pending": 0},
                {"currency": "USD", "available": 0, "pending": 0},
            ]
        }

    def test_contains_only_the_businesss_own(self, api, other_api):
        api.post("/api/payments", orders.card_payment())

        assert balance(other_api) == (0, 0)

    def test_is_signed(self, client, db):
        assert client.get("/api/balance").status_code == 401
