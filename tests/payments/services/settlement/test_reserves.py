"""What is held back of released batches, and returned. NGN 1,000.00 by card is a net of NGN 985.00."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import override_settings
from django.utils import timezone

from ledger import services as ledger
from ledger.invariants import check
from ledger.models import Account, Entry
from payments.invariants.registry import INVARIANTS
from payments.models import Proposal, ReserveHold, ReserveReturn, RiskTerms
from payments.services import ledger_entries
from payments.services.refunds import refunds
from payments.services.settlement import reserves
from payments.services.staff import four_eyes
from payments.services.staff.actions import rights
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.disputed import take
from tests.factories import ApiKeyFactory, BusinessFactory, UserFactory
from tests.racing import racers
from tests.reserves import agree, released
from tests.settling import STAFF, decide, settle
from tests.transactions import captured_payment

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.fixture
def business():
    return BusinessFactory()


def balance(business):
    return next(each for each in ledger.balances(business) if each.currency == "NGN")


def house(kind):
    return Account.objects.get(business=None, kind=kind, currency="NGN").balance


def broken():
    return [each.invariant.name for each in check(INVARIANTS) if not each.holds]


def in_days(days):
    return timezone.now() + timedelta(days=days)


def owe(business, payment, amount):
    request = {"reference": orders.new_reference("rf"), "amount": amount}
    return refunds.refund(transaction=payment, request=request, now=timezone.now())


class TestRelease:
    def test_holds_the_rate_of_the_net_rounded_down(self, business):
        agree(business, reserve_basis_points=333, reserve_days=90)

        batch = released(business)

        assert (batch.net, batch.reserved) == (98_500, 3_280)  # 3280.05
        assert (balance(business).available, balance(business).reserved) == (95_220, 3_280)
        hold = ReserveHold.objects.get()
        assert (hold.amount, hold.left, hold.batch) == (3_280, 3_280, batch)
        assert timedelta(days=89) < hold.returns_at - timezone.now() <= timedelta(days=90)

    def test_fills_the_fixed_amount_from_several_batches(self, business):
        agree(business, reserve_fixed=150_000)

        assert [released(business).reserved for _ in range(3)] == [98_500, 51_500, 0]
        assert balance(business).reserved == 150_000

    def test_holds_both(self, business):
        agree(business, reserve_basis_points=1_000, reserve_days=1, reserve_fixed=1_000)

        assert released(business).reserved == 9_850 + 1_000
        assert released(business).reserved == 9_850

    def test_never_holds_more_than_the_net(self, business):
        agree(business, reserve_basis_points=10_000, reserve_days=1, reserve_fixed=1_000)

        assert released(business).reserved == 98_500
        assert balance(business).available == 0

    def test_of_a_batch_that_pays_nothing_holds_nothing(self, business):
        released(business)
        owe(business, captured_payment(business=business, now=timezone.now(), amount=100_000), 100_000)
        agree(business, reserve_basis_points=1_000, reserve_days=1, reserve_fixed=1_000)
        (batch,) = settle()

        assert decide(batch, "approve", "release").reserved == 0

    def test_without_terms_holds_nothing(self, business):
        agree(BusinessFactory(), reserve_basis_points=1_000, reserve_days=1)

        assert released(business).reserved == 0

    @pytest.mark.django_db(transaction=True)
    def test_of_two_batches_at_once_fills_the_fixed_amount_once(self, business):
        """Tests that the fixed part is read under the locks of the accounts."""
        agree(business, reserve_fixed=50_000)
        with racers(2) as threads:
            for turn in range(1, 6):
                batches = []
                for _ in range(2):
                    captured_payment(business=business, now=timezone.now(), amount=100_000)
                    (batch,) = settle()
                    batches.append(decide(batch, "approve"))

                threads.race(*[partial(decide, each, "release") for each in batches])

                assert balance(business).reserved == 50_000 * turn
                agree(business, reserve_fixed=50_000 * (turn + 1))


class TestMirror:
    """The house account of what is held back from all businesses."""

    @pytest.fixture
    def two(self, business):
        for each in (business, BusinessFactory()):
            agree(each, reserve_basis_points=1_000, reserve_days=30)
            released(each)

    def test_is_the_sum_of_all_reserves(self, two):
        assert (house("reserves"), house("reserves_contra")) == (19_700, -19_700)
        assert broken() == []

    def test_follows_returns(self, two):
        reserves.return_due(now=in_days(31))

        assert (house("reserves"), house("reserves_contra")) == (0, 0)
        assert broken() == []

    def test_is_booked_for_what_an_earlier_host_held(self, two, monkeypatch):
        monkeypatch.setattr(ledger_entries, "_reserves_mirrored", lambda moved: moved)  # booked once
        business = BusinessFactory()
        agree(business, reserve_basis_points=1_000, reserve_days=30)
        released(business)
        reserves.return_due(now=in_days(31))
        assert "changes_of_reserves_are_mirrored" in broken()
        migration = import_module("payments.migrations.0067_mirror_reserves")

        for _ in range(2):
            migration.mirror(apps, SimpleNamespace(connection=connection))

        assert house("reserves") == 0
        assert Entry.objects.filter(kind="reserves_mirrored").count() == 6
        assert broken() == []


class TestReturn:
    @pytest.fixture
    def batch(self, business):
        agree(business, reserve_basis_points=1_000, reserve_days=30)
        return released(business)

    def test_after_its_days_adds_it_to_the_wallet(self, business, batch):
        assert reserves.return_due(now=in_days(29)) == 0
        assert reserves.return_due(now=in_days(31)) == 1
        assert reserves.return_due(now=in_days(31)) == 0

        assert (balance(business).available, balance(business).reserved) == (98_500, 0)
        assert ReserveReturn.objects.get().reason == "due"

    def test_is_made_although_that_of_another_business_fails(self, business, batch, monkeypatch):
        other = BusinessFactory()
        agree(other, reserve_basis_points=1_000, reserve_days=30)
        released(other)
        of_one = reserves._return_due_of

        def failing(owner, **options):
            if owner[0] == min(business.pk, other.pk):
                raise ValueError("the first one")
            return of_one(owner, **options)

        monkeypatch.setattr(reserves, "_return_due_of", failing)

        assert reserves.return_due(now=in_days(31)) == 1

    def test_waits_while_the_business_owes(self, business, batch):
        payment = captured_payment(business=business, now=timezone.now(), amount=100_000)
        owe(business, payment, 100_000)
        captured = batch.items.get().transaction
        owe(business, captured, 100_000)
        assert balance(business).available + balance(business).pending < 0

        assert reserves.return_due(now=in_days(31)) == 0
        captured_payment(business=business, now=timezone.now(), amount=200_000)
        assert reserves.return_due(now=in_days(31)) == 1

    def test_of_the_fixed_part_follows_lower_terms(self, business):
        agree(business, reserve_fixed=120_000)
        released(business)
        released(business)
        agree(business, reserve_fixed=100_000)

        assert reserves.return_due(now=timezone.now()) == 1
        assert balance(business).reserved == 100_000
        agree(business)
        assert reserves.return_due(now=timezone.now()) == 2
        assert balance(business).reserved == 0

    def test_is_made_by_the_command(self, business, batch, capsys):
        ReserveHold.objects.update(returns_at=timezone.now())

        call_command("expire_due", "--dry-run")
        assert "Would return 1 reserve." in capsys.readouterr().out
        call_command("expire_due")

        assert "Returned 1 reserve." in capsys.readouterr().out
        assert balance(business).reserved == 0

    @pytest.mark.django_db(transaction=True)
    def test_by_two_workers_is_made_once(self, business):
        """Tests the locks of the accounts."""
        agree(business, reserve_basis_points=1_000, reserve_days=30)
        with racers(3) as threads:
            for turn in range(1, 6):
                released(business)

                threads.race(*[partial(reserves.return_due, now=in_days(31))] * 3)

                assert ReserveReturn.objects.count() == turn
                assert (balance(business).available, balance(business).reserved) == (98_500 * turn, 0)

    @pytest.mark.django_db(transaction=True)
    def test_waits_for_a_dispute_that_makes_the_business_owe(self, business):
        """Tests that the debt is read under the locks of wallet and pending settlement."""
        agree(business, reserve_basis_points=10_000, reserve_days=30)
        payment = released(business).items.get().transaction
        begun = threading.Event()

        def return_due():
            try:
                begun.set()
                return reserves.return_due(now=in_days(31))
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                take(payment)
                running = pool.submit(return_due)
                assert begun.wait(10)
                wait([running], timeout=0.5)  # it reads the balances now, unless they are locked
            assert running.result(timeout=30) == 0

        assert balance(business).reserved == 98_500


class TestApi:
    @pytest.fixture
    def api(self, business):
        key = ApiKeyFactory(business=business)
        return InProcessClient(Credentials(key.public_id, key.secret))

    def test_shows_the_reserve_in_balance_and_settlement(self, api, business):
        agree(business, reserve_basis_points=1_000, reserve_days=30)
        batch = released(business)

        shown = api.get("/api/balance").json()["data"]
        assert {"currency": "NGN", "available": 88_650, "pending": 0, "reserved": 9_850} in shown
        assert api.get(f"/api/settlements/{batch.pk}").json()["reserved"] == 9_850

    def test_advances_the_return_in_the_sandbox(self, api, business):
        agree(business, reserve_basis_points=1_000, reserve_days=30)
        batch = released(business)

        answer = api.post("/api/sandbox/advance", {"reserve": str(batch.pk)})

        assert answer.status_code == 200
        assert {"currency": "NGN", "available": 98_500, "pending": 0} in answer.json()["balance"]
        again = api.post("/api/sandbox/advance", {"reserve": str(batch.pk)})
        assert (again.status_code, again.json()["code"]) == (409, "invalid_state")

    def test_finds_no_batch_of_another_business(self, api):
        other = BusinessFactory()
        agree(other, reserve_basis_points=1_000, reserve_days=30)

        answer = api.post("/api/sandbox/advance", {"reserve": str(released(other).pk)})

        assert answer.status_code == 404


class TestTerms:
    def test_are_agreed_by_two_people(self, business):
        first, second = (UserFactory(is_staff=True, is_superuser=True) for _ in range(2))
        terms = RiskTerms(business=business, currency="NGN", reserve_basis_points=500, reserve_days=10)
        acting = {"actor": STAFF, "now": timezone.now()}

        with override_settings(FOUR_EYES=True):
            proposal = four_eyes.submit(rights.risk_terms(terms, reason="New"), user=first, **acting)
            assert not RiskTerms.objects.exists()
            four_eyes.confirm(proposal.pk, user=second, **acting)

        assert RiskTerms.objects.get().reserve_basis_points == 500
        assert Proposal.objects.get().state == "confirmed"
