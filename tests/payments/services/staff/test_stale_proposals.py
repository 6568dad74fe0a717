"""A decision of staff is refused once what it was made about has changed, because it could mean something else."""

from threading import Thread
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from ledger.invariants import check
from ledger.models import Account, Entry
from merchants.people.audit import Actor
from payments.invariants.registry import INVARIANTS
from payments.models import Proposal, Transaction, Transition
from payments.rails.protocol import ActionKind, PayerAction, RailAnswer
from payments.rules.outcomes import PROCESSING
from payments.services.payouts import payout_returns
from payments.services.payouts.payout_returns import ReturnNotice
from payments.services.staff import four_eyes, staff_actions
from payments.services.transactions import transitions
from payments.services.transactions.intents import lock
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.settling import settle
from tests.transactions import start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db

CHANGED = "What this was made about has changed"
FORM = {"outcome": "succeeded", "reason": "Acquirer said so", "evidence": "Mail of 1 March"}


def staff(name):
    person = UserFactory(email=f"{name}@example.com", is_staff=True, is_superuser=True)
    return signed_in(person, client=Client())


@pytest.fixture
def first(settings):
    settings.FOUR_EYES = True
    return staff("first")


@pytest.fixture
def second(first):
    return staff("second")


@pytest.fixture
def payment(ada, settings):
    """A card payment that awaits its acquirer."""
    settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
    payment = start(orders.card_payment(amount=975_000), business=ada.business, now=timezone.now())
    Transaction.objects.update(query_leased_until=None)
    payment.refresh_from_db()
    return payment


def page(row, what="change"):
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/{what}/"


def confirm(client):
    return client.post(page(Proposal.objects.get(), "confirm"), follow=True).content.decode()


def await_reversal(payment):
    payment.await_reversal(query_at=timezone.now(), cause=Transition.Cause.REQUERY, now=timezone.now())


def await_rail_after_a_challenge(payment):
    now = timezone.now()
    answer = RailAnswer(outcome=PROCESSING, action=PayerAction(kind=ActionKind.OTP))
    transitions.apply_answer(payment, answer, cause=Transition.Cause.RAIL, now=now)
    payment.await_rail(query_at=now, cause=Transition.Cause.PAYER, now=now)


class TestResolution:
    @pytest.mark.parametrize("outcome", ["succeeded", "failed"])
    @pytest.mark.parametrize("change", [await_reversal, await_rail_after_a_challenge])
    def test_is_refused_once_the_payment_awaits_something_else(self, first, second, payment, outcome, change):
        """Proposed as succeeded for a charge, it would be performed as a successful reversal: the payment fails."""
        first.post(page(payment, "resolve"), FORM | {"outcome": outcome})
        change(payment)

        assert CHANGED in confirm(second)

        payment.refresh_from_db()
        assert payment.status == "pending"
        assert not Entry.objects.exists()
        assert Proposal.objects.get().state == "open"

    @pytest.mark.parametrize(("outcome", "status"), [("succeeded", "failed"), ("failed", "success")])
    def test_of_a_reversal_means_the_reversal(self, first, second, payment, outcome, status):
        await_reversal(payment)
        first.post(page(payment, "resolve"), FORM | {"outcome": outcome})
        words = {
            "failed": "The payment fails",
            "success": "The payment succeeds, and NGN 9,750.00 is charged",
        }
        assert words[status] in second.get(page(Proposal.objects.get())).content.decode()

        assert "confirmed and performed" in confirm(second)

        payment.refresh_from_db()
        assert payment.status == status
        assert [one.invariant.name for one in check(INVARIANTS) if not one.holds] == []

    def test_can_be_declined_and_proposed_again(self, first, second, payment):
        first.post(page(payment, "resolve"), FORM)
        await_reversal(payment)
        second.post(page(Proposal.objects.get(), "decline"), {"reason": "It changed"})

        first.post(page(payment, "resolve"), FORM)

        assert Proposal.objects.get(state="open").made_about["awaiting"] == "reversal"

    def test_by_one_person_is_refused_if_it_changed_since_the_page_was_opened(self, first, payment, settings):
        settings.FOUR_EYES = False
        seen = first.get(page(payment)).context["seen"]
        await_reversal(payment)

        shown = first.post(page(payment, "resolve"), FORM | {"seen": seen}, follow=True).content.decode()

        payment.refresh_from_db()
        assert "changed since you opened the page" in shown
        assert payment.status == "pending"


class TestTopUp:
    def top_up(self, client, business):
        form = {
            "business": business.pk,
            "currency": "NGN",
            "amount": "5.00",
            "note": "Float",
            "cause": uuid4(),
        }
        client.post("/admin/ledger/entry/add/", form)

    def test_is_refused_after_another_one(self, first, second, ada):
        """Two people may have proposed the same transfer of the merchant."""
        self.top_up(first, ada.business)
        fill_wallet(ada.business, 500)

        assert "topped up was NGN 0.00, and is NGN 5.00 now" in confirm(second)
        assert Account.objects.get(business=ada.business, kind="wallet").balance == 500


class TestBatch:
    def test_by_one_person_is_refused_if_it_changed_since_the_page_was_opened(self, first, api, settings):
        settings.FOUR_EYES = False
        api.post("/api/payments", orders.card_payment())
        (batch,) = settle()
        seen = first.get(page(batch)).context["seen"]
        first.post(page(batch, "decide"), {"decision": "approved", "reason": "Bank has it", "seen": seen})

        form = {"decision": "released", "reason": "Go", "seen": seen}
        shown = first.post(page(batch, "decide"), form, follow=True).content.decode()

        batch.refresh_from_db()
        assert "changed since you opened the page" in shown
        assert batch.state == "approved"


class TestPayoutReversal:
    def test_is_refused_after_a_partial_return(self, first, second, api, ada):
        fill_wallet(ada.business, 1_000_000)
        payout = Transaction.objects.get(
            pk=api.post("/api/payments", orders.payout(amount=100_000)).json()["id"]
        )
        first.post(
            "/admin/payments/payoutreturn/add/", {"transaction": payout.pk, "reason": "Bank returned it"}
        )
        notice = ReturnNotice(
            bank_reference="R1", payout_reference=payout.pk.hex, amount=40_000, currency="NGN"
        )
        payout_returns.receive(notice)

        assert "amount returned was NGN 0.00, and is NGN 400.00 now" in confirm(second)

        payout.refresh_from_db()
        assert payout.amount_returned == 40_000


class TestUnapplied:
    def test_shows_where_the_money_goes(self, first, second, ada):
        money = mismatched_money(business=ada.business, now=timezone.now())
        form = {"reason": "Not theirs", "account_number": "0123456789", "bank_code": "058"}
        first.post(page(money, "return"), form)

        shown = second.get(page(Proposal.objects.get())).content.decode()

        assert "NGN 400.00 is paid out to account 0123456789 at bank 058." in shown


class TestEarlierRelease:
    def test_proposal_cannot_be_confirmed_but_declined(self, first, second, payment):
        first.post(page(payment, "resolve"), FORM)
        stored = Proposal.objects.values().get() | {"made_about": None, "confirmers": None}
        four_eyes.decline(stored["id"], user=None, reason="x", actor=Actor(name="x"), now=timezone.now())
        old = Proposal.objects.create(**stored | {"id": uuid4()})

        shown = second.post(page(old, "confirm"), follow=True).content.decode()

        assert "propose it again" in shown
        payment.refresh_from_db()
        assert payment.status == "pending"
        second.post(page(old, "decline"), {"reason": "Old"})
        old.refresh_from_db()
        assert old.state == "declined"


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no row locks")
@pytest.mark.django_db(transaction=True)
def test_confirmation_that_waits_for_a_change_is_refused(ada, settings):
    """Tests that the state is compared under the lock. Read before it, the payment would still await its rail."""
    settings.FOUR_EYES = True
    settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
    proposer, confirmer = (UserFactory(is_staff=True, is_superuser=True) for _ in range(2))
    payment = start(orders.card_payment(), business=ada.business, now=timezone.now())
    action = staff_actions.resolution(payment, succeeded=True, reason="x", evidence="y")
    proposal = four_eyes.submit(action, user=proposer, actor=Actor(name="a"), now=timezone.now())
    refusals = []

    def confirm_it():
        try:
            four_eyes.confirm(proposal.pk, user=confirmer, actor=Actor(name="b"), now=timezone.now())
        except staff_actions.Changed as refused:
            refusals.append(refused)
        finally:
            connection.close()

    confirming = Thread(target=confirm_it)
    with transaction.atomic():
        await_reversal(lock(payment.pk))
        confirming.start()
        confirming.join(timeout=1)
        assert confirming.is_alive()  # waits for the lock
    confirming.join(timeout=10)

    payment.refresh_from_db()
    assert len(refusals) == 1
    assert payment.status == "pending"
