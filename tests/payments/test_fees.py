import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from merchants.audit import Actor
from merchants.models import AuditEntry
from payments import fees
from payments.fees import FeeRule, Flow, WrongRule
from payments.models import Tariff, Transaction
from payments.services import tariffs
from tests import orders
from tests.factories import UserFactory

AMOUNTS = st.integers(min_value=1, max_value=10**12)
MONEY = st.integers(min_value=0, max_value=10**9)
ADA = Actor(name="ada@example.com")


@st.composite
def rules(draw):
    """Any rule that `check` lets through."""
    prices = sorted(draw(st.lists(MONEY, max_size=4)))
    limits = sorted(draw(st.sets(st.integers(1, 10**12), min_size=len(prices), max_size=len(prices))))
    rule = FeeRule(
        basis_points=draw(st.integers(0, 10_000)),
        fixed=draw(st.integers(prices[-1] if prices else 0, 10**10)),
        fixed_waived_below=draw(AMOUNTS),
        cap=draw(st.none() | MONEY),
        steps=tuple(zip(limits, prices, strict=True)),
    )
    rule.check()
    return rule


class TestCardFee:
    @pytest.mark.parametrize(
        ("amount", "fee"),
        [
            (1, 0),
            (33, 0),
            (34, 1),  # 0.51, rounded up
            (100, 2),  # 1.5, half is rounded up
            (249_999, 3_750),
            (250_000, 13_750),
            (12_666_666, 200_000),
            (12_666_633, 199_999),
            (10**12, 200_000),
        ],
    )
    def test_is_a_share_plus_a_fixed_part_up_to_a_cap(self, amount, fee):
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
    def test_is_a_share_up_to_a_cap(self, amount, fee):
        assert fees.fee(fees.VIRTUAL_ACCOUNT, amount) == fee


class TestPayoutFee:
    @given(AMOUNTS)
    def test_is_one_of_three(self, amount):
        expected = 1_000 if amount <= 500_000 else 2_500 if amount <= 5_000_000 else 5_000
        assert fees.fee(fees.PAYOUT, amount) == expected


class TestFee:
    @given(rules(), AMOUNTS, AMOUNTS)
    def test_never_falls_when_the_amount_grows(self, rule, amount, more):
        assert fees.fee(rule, amount) <= fees.fee(rule, amount + more)

    @given(rules(), AMOUNTS)
    def test_is_never_above_its_cap_nor_below_nothing(self, rule, amount):
        assert 0 <= fees.fee(rule, amount) <= (10**13 if rule.cap is None else rule.cap)

    @given(rules(), AMOUNTS)
    def test_out_of_an_amount_is_never_more_than_the_amount(self, rule, amount):
        assert 0 <= fees.fee_out_of(rule, amount) <= amount

    @given(st.integers(0, 10_000), AMOUNTS)
    def test_of_a_share_is_off_by_half_a_unit_at_most_and_never_rounds_a_half_down(
        self, basis_points, amount
    ):
        off = fees.fee(FeeRule(basis_points=basis_points), amount) * 10_000 - amount * basis_points

        assert -5_000 < off <= 5_000

    @given(rules(), AMOUNTS)
    def test_follows_from_the_snapshot_of_its_rule(self, rule, amount):
        copied = FeeRule.from_snapshot(rule.snapshot)

        assert copied == rule
        assert fees.fee(copied, amount) == fees.fee(rule, amount)

    @pytest.mark.parametrize(
        "rule",
        [
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
        ],
    )
    def test_by_a_rule_that_could_fall_or_be_negative_is_refused(self, rule):
        with pytest.raises(WrongRule):
            rule.check()

    def test_by_the_defaults_is_agreed_for_every_flow(self):
        assert set(fees.DEFAULTS) == set(Flow)
        for rule in fees.DEFAULTS.values():
            rule.check()


@pytest.mark.django_db
class TestFeeOfAPayment:
    def test_stands_in_the_answer_of_a_success(self, api):
        assert api.post("/api/payments", orders.card_payment(amount=300_000)).json()["fee"] == 14_500

    @pytest.mark.parametrize("changes", [{"amount": 300_051}, {"amount": 300_098}, {"capture": False}])
    def test_is_nothing_before_and_without_success(self, api, changes):
        assert api.post("/api/payments", orders.card_payment(**changes)).json()["fee"] == 0

    @pytest.mark.parametrize(
        ("order", "flow"),
        [(orders.card_payment, "card"), (orders.payout, "payout"), (orders.card_check, "card_check")],
    )
    def test_comes_with_the_rule_it_was_made_by(self, api, order, flow):
        api.post("/api/payments", order())

        assert Transaction.objects.get().fee_rule == fees.DEFAULTS[Flow(flow)].snapshot

    def test_is_taken_of_what_was_captured(self, api):
        order = orders.card_payment(amount=300_000, capture=False)
        api.post("/api/payments", order)

        captured = api.post(f"/api/payments/{order['reference']}/capture", {"amount": 100_000}).json()

        assert captured["fee"] == 1_500

    def test_costs_no_statement_more_while_prices_are_remembered(self, api):
        def statements():
            with CaptureQueriesContext(connection) as captured:
                api.post("/api/payments", orders.card_payment())
            return [one["sql"] for one in captured if "tariff" in one["sql"]]

        assert [len(statements()), len(statements())] == [1, 0]


@pytest.mark.django_db
class TestTariff:
    def agree(self, business, flow=Flow.CARD, **numbers):
        tariffs.agree(Tariff(business=business, flow=flow, **numbers), actor=ADA, now=timezone.now())

    def paid(self, api):
        return api.post("/api/payments", orders.card_payment(amount=100_000)).json()["fee"]

    def test_of_a_business_replaces_the_default_for_it_alone(self, ada, api, other_api):
        self.agree(ada.business, basis_points=100)

        assert (self.paid(api), self.paid(other_api)) == (1_000, 1_500)

    def test_for_everybody_replaces_the_default_but_no_agreement(self, ada, api, other_api):
        self.agree(ada.business, basis_points=100)
        self.agree(None, basis_points=200)

        assert (self.paid(api), self.paid(other_api)) == (1_000, 2_000)

    def test_counts_until_the_next_one(self, ada, api):
        self.agree(ada.business, basis_points=100)
        self.agree(ada.business, basis_points=50)

        assert self.paid(api) == 500

    def test_that_is_withdrawn_gives_way_to_the_default(self, ada, api):
        self.agree(ada.business, basis_points=100)
        self.agree(ada.business, is_withdrawn=True)

        assert self.paid(api) == 1_500

    def test_is_pinned_when_the_transaction_is_created(self, ada, api):
        order = orders.card_payment(amount=100_000, capture=False)
        api.post("/api/payments", order)
        self.agree(ada.business, basis_points=100)

        captured = api.post(f"/api/payments/{order['reference']}/capture").json()

        assert captured["fee"] == 1_500

    def test_that_charges_more_than_came_in_takes_what_came_in(self, ada, api):
        self.agree(ada.business, fixed=250_000)

        assert self.paid(api) == 100_000

    def test_of_a_payout_may_be_more_than_the_payout(self, ada, api):
        self.agree(ada.business, flow=Flow.PAYOUT, fixed=250_000)

        assert api.post("/api/payments", orders.payout(amount=100)).json()["fee"] == 250_000

    def test_agreed_elsewhere_is_seen_after_some_seconds(self, ada, api, monkeypatch):
        assert self.paid(api) == 1_500
        now = timezone.now()
        Tariff.objects.create(
            business=ada.business, flow="card", basis_points=100, valid_from=now, agreed_by="x"
        )
        before = self.paid(api)

        monkeypatch.setattr(tariffs, "REMEMBERED_FOR", 0.0)

        assert (before, self.paid(api)) == (1_500, 1_000)

    def test_is_told_to_the_audit_trail(self, ada):
        self.agree(ada.business, basis_points=100)
        self.agree(ada.business, is_withdrawn=True)

        agreed, withdrawn = AuditEntry.objects.order_by("id")
        assert (agreed.action, agreed.actor, agreed.target) == ("tariff.agreed", "ada@example.com", "card")
        assert agreed.before == fees.CARD.snapshot == withdrawn.after
        assert agreed.after == {"basis_points": 100} == withdrawn.before


@pytest.mark.django_db
class TestTariffPage:
    FORM = {
        "flow": "card",
        "basis_points": "120",
        "fixed": "0",
        "fixed_waived_below": "0",
        "cap": "",
        "steps": "[]",
        "reason": "Agreed by mail.",
    }

    @pytest.fixture
    def staff(self):
        browser = Client()
        browser.force_login(UserFactory(email="staff@example.com", is_staff=True, is_superuser=True))
        return browser

    def test_agrees_a_tariff_from_now_on(self, staff, ada, api):
        answer = staff.post("/admin/payments/tariff/add/", {**self.FORM, "business": ada.business.pk})

        assert answer.status_code == 302
        assert Tariff.objects.get().agreed_by == "staff@example.com"
        assert AuditEntry.objects.get(action="tariff.agreed").address == "127.0.0.1"
        assert api.post("/api/payments", orders.card_payment(amount=100_000)).json()["fee"] == 1_200

    @pytest.mark.parametrize(
        "wrong",
        [
            {"basis_points": "10001"},
            {"steps": "[[100, 5], [50, 6]]", "fixed": "7"},
            {"steps": '[["100", 5]]'},
            {"steps": "[[1.5, 5]]"},
            {"steps": "{}"},
            {"steps": "7"},
            {"steps": "["},
            {"cap": "-1"},
        ],
    )
    def test_refuses_a_rule_that_is_none(self, staff, wrong):
        answer = staff.post("/admin/payments/tariff/add/", self.FORM | wrong)

        assert answer.status_code == 200
        assert not Tariff.objects.exists()

    def test_lets_nobody_change_the_past(self, staff, ada):
        TestTariff().agree(ada.business, basis_points=100)
        page = f"/admin/payments/tariff/{Tariff.objects.get().pk}/change/"

        assert staff.get(page).status_code == 200
        assert staff.post(page, self.FORM).status_code == 403
