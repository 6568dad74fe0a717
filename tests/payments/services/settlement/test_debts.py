"""Businesses that owe, and what staff collect from their reserve. NGN 1,000.00 by card is a net of NGN 985.00."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connections, transaction
from django.test import Client
from django.utils import timezone

from ledger import services as ledger
from ledger.invariants import check
from ledger.models import Posting
from merchants.models import Member
from payments.invariants.registry import INVARIANTS
from payments.models import Debt, InvalidState, Proposal, ReserveHold, ReserveReturn
from payments.services.settlement import debts, reserves
from payments.services.staff.actions import debt_collection
from tests.dashboard.people import signed_in
from tests.factories import BusinessFactory, MemberFactory, UserFactory
from tests.reserves import agree, released
from tests.transactions import refund
from tests.wallets import fill_wallet

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

LIST = "/admin/payments/debt/"


@pytest.fixture
def business():
    return BusinessFactory(name="Ada Books")


@pytest.fixture
def staff(db):
    """Return the browser of a member of staff who needs no second person."""
    return signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())


@pytest.fixture
def second(db):
    """Return the browser of another one, who confirms what the first one proposes."""
    return signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())


@pytest.fixture
def debt(business):
    return owing(business)


def owing(business, *, refunded=60_000, **terms):
    """Return the debt of a business with NGN 492.50 each in wallet and reserve, after a refund of NGN 600.00."""
    agree(business, **terms or {"reserve_basis_points": 5_000, "reserve_days": 30})
    refund(released(business).items.get().transaction, refunded)
    debts.update(now=timezone.now())
    return Debt.objects.open().get(business=business)


def balance(business):
    return next(each for each in ledger.balances(business) if each.currency == "NGN")


def page(debt, end="change/"):
    return f"{LIST}{debt.pk}/{end}"


def collect(browser, debt):
    return browser.post(page(debt, "collect/"), {"reason": "Agreed by phone"}, follow=True).content.decode()


def broken():
    return [each.invariant.name for each in check(INVARIANTS) if not each.holds]


class TestList:
    def test_shows_who_owes_how_much_and_since_when(self, business, staff):
        agree(business, reserve_basis_points=5_000, reserve_days=30)
        refund(released(business).items.get().transaction, 60_000)

        shown = staff.get(LIST).content.decode()

        assert "Ada Books" in shown
        assert "NGN 107.50" in shown  # 492.50 - 600.00
        assert "NGN 492.50" in shown  # in reserve

    def test_counts_them_on_the_first_page(self, debt, staff):
        assert "Businesses that owe" in staff.get("/admin/").content.decode()

    def test_of_nobody_says_so(self, business, staff):
        released(business)

        assert "No business owes." in staff.get(LIST).content.decode()

    def test_is_since_the_entry_that_made_it_owe(self, business):
        payment = released(business).items.get().transaction
        refund(payment, 98_000)
        refund(payment, 1_000)
        crossed = Posting.objects.filter(account__kind="pending_settlement").latest("pk").entry.at
        refund(payment, 1_000)

        debts.update(now=timezone.now())

        assert Debt.objects.get().since == crossed

    def test_ends_when_the_business_earns_and_begins_anew(self, business, debt):
        fill_wallet(business, 10_750)
        debts.update(now=timezone.now())
        debt.refresh_from_db()
        assert debt.ended_at is not None

        refund(ReserveHold.objects.get().batch.items.get(operation=None).transaction, 1)
        call_command("expire_due")

        assert Debt.objects.open().get() != debt


class TestCollection:
    def test_moves_what_is_owed_from_the_reserve_and_tells_the_business(
        self, business, debt, staff, mailoutbox, django_capture_on_commit_callbacks
    ):
        people = [MemberFactory(business=business, role=role).user.email for role in Member.Role]

        with django_capture_on_commit_callbacks(execute=True):
            collect(staff, debt)

        assert (balance(business).available, balance(business).reserved) == (60_000, 38_500)
        moved = Posting.objects.filter(account__kind="wallet").latest("pk")
        assert (moved.amount, moved.entry.kind, moved.entry.note) == (
            10_750,
            "reserve_returned",
            "Agreed by phone",
        )
        assert ReserveReturn.objects.get().reason == "collected"
        (mail,) = mailoutbox
        assert mail.subject == "NGN 107.50 of the reserve of Ada Books was set off"
        assert "Agreed by phone" in mail.body
        assert set(mail.to) == {
            email for email, role in zip(people, Member.Role, strict=True) if role in ("owner", "finance")
        }
        assert broken() == []

    def test_takes_two_people(self, business, debt, staff, second, settings):
        settings.FOUR_EYES = True
        assert "awaits another person" in collect(staff, debt)
        assert not ReserveReturn.objects.exists()

        second.post(f"/admin/payments/proposal/{Proposal.objects.get().pk}/confirm/")

        assert balance(business).reserved == 38_500
        assert broken() == []

    def test_is_refused_if_it_owes_less_meanwhile(self, business, debt, staff, second, settings):
        settings.FOUR_EYES = True
        collect(staff, debt)
        fill_wallet(business, 10_000)

        confirmed = second.post(f"/admin/payments/proposal/{Proposal.objects.get().pk}/confirm/", follow=True)

        assert "The business owes NGN 7.50 now" in confirmed.content.decode()
        assert not ReserveReturn.objects.exists()

    def test_collects_what_is_in_reserve_if_more_is_owed(self, business, staff):
        collect(staff, owing(business, refunded=100_000))

        assert (balance(business).reserved, balance(business).available) == (0, 98_500)
        assert "Collect from reserve" not in staff.get(page(Debt.objects.get())).content.decode()

    def test_takes_first_what_would_be_returned_first(self, business, staff):
        collect(staff, owing(business, reserve_fixed=40_000, reserve_basis_points=1_000, reserve_days=30))

        left = {hold.returns_at is None: hold.left for hold in ReserveHold.objects.all()}
        assert left == {False: 0, True: 40_000 - (11_350 - 9_850)}

    def test_of_nothing_is_refused(self, business, debt):
        reserves.collect(business.pk, "NGN", 10_750, note="x", now=timezone.now())

        with pytest.raises(debt_collection.NothingToCollect):
            debt_collection.collection(debt, reason="Again")

    @pytest.mark.django_db(transaction=True)
    def test_lets_the_schedule_return_the_rest(self, business):
        """Tests that the schedule reads the debt and the holds under the locks of the accounts."""
        owing(business)

        with transaction.atomic():
            reserves.collect(business.pk, "NGN", 10_750, note="x", now=timezone.now())
            running, pool = in_another_thread(
                lambda: reserves.return_due(now=timezone.now() + timedelta(days=31))
            )
        with pool:
            assert running.result(timeout=30) == 1

        assert (balance(business).available, balance(business).reserved) == (98_500, 0)

    @pytest.mark.django_db(transaction=True)
    def test_waits_for_what_the_business_earns(self, business):
        """Tests that the debt is read under the locks of the accounts."""
        owing(business)

        def collect_all():
            with transaction.atomic():
                reserves.collect(business.pk, "NGN", 10_750, note="x", now=timezone.now())

        with transaction.atomic():
            fill_wallet(business, 10_750)
            running, pool = in_another_thread(collect_all)
        with pool, pytest.raises(InvalidState, match=r"owes NGN 0\.00 now"):
            running.result(timeout=30)

        assert balance(business).reserved == 49_250


def in_another_thread(call):
    """Begin a call while the caller's transaction is open. It reads the balances now, unless they are locked."""
    begun = threading.Event()

    def run():
        try:
            begun.set()
            return call()
        finally:
            connections.close_all()

    pool = ThreadPoolExecutor(1)
    running = pool.submit(run)
    assert begun.wait(10)
    wait([running], timeout=0.5)
    return running, pool


class TestInvoice:
    def test_is_recorded_with_its_day_and_sender(self, debt, staff):
        today = timezone.localdate()

        staff.post(page(debt, "invoice/"), {"sent_on": today.isoformat()})

        debt.refresh_from_db()
        assert (debt.invoice_sent_on, bool(debt.invoice_sent_by)) == (today, True)

    @pytest.mark.parametrize("sent_on", ["", "soon", "2999-01-01"])
    def test_of_no_possible_day_is_refused(self, debt, staff, sent_on):
        answer = staff.post(page(debt, "invoice/"), {"sent_on": sent_on})

        assert "Nothing was recorded." in answer.content.decode()
        debt.refresh_from_db()
        assert debt.invoice_sent_on is None

    def test_needs_the_permission(self, debt):
        stranger = signed_in(UserFactory(is_staff=True), client=Client())

        assert stranger.post(page(debt, "invoice/"), {"sent_on": "2026-01-01"}).status_code == 403
        assert stranger.get(page(debt)).status_code == 403
