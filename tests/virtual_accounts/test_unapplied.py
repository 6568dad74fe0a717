import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from ledger.services import balances
from merchants.models import AuditEntry
from merchants.people.audit import Actor
from payments.models import Transaction
from payments.services.transfers import incoming, unapplied_decisions
from payments.services.transfers.incoming import Notice
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_queries as decisions

pytestmark = pytest.mark.django_db

STAFF = Actor(name="staff@sluice.example", address="10.0.0.1")


@pytest.fixture
def late_money(ada, dynamic, pay_into, simulate):
    """A transfer of 40,000 that arrived after its payment had ended."""
    number = pay_into(dynamic)["virtual_account_details"]["account_number"]
    simulate(number, 50_000, sender_name="Bisi Ojo")
    simulate(number, 40_000, sender_name="Bisi Ojo")
    return decisions.of(ada.business).get()


def because(reason="Came too late"):
    return {"reason": reason, "actor": STAFF, "now": timezone.now()}


def wallet(business):
    return next(balance.available for balance in balances(business) if balance.currency == "NGN")


class TestCredit:
    def test_credits_the_owners_wallet(self, ada, late_money):
        unapplied_decisions.credit(late_money.pk, **because())

        late_money.refresh_from_db()
        assert wallet(ada.business) == 40_000
        assert (late_money.state, late_money.reason, late_money.actor) == (
            "credited", "Came too late", "staff@sluice.example",
        )  # fmt: skip

    def test_is_in_the_audit_trail(self, late_money):
        unapplied_decisions.credit(late_money.pk, **because())

        entry = AuditEntry.objects.get(action="unapplied.credited")
        assert (entry.actor, entry.address, entry.target) == (STAFF.name, STAFF.address, str(late_money.pk))
        assert (entry.before["state"], entry.after["state"]) == ("open", "credited")

    def test_happens_once(self, ada, late_money):
        unapplied_decisions.credit(late_money.pk, **because())

        for act in (unapplied_decisions.credit, unapplied_decisions.return_to_sender):
            with pytest.raises(unapplied_decisions.NotOpen):
                act(late_money.pk, **because())
        assert wallet(ada.business) == 40_000

    def test_needs_a_reason(self, late_money):
        with pytest.raises(IntegrityError), transaction.atomic():
            unapplied_decisions.credit(late_money.pk, **because(""))


class TestReturn:
    def test_pays_the_sender_without_a_fee(self, ada, late_money, events):
        unapplied_decisions.return_to_sender(
            late_money.pk, account_number="0123456789", bank_code="058", **because()
        )

        payout = Transaction.objects.get(request_type="payout")
        late_money.refresh_from_db()
        assert (payout.status, payout.amount, payout.fee) == ("success", 40_000, 0)
        assert (payout.customer_name, payout.account_number, payout.bank_code) == (
            "Bisi Ojo", "0123456789", "058",
        )  # fmt: skip
        assert (late_money.state, late_money.reference) == ("returned", payout.reference)
        assert wallet(ada.business) == 0
        assert [event for event, _ in events()] == ["payout.success"]

    def test_goes_to_the_account_that_the_bank_named(self, dynamic, pay_into, simulate):
        number = pay_into(dynamic)["virtual_account_details"]["account_number"]
        simulate(number, 50_000)
        notice = Notice(
            bank_reference="b-1",
            account_number=number,
            amount=1_000,
            sender_name="Bisi Ojo",
            sender_account_number="0123456789",
            sender_bank_code="058",
        )
        incoming.receive(notice)

        unapplied_decisions.return_to_sender(UnappliedMoney.objects.get().pk, **because())

        payout = Transaction.objects.get(request_type="payout")
        assert (payout.account_number, payout.bank_code) == ("0123456789", "058")

    def test_needs_an_account(self, late_money):
        with pytest.raises(unapplied_decisions.SenderUnknown):
            unapplied_decisions.return_to_sender(late_money.pk, **because())

        late_money.refresh_from_db()
        assert late_money.is_open
        assert not Transaction.objects.filter(request_type="payout").exists()

    def test_refused_by_the_bank_leaves_the_money_unapplied(self, ada, dynamic, pay_into, simulate):
        number = pay_into(dynamic)["virtual_account_details"]["account_number"]
        simulate(number, 50_000)
        simulate(number, 40_051)
        money = UnappliedMoney.objects.get()

        unapplied_decisions.return_to_sender(
            money.pk, account_number="0123456789", bank_code="058", **because()
        )

        assert Transaction.objects.get(request_type="payout").status == "failed"
        money.refresh_from_db()
        assert money.is_open
        assert wallet(ada.business) == 0

    def test_is_requeried_after_a_lost_response(self, late_money):
        lost = {"account_number": "0000000097", "bank_code": "058"}

        unapplied_decisions.return_to_sender(late_money.pk, **lost, **because())

        payout = Transaction.objects.get(request_type="payout")
        assert (payout.status, payout.awaiting) == ("pending", "rail")
