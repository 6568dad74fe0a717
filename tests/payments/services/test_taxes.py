"""The tax on fees: withheld from payments, added to payouts, and owed to the tax office."""

from decimal import ROUND_HALF_UP, Decimal

import pytest
from django.core.exceptions import ValidationError
from django.test import override_settings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from ledger.models import Account, Entry
from payments.models import SettlementItem, Tariff, Transaction
from payments.rules.fees import Charge, FeeRule, InvalidFeeRule, charge, withheld_charge
from payments.services import fee_rules
from tests import orders
from tests.payments.services.test_ledger_entries import booked, held, requery_everything
from tests.settling import STAFF, decide, settle
from tests.wallets import fill_wallet

RATES = st.integers(0, 10_000)
AMOUNTS = st.integers(1, 10**16)
SHARE = Decimal("0.075")


@pytest.fixture
def taxed(ada):
    """Agree fees with a tax of 7.5 %: card 1.5 %, virtual account 1 %, payout 10.00."""
    for flow, terms in {
        "card": {"basis_points": 150},
        "virtual_account": {"basis_points": 100},
        "payout": {"fixed": 1_000},
    }.items():
        tariff = Tariff(business=ada.business, flow=flow, currency="NGN", tax_basis_points=750, **terms)
        fee_rules.agree(tariff, actor=STAFF, now=timezone.now())
    return ada.business


class TestRule:
    @given(RATES, AMOUNTS)
    def test_takes_a_share_of_the_fee_rounded_half_up(self, rate, fee):
        exact = Decimal(fee) * rate / 10_000

        assert charge(FeeRule(fixed=fee, tax_basis_points=rate), 1) == Charge(
            fee, int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))
        )

    @given(RATES, AMOUNTS, AMOUNTS)
    def test_withholds_at_most_the_amount_and_the_largest_fee_that_leaves_its_tax(self, rate, fixed, amount):
        rule = FeeRule(fixed=fixed, tax_basis_points=rate)
        taken = withheld_charge(rule, amount)

        assert taken == charge(FeeRule(fixed=taken.fee, tax_basis_points=rate), amount)
        assert taken.total <= amount
        larger = charge(FeeRule(fixed=taken.fee + 1, tax_basis_points=rate), amount)
        assert taken.fee == fixed or larger.total > amount

    def test_of_more_than_the_whole_is_rejected(self):
        with pytest.raises(InvalidFeeRule):
            FeeRule(tax_basis_points=10_001).check()


@pytest.mark.django_db
@pytest.mark.usefixtures("taxed")
class TestPayment:
    def test_withholds_the_tax_beside_the_fee(self, api):
        paid = api.post("/api/payments", orders.card_payment(amount=50_000)).json()

        assert (paid["fee"], paid["fee_tax"]) == (750, 56)  # 56.25
        assert held() == {
            "acquirer_receivable": -50_000,
            "pending_settlement": 49_194,
            "fees": 750,
            "taxes_payable": 56,
        }

    def test_by_transfer_withholds_it_too(self, api):
        account = api.post("/api/virtual-accounts", orders.static_account()).json()
        number = account["customer"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 50_000})

        assert held() == {
            "bank_clearing": -50_000,
            "pending_settlement": 49_462,
            "fees": 500,
            "taxes_payable": 38,
        }

    def test_is_taxed_on_what_was_captured(self, api):
        order = orders.card_payment(amount=50_000, capture=False)
        assert "fee_tax" not in api.post("/api/payments", order).json()

        captured = api.post(f"/api/payments/{order['reference']}/capture", {"amount": 20_000}).json()

        assert (captured["fee"], captured["fee_tax"]) == (300, 23)  # 22.5

    def test_that_is_declined_has_no_tax(self, api):
        assert "fee_tax" not in api.post("/api/payments", orders.card_payment(amount=10_051)).json()
        assert booked() == []

    def test_that_is_refunded_returns_neither_fee_nor_tax(self, api):
        order = orders.card_payment(amount=50_000)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/refunds", {"reference": "r1"})

        assert held()["pending_settlement"] == -806
        assert held()["taxes_payable"] == 56

    def test_keeps_the_rule_that_it_was_created_with(self, api, ada):
        order = orders.card_payment(amount=50_000, capture=False)
        api.post("/api/payments", order)
        untaxed = Tariff(business=ada.business, flow="card", currency="NGN", basis_points=150)
        fee_rules.agree(untaxed, actor=STAFF, now=timezone.now())

        assert api.post(f"/api/payments/{order['reference']}/capture").json()["fee_tax"] == 56


@pytest.mark.django_db
def test_without_a_rate_nothing_is_taxed(api):
    paid = api.post("/api/payments", orders.card_payment(amount=50_000)).json()

    assert "fee_tax" not in paid
    assert "tax_basis_points" not in Transaction.objects.get().fee_rule
    assert not Account.objects.filter(kind="taxes_payable").exclude(sequence=0).exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("taxed")
class TestPayout:
    def test_debits_the_tax_as_a_line_of_its_own(self, api):
        order = orders.payout(amount=250_000)
        paid = api.post("/api/payments", order).json()

        assert (paid["fee"], paid["fee_tax"]) == (1_000, 75)
        assert booked() == ["payout_accepted", "tax", "payout_sent"]
        assert held() == {"wallet": -251_075, "bank_clearing": 250_000, "fees": 1_000, "taxes_payable": 75}
        lines = api.get("/api/balance/movements").json()["data"]
        shown = [(line["kind"], line["amount"], line["reference"]) for line in lines]
        assert shown == [
            ("tax", -75, order["reference"]),
            ("payout_accepted", -251_000, order["reference"]),
        ]

    def test_that_fails_gives_amount_fee_and_tax_back(self, api):
        failed = api.post("/api/payments", orders.payout(amount=250_051)).json()

        assert "fee_tax" not in failed
        assert booked() == ["payout_accepted", "tax", "payout_failed"]
        assert held() == {}

    def test_is_in_flight_with_its_tax(self, api):
        order = orders.payout(amount=250_000)
        order["customer"] |= {"account_number": "0000000097"}
        api.post("/api/payments", order)
        assert held() == {"wallet": -251_075, "payouts_in_flight": 251_075}

        requery_everything(Transaction.objects.get().created_at)

        assert held() == {"wallet": -251_075, "bank_clearing": 250_000, "fees": 1_000, "taxes_payable": 75}

    @override_settings(PAYOUT_REQUIRES_BALANCE=True)
    @pytest.mark.parametrize(("balance", "is_paid"), [(251_075, True), (251_074, False)])
    def test_must_be_covered_with_its_tax(self, api, ada, balance, is_paid):
        fill_wallet(ada.business, balance)
        api.post("/api/payments", orders.card_payment(amount=50_000))  # pending money covers nothing

        paid = api.post("/api/payments", orders.payout(amount=250_000)).json()

        assert paid["status"] == ("success" if is_paid else "failed")
        assert held().get("wallet", 0) == (0 if is_paid else balance)
        assert Entry.objects.filter(kind="tax").exists() == is_paid


@pytest.mark.django_db
@pytest.mark.usefixtures("taxed")
class TestSettlement:
    def test_is_net_of_taxes_which_have_lines_of_their_own(self, api):
        api.post("/api/payments", orders.card_payment(amount=50_000))
        (batch,) = settle()
        decide(batch, "approve", "release")

        shown = api.get(f"/api/settlements/{batch.pk}").json()
        (item,) = shown["items"]["data"]

        assert (shown["gross"], shown["fees"], shown["taxes"], shown["net"]) == (50_000, 750, 56, 49_194)
        assert (item["amount"], item["fee"], item["fee_tax"], item["net"]) == (50_000, 750, 56, 49_194)
        assert held()["wallet"] == 49_194
        assert SettlementItem.objects.get().fee_tax == 56


@pytest.fixture
def dutiable(ada):
    """Agree stamp duty of 50.00 on payouts from 10,000.00 on, and a fee without tax."""
    terms = {"fixed": 1_000, "stamp_duty": 5_000, "stamp_duty_from": 1_000_000}
    tariff = Tariff(business=ada.business, flow="payout", currency="NGN", **terms)
    fee_rules.agree(tariff, actor=STAFF, now=timezone.now())


@pytest.mark.django_db
@pytest.mark.usefixtures("dutiable")
class TestStampDuty:
    @pytest.mark.parametrize(
        ("amount", "purpose", "duty"),
        [
            (999_900, "supplier", None),
            (1_000_000, "supplier", 5_000),
            (1_000_000, "", 5_000),
            (1_000_000, "salary", None),
        ],
    )
    def test_is_due_from_an_amount_on_except_for_salaries(self, api, amount, purpose, duty):
        order = orders.payout(amount=amount) | ({"purpose": purpose} if purpose else {})

        paid = api.post("/api/payments", order).json()

        assert (paid["fee"], paid.get("stamp_duty"), paid.get("fee_tax")) == (1_000, duty, None)
        assert held()["wallet"] == -(amount + 1_000 + (duty or 0))
        assert held().get("taxes_payable") == duty

    def test_of_a_failed_payout_is_given_back(self, api):
        failed = api.post("/api/payments", orders.payout(amount=1_000_051)).json()

        assert "stamp_duty" not in failed
        assert booked() == ["payout_accepted", "tax", "payout_failed"]
        assert held() == {}

    def test_of_a_batch_is_in_its_taxes(self, api):
        items = [
            orders.batch_item(0, amount=1_000_000),
            orders.batch_item(1, amount=1_000_000, purpose="salary"),
        ]

        made = api.post("/api/payout-batches", orders.payout_batch(*items)).json()

        assert (made["fees"], made["taxes"]) == (2_000, 5_000)

    def test_is_of_payouts_only(self, ada):
        tariff = Tariff(business=ada.business, flow="card", currency="NGN", stamp_duty=5_000)

        with pytest.raises(ValidationError, match="Only payouts have stamp duty"):
            fee_rules.agree(tariff, actor=STAFF, now=timezone.now())
