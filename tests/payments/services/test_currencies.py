"""A business day in currencies of 0, 2 and 3 decimals, from payment to wallet, and with changing fees."""

import csv
import io
import random
from decimal import Decimal
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from kit.money.money import decimals_of, money
from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import Tariff, Transaction
from payments.rules import fees
from payments.rules.fees import Flow
from payments.services import fee_rules
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.payments.expected_balances import expected_fee
from tests.settling import STAFF, decide, settle

pytestmark = pytest.mark.django_db

CURRENCIES = ["NGN", "USD", "JPY", "KWD"]
# Gross, fees and refund of the day. Outside NGN, cards cost 3.9 % and transfers 1 %, rounded half up.
DAY = {
    "NGN": (300_000 + 123_450, 14_500 + 1_235, 50_000),
    "USD": (1_050 + 150, 41 + 2, 250),  # 40.95 and 1.5
    "JPY": (500 + 250, 20 + 3, 100),  # 19.5 and 2.5
    "KWD": (2_500_150 + 12_345, 97_506 + 123, 1_001),  # 97,505.85 and 123.45
}
CARD = {"NGN": 300_000, "USD": 1_050, "JPY": 500, "KWD": 2_500_150}
SHOWN = {"NGN": "NGN 3,577.15", "USD": "USD 9.07", "JPY": "JPY 627", "KWD": "KWD 2,413.865"}


@pytest.fixture
def day(ada, api):
    """A card payment with a refund, and a transfer, in each currency."""
    ada.business.currencies = CURRENCIES
    ada.business.save()
    for currency in CURRENCIES:
        gross, _, refunded = DAY[currency]
        order = orders.card_payment(currency=currency, amount=CARD[currency])
        api.post("/api/payments", order)
        request = {"reference": orders.new_reference("rf"), "amount": refunded}
        api.post(f"/api/payments/{order['reference']}/refunds", request)
        account = api.post("/api/virtual-accounts", orders.dynamic_account(currency=currency)).json()
        request = orders.transfer_payment(account["id"], currency=currency, amount=gross - CARD[currency])
        number = api.post("/api/payments", request).json()["virtual_account_details"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": request["amount"]})


@pytest.fixture
def released(day):
    return {batch.currency: decide(batch, "approve", "release") for batch in settle()}


@pytest.fixture
def browser(ada):
    return signed_in(MemberFactory(business=ada.business).user, client=Client())


def net(currency):
    gross, charged, refunded = DAY[currency]
    return gross - charged - refunded


def rows_of(client, address):
    answer = client.get(address)
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))


class TestDay:
    def test_is_settled_in_one_batch_per_currency(self, released):
        found = {currency: (batch.gross, batch.fees, batch.refunds) for currency, batch in released.items()}

        assert found == DAY
        assert {currency: batch.net for currency, batch in released.items()} == {
            currency: net(currency) for currency in CURRENCIES
        }

    def test_credits_one_wallet_per_currency(self, api, released):
        shown = {one["currency"]: one for one in api.get("/api/balance").json()["data"]}

        assert {currency: shown[currency]["available"] for currency in CURRENCIES} == {
            currency: net(currency) for currency in CURRENCIES
        }
        assert {shown[currency]["pending"] for currency in CURRENCIES} == {0}

    def test_is_listed_by_currency_over_the_api(self, api, released):
        for currency in CURRENCIES:
            (batch,) = api.get(f"/api/settlements?currency={currency}").json()["data"]
            moved = api.get(f"/api/balance/movements?currency={currency}").json()

            assert (batch["gross"], batch["fees"], batch["refunds"]) == DAY[currency]
            assert (batch["net"], batch["count"]) == (net(currency), 2)
            assert (moved["opening_balance"], moved["closing_balance"]) == (0, net(currency))
            assert [(one["amount"], one["balance_after"]) for one in moved["data"]] == [
                (net(currency), net(currency))
            ]

    def test_is_shown_with_the_decimals_of_its_currency(self, subtests, browser, released):
        for currency in CURRENCIES:
            with subtests.test(currency=currency):
                page = unescape(
                    browser.get(f"/dashboard/settlements/{released[currency].pk}/").content.decode()
                )

                assert money(net(currency), currency) == SHOWN[currency]
                shown = SHOWN[currency].removeprefix(f"{currency} ")
                assert shown in page
                assert shown in unescape(
                    browser.get(f"/dashboard/balance/?currency={currency}").content.decode()
                )

    def test_is_exported_with_the_decimals_of_its_currency(self, subtests, browser, released):
        for currency in CURRENCIES:
            with subtests.test(currency=currency):
                statement = rows_of(browser, f"/dashboard/settlements/{released[currency].pk}/statement.csv")
                (moved,) = rows_of(browser, f"/dashboard/balance/export.csv?currency={currency}")

                assert {row["currency"] for row in statement} == {currency}
                total = {
                    name: sum(Decimal(row[name]) for row in statement) for name in ("gross", "fee", "net")
                }
                unit = Decimal(10) ** decimals_of(currency)
                assert total["gross"] * unit == DAY[currency][0]
                assert total["fee"] * unit == DAY[currency][1]
                assert total["net"] * unit == net(currency)
                assert (moved["currency"], Decimal(moved["amount"]) * unit) == (currency, net(currency))

    def test_leaves_a_valid_ledger(self, released):
        assert {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds} == {}


class TestPricesOverTime:
    @pytest.mark.parametrize("seed", range(3))
    def test_payment_is_charged_by_the_latest_rule_of_its_business_and_currency(self, ada, api, seed):
        """Rules are added and withdrawn at random. Each payment is charged by those in force and keeps its fee."""
        ada.business.currencies = CURRENCIES
        ada.business.save()
        chance = random.Random(seed)
        agreed: dict[tuple[bool, str], Tariff] = {}
        charged: dict[str, int] = {}

        for _ in range(15):
            is_own, currency = chance.random() < 0.6, chance.choice(CURRENCIES)
            tariff = Tariff(
                business=ada.business if is_own else None,
                flow=Flow.CARD,
                currency=currency,
                is_withdrawn=chance.random() < 0.3,
                basis_points=chance.choice([0, 35, 150, 1_000]),
                fixed=chance.choice([0, 7]),
                fixed_waived_below=chance.choice([0, 1_000]),
                cap=chance.choice([None, 25]),
            )
            fee_rules.agree(tariff, actor=STAFF, now=timezone.now())
            agreed[is_own, currency] = tariff
            paid_in, amount = chance.choice(CURRENCIES), chance.choice([1, 999, 1_000, 12_345])
            order = orders.card_payment(currency=paid_in, amount=amount)

            answer = api.post("/api/payments", order).json()

            charged[order["reference"]] = self.price(agreed, paid_in, amount)
            assert answer["fee"] == charged[order["reference"]]

        assert dict(Transaction.objects.values_list("reference", "fee")) == charged
        assert [one.broken for one in check(INVARIANTS) if not one.holds] == []

    def price(self, agreed, currency, amount):
        for is_own in (True, False):
            tariff = agreed.get((is_own, currency))
            if tariff is not None and not tariff.is_withdrawn:
                return fees.withheld_charge(tariff.rule, amount).fee
        return expected_fee("card", currency, amount)
