import time
from decimal import ROUND_HALF_UP, Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from merchants.models import AuditEntry
from merchants.people.audit import Actor
from payments.models import Tariff, Transaction
from payments.rules import fees
from payments.rules.fees import FeeRule, Flow, InvalidFeeRule
from payments.services import fee_rules
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from virtual_accounts.models import Session

AMOUNTS = st.integers(min_value=1, max_value=10**12)
MONEY = st.integers(min_value=0, max_value=10**9)
ADA = Actor(name="ada@example.com")


def enable(business, *currencies):
    business.currencies = [*business.currencies, *currencies]
    business.save(update_fields=["currencies"])


@st.composite
def rules(draw):
    """Any rule that passes `check`."""
    prices = sorted(draw(st.lists(MONEY, max_size=4)))
    limits = sorted(draw(st.sets(st.integers(1, 10**12), min_size=len(prices), max_size=len(prices))))
    rule = FeeRule(
        basis_points=draw(st.integers(0, 10_000)),
        fixed=draw(st.integers(prices[-1] if prices else 0, 10**10)),
        fixed_waived_below=draw(AMOUNTS),
        cap=draw(st.none() | MONEY),
        steps=tuple(zip(limits, prices, strict=True)),
        tax_basis_points=draw(st.integers(0, 10_000)),
    )
    rule.check()
    return rule


class TestCardFee:
    def test_is_a_percentage_plus_a_fixed_part_up_to_a_cap(self, subtests):
        for amount, fee in [
            (1, 0),
            (33, 0),
            (34, 1),  # 0.51, rounded up
            (100, 2),  # 1.5, half is rounded up
            (249_999, 3_750),
            (250_000, 13_750),
            (12_666_666, 200_000),
            (12_666_633, 199_999),
            (10**12, 200_000),
        ]:
            with subtests.test(amount=amount, fee=fee):
                assert fees.fee(fees.CARD, amount) == fee

    @given(AMOUNTS)
    def test_is_a_whole_number_that_never_exceeds_its_cap(self, amount):
        fee = fees.fee(fees.CARD, amount)

        assert isinstance(fee, int)
        assert 0 <= fee <= 200_000


class TestVirtualAccountFee:
    @pytest.mark.parametrize(
        ("amount", "fee"),
        [(49, 0), (50, 1), (100, 1), (2_999_949, 29_999), (3_000_000, 30_000), (10**12, 30_000)],
    )
    def test_is_a_percentage_up_to_a_cap(self, amount, fee):
        assert fees.fee(fees.VIRTUAL_ACCOUNT, amount) == fee


class TestPayoutFee:
    @given(AMOUNTS)
    def test_is_one_of_three_steps(self, amount):
        expected = 1_000 if amount <= 500_000 else 2_500 if amount <= 5_000_000 else 5_000
        assert fees.fee(fees.PAYOUT, amount) == expected


class TestFee:
    @given(rules(), AMOUNTS, AMOUNTS)
    def test_never_decreases_as_the_amount_grows(self, rule, amount, more):
        assert fees.fee(rule, amount) <= fees.fee(rule, amount + more)

    @given(rules(), AMOUNTS)
    def test_is_never_above_its_cap_or_negative(self, rule, amount):
        assert 0 <= fees.fee(rule, amount) <= (10**13 if rule.cap is None else rule.cap)

    @given(rules(), AMOUNTS)
    def test_out_of_an_amount_never_exceeds_the_amount(self, rule, amount):
        assert 0 <= fees.withheld_charge(rule, amount).total <= amount

    @given(st.integers(0, 10_000), AMOUNTS)
    def test_percentage_is_off_by_at_most_half_a_unit_and_rounds_half_up(self, basis_points, amount):
        off = fees.fee(FeeRule(basis_points=basis_points), amount) * 10_000 - amount * basis_points

        assert -5_000 < off <= 5_000

    @given(rules(), AMOUNTS)
    def test_can_be_computed_from_the_rules_snapshot(self, rule, amount):
        copied = FeeRule.from_snapshot(rule.snapshot)

        assert copied == rule
        assert fees.fee(copied, amount) == fees.fee(rule, amount)

    def test_by_a_decreasing_or_negative_rule_is_rejected(self, subtests):
        for rule in [
            FeeRule(basis_points=10_001),
            FeeRule(basis_points=-1),
            FeeRule(fixed=-1),
            FeeRule(cap=-1),
            FeeRule(fixed_waived_below=-1),
            FeeRule(steps=((100, 5), (100, 6)), fixed=7),
            FeeRule(steps=((0, 5),), fixed=7),
            FeeRule(steps=((100, 5), (200, 4)), fixed=7),
            FeeRule(steps=((100, 5),), fixed=4),
            FeeRule(steps=((100, -5),)),
        ]:
            with subtests.test(rule=rule), pytest.raises(InvalidFeeRule):
                rule.check()

    def test_has_a_default_for_every_flow(self):
        assert set(fees.DEFAULTS) == set(fees.PERCENTAGES) == set(Flow)
        for rule in (*fees.DEFAULTS.values(), *fees.PERCENTAGES.values()):
            rule.check()


CURRENCIES = st.sampled_from(["JPY", "NGN", "USD", "KWD"])  # 0, 2, 2 and 3 decimals


class TestFeeInACurrency:
    def test_is_a_percentage_outside_the_home_currency(self, subtests):
        for flow, currency, amount, fee in [
            (Flow.CARD, "NGN", 250_000, 13_750),
            (Flow.CARD, "USD", 250_000, 9_750),  # USD 2,500.00 costs USD 97.50
            (Flow.CARD, "JPY", 1_500, 59),  # 58.5, half is rounded up to a whole yen
            (Flow.CARD, "KWD", 1_500, 59),  # KWD 1.500 costs KWD 0.059
            (Flow.CARD, "JPY", 12, 0),  # 0.468
            (Flow.CARD, "JPY", 13, 1),  # 0.507
            (Flow.VIRTUAL_ACCOUNT, "USD", 10**12, 10**10),  # no cap, because NGN's doesn't apply
            (Flow.VIRTUAL_ACCOUNT, "JPY", 49, 0),
            (Flow.PAYOUT, "USD", 500_000, 5_000),
            (Flow.PAYOUT, "KWD", 50, 1),
            (Flow.CARD_CHECK, "USD", 0, 0),
        ]:
            with subtests.test(flow=flow, currency=currency):
                assert fees.fee(fees.default_rule(flow, currency), amount) == fee

    @given(st.sampled_from(list(Flow)), CURRENCIES, AMOUNTS)
    def test_of_incoming_money_is_never_negative_or_above_the_amount(self, flow, currency, amount):
        assert 0 <= fees.withheld_charge(fees.default_rule(flow, currency), amount).total <= amount

    @given(st.sampled_from([Flow.CARD, Flow.VIRTUAL_ACCOUNT]), CURRENCIES, AMOUNTS, AMOUNTS)
    def test_never_decreases_as_the_amount_grows(self, flow, currency, amount, more):
        rule = fees.default_rule(flow, currency)

        assert fees.withheld_charge(rule, amount).fee <= fees.withheld_charge(rule, amount + more).fee

    @given(st.sampled_from([Flow.CARD, Flow.VIRTUAL_ACCOUNT, Flow.PAYOUT]), AMOUNTS)
    def test_is_the_exact_percentage_rounded_half_up(self, flow, amount):
        rule = fees.default_rule(flow, "KWD")
        exact = Decimal(amount) * rule.basis_points / 10_000

        assert fees.fee(rule, amount) == exact.quantize(Decimal(1), rounding=ROUND_HALF_UP)

    @given(st.sampled_from(list(Flow)), st.sampled_from(["JPY", "USD", "KWD"]))
    def test_has_no_fixed_part_of_another_currency(self, flow, currency):
        rule = fees.default_rule(flow, currency)

        assert rule == FeeRule(basis_points=rule.basis_points)

    @given(CURRENCIES, st.integers(1, 10**9), st.integers(1, 10**9), st.integers(0, 10**9))
    def test_waives_the_fixed_part_below_the_limit(self, currency, below, fixed, cap):
        share = fees.default_rule(Flow.CARD, currency).basis_points
        rule = FeeRule(basis_points=share, fixed=fixed, fixed_waived_below=below, cap=cap)
        only_share = FeeRule(basis_points=share)

        assert fees.fee(rule, below - 1) == min(fees.fee(only_share, below - 1), cap)
        assert fees.fee(rule, below) == min(fees.fee(only_share, below) + fixed, cap)

    def test_is_unknown_without_a_minor_unit(self):
        assert fees.default_rule(Flow.CARD, "XAU") is None


@pytest.mark.django_db
class TestFeeOfAPayment:
    def test_is_in_the_response_of_a_success(self, api):
        assert api.post("/api/payments", orders.card_payment(amount=300_000)).json()["fee"] == 14_500

    @pytest.mark.parametrize(
        ("currency", "amount", "fee"),
        [("USD", 250_000, 9_750), ("JPY", 1_500, 59), ("KWD", 2_500_000, 97_500)],
    )
    def test_is_a_percentage_in_another_currency(self, ada, api, currency, amount, fee):
        enable(ada.business, currency)

        answer = api.post("/api/payments", orders.card_payment(amount=amount, currency=currency)).json()

        assert (answer["status"], answer["fee"]) == ("success", fee)

    def test_of_a_transfer_in_another_currency_has_no_cap(self, ada, api):
        enable(ada.business, "JPY")
        account = api.post("/api/virtual-accounts", orders.dynamic_account(currency="JPY")).json()
        order = orders.transfer_payment(account["id"], currency="JPY", amount=4_000_000)
        payment = api.post("/api/payments", order).json()
        number = payment["virtual_account_details"]["account_number"]

        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 4_000_000})

        assert api.get(f"/api/payments/{order['reference']}").json()["fee"] == 40_000

    @pytest.mark.parametrize("changes", [{"amount": 300_051}, {"amount": 300_098}, {"capture": False}])
    def test_is_zero_before_and_without_success(self, api, changes):
        assert api.post("/api/payments", orders.card_payment(**changes)).json()["fee"] == 0

    @pytest.mark.parametrize(
        ("order", "flow"),
        [(orders.card_payment, "card"), (orders.payout, "payout"), (orders.card_check, "card_check")],
    )
    def test_has_the_rule_of_its_creation(self, api, order, flow):
        api.post("/api/payments", order())

        assert Transaction.objects.get().fee_rule == fees.DEFAULTS[Flow(flow)].snapshot

    def test_is_charged_on_the_captured_amount(self, api):
        order = orders.card_payment(amount=300_000, capture=False)
        api.post("/api/payments", order)

        captured = api.post(f"/api/payments/{order['reference']}/capture", {"amount": 100_000}).json()

        assert captured["fee"] == 1_500

    def test_needs_no_query_while_rules_are_cached(self, api):
        def statements():
            with CaptureQueriesContext(connection) as captured:
                api.post("/api/payments", orders.card_payment())
            return [one["sql"] for one in captured if "tariff" in one["sql"]]

        assert [len(statements()), len(statements())] == [1, 0]


@pytest.mark.django_db
class TestTariff:
    def agree(self, business, flow=Flow.CARD, **numbers):
        fee_rules.agree(Tariff(business=business, flow=flow, **numbers), actor=ADA, now=timezone.now())

    def paid(self, api):
        return api.post("/api/payments", orders.card_payment(amount=100_000)).json()["fee"]

    def test_of_a_business_overrides_the_default_for_it_only(self, ada, api, other_api):
        self.agree(ada.business, basis_points=100)

        assert (self.paid(api), self.paid(other_api)) == (1_000, 1_500)

    def test_of_all_businesses_overrides_the_default_but_no_agreement(self, ada, api, other_api):
        self.agree(ada.business, basis_points=100)
        self.agree(None, basis_points=200)

        assert (self.paid(api), self.paid(other_api)) == (1_000, 2_000)

    def test_applies_until_the_next_one(self, ada, api):
        self.agree(ada.business, basis_points=100)
        self.agree(ada.business, basis_points=50)

        assert self.paid(api) == 500

    def test_that_is_withdrawn_falls_back_to_the_default(self, ada, api):
        self.agree(ada.business, basis_points=100)
        self.agree(ada.business, is_withdrawn=True)

        assert self.paid(api) == 1_500

    def test_is_stored_when_the_transaction_is_created(self, ada, api):
        order = orders.card_payment(amount=100_000, capture=False)
        api.post("/api/payments", order)
        self.agree(ada.business, basis_points=100)

        captured = api.post(f"/api/payments/{order['reference']}/capture").json()

        assert captured["fee"] == 1_500

    def test_that_exceeds_the_amount_charges_the_amount(self, ada, api):
        self.agree(ada.business, fixed=250_000)

        assert self.paid(api) == 100_000

    def test_of_a_payout_may_exceed_the_payout(self, ada, api):
        self.agree(ada.business, flow=Flow.PAYOUT, fixed=250_000)

        assert api.post("/api/payments", orders.payout(amount=100)).json()["fee"] == 250_000

    def test_of_another_process_is_seen_after_some_seconds(self, ada, api):
        assert self.paid(api) == 1_500
        now = timezone.now()
        Tariff.objects.create(
            business=ada.business, flow="card", basis_points=100, valid_from=now, agreed_by="x"
        )
        before = self.paid(api)

        fee_rules.cached_rules.cache.expire(time.monotonic() + fee_rules.CACHED_FOR)

        assert (before, self.paid(api)) == (1_500, 1_000)

    def test_is_audited(self, ada):
        self.agree(ada.business, basis_points=100)
        self.agree(ada.business, is_withdrawn=True)

        agreed, withdrawn = AuditEntry.objects.order_by("id")
        assert (agreed.action, agreed.actor, agreed.target) == (
            "tariff.agreed",
            "ada@example.com",
            "card NGN",
        )
        assert agreed.before == fees.CARD.snapshot == withdrawn.after
        assert agreed.after == {"basis_points": 100} == withdrawn.before

    def test_applies_in_its_currency_only(self, ada, api):
        self.agree(ada.business, currency="USD", basis_points=100, fixed=30)

        dollars = api.post("/api/payments", orders.card_payment(amount=100_000, currency="USD")).json()["fee"]

        assert (dollars, self.paid(api)) == (1_030, 1_500)

    def test_in_an_unknown_currency_is_rejected(self, ada):
        for code in ("XAU", "usd", "ZZZ"):
            with pytest.raises(ValidationError):
                self.agree(ada.business, currency=code, basis_points=100)


@pytest.mark.django_db
class TestCurrencyWithoutPrice:
    def withdraw(self, business, flow=Flow.CARD):
        not_offered = Tariff(business=business, flow=flow, currency="USD", is_offered=False)
        fee_rules.agree(not_offered, actor=ADA, now=timezone.now())

    @pytest.mark.parametrize("is_for_all", [True, False])
    def test_is_rejected_and_nothing_is_stored(self, ada, api, is_for_all):
        self.withdraw(None if is_for_all else ada.business)

        answer = api.post("/api/payments", orders.card_payment(currency="USD"))

        assert (answer.status_code, answer.json()["code"]) == (400, "no_price")
        assert answer.json()["errors"][0]["field"] == "currency"
        assert not Transaction.objects.exists()

    def test_is_rejected_for_that_flow_only(self, ada, api):
        self.withdraw(ada.business)

        assert api.post("/api/payments", orders.card_check(currency="USD")).status_code == 201
        assert api.post("/api/payments", orders.card_payment()).status_code == 201

    def test_is_rejected_for_a_transfer_payment(self, ada, api):
        self.withdraw(None, flow=Flow.VIRTUAL_ACCOUNT)
        account = api.post("/api/virtual-accounts", orders.dynamic_account(currency="USD")).json()

        answer = api.post("/api/payments", orders.transfer_payment(account["id"], currency="USD"))

        assert (answer.status_code, answer.json()["code"]) == (400, "no_price")
        assert not Session.objects.exists()

    def test_still_replays_earlier_payments(self, ada, api):
        order = orders.card_payment(currency="USD")
        first = api.post("/api/payments", order)
        self.withdraw(ada.business)

        again = api.post("/api/payments", order)
        other = api.post("/api/payments", order | {"amount": 1})

        assert (again.status_code, again.json()) == (200, first.json())
        assert (other.status_code, other.json()["code"]) == (409, "duplicate_reference")

    def test_accepts_unexpected_money_without_a_fee(self, ada, api):
        account = api.post("/api/virtual-accounts", orders.static_account(currency="USD")).json()
        self.withdraw(None, flow=Flow.VIRTUAL_ACCOUNT)

        number = account["customer"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 50_000})

        payment = Transaction.objects.get()
        assert (payment.status, payment.amount, payment.fee) == ("success", 50_000, 0)

    def test_is_offered_again_after_withdrawal(self, ada, api):
        self.withdraw(ada.business)
        back = Tariff(business=ada.business, flow=Flow.CARD, currency="USD", is_withdrawn=True)
        fee_rules.agree(back, actor=ADA, now=timezone.now())

        assert api.post("/api/payments", orders.card_payment(currency="USD")).json()["fee"] == 1_950


@pytest.mark.django_db
class TestTariffPage:
    FORM = {
        "flow": "card",
        "currency": "NGN",
        "is_offered": "on",
        "basis_points": "120",
        "fixed": "0",
        "fixed_waived_below": "0",
        "cap": "",
        "steps": "",
        "reason": "Agreed by mail.",
        "tax_basis_points": "0",
    }

    @pytest.fixture
    def staff(self):
        return signed_in(
            UserFactory(email="staff@example.com", is_staff=True, is_superuser=True), client=Client()
        )

    def test_adds_a_tariff_from_now_on(self, staff, ada, api):
        answer = staff.post("/admin/payments/tariff/add/", {**self.FORM, "business": ada.business.pk})

        assert answer.status_code == 302
        assert Tariff.objects.get().agreed_by == "staff@example.com"
        assert AuditEntry.objects.get(action="tariff.agreed").address == "127.0.0.1"
        assert api.post("/api/payments", orders.card_payment(amount=100_000)).json()["fee"] == 1_200

    def test_rejects_an_invalid_rule(self, subtests, staff):
        for wrong in [
            {"basis_points": "10001"},
            {"steps": "100: 5\n50: 6", "fixed": "7"},
            {"steps": "100: five"},
            {"steps": "100"},
            {"steps": "1.005: 1"},
            {"steps": "{}"},
            {"fixed": "1.005"},
            {"fixed": "USD 5.00"},
            {"fixed": ""},
            {"cap": "-1"},
            {"currency": "XAU"},
            {"currency": "naira"},
            {"currency": ""},
        ]:
            with subtests.test(wrong=wrong):
                answer = staff.post("/admin/payments/tariff/add/", self.FORM | wrong)

                assert answer.status_code == 200
                assert not Tariff.objects.exists()

    def test_reads_amounts_in_major_units(self, staff):
        amounts = {
            "fixed": "NGN 50.00", "fixed_waived_below": "100", "cap": "2,000.00", "steps": "5000.00: 10.00\n50,000: 25",
        }  # fmt: skip

        assert staff.post("/admin/payments/tariff/add/", self.FORM | amounts).status_code == 302

        tariff = Tariff.objects.get()
        assert (tariff.fixed, tariff.fixed_waived_below, tariff.cap) == (5_000, 10_000, 200_000)
        assert tariff.steps == [[500_000, 1_000], [5_000_000, 2_500]]
        listed = staff.get("/admin/payments/tariff/").content.decode()
        assert "NGN 10.00 up to NGN 5,000.00, NGN 25.00 up to NGN 50,000.00, then NGN 50.00" in listed

    def test_earlier_rows_cannot_be_changed(self, staff, ada):
        TestTariff().agree(ada.business, basis_points=100)
        page = f"/admin/payments/tariff/{Tariff.objects.get().pk}/change/"

        assert staff.get(page).status_code == 200
        assert staff.post(page, self.FORM).status_code == 403
