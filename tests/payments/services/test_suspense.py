"""Money whose owner is unknown: booked to suspense at arrival, and out of it by a decision of two people."""

import json
from importlib import import_module
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from ledger.invariants import check
from ledger.models import Account, Entry
from merchants.models import AuditEntry
from payments.invariants.registry import INVARIANTS
from payments.models import InvalidState, PayoutReturn, Proposal, Transaction
from payments.services.payouts import payout_returns
from payments.services.transfers import unclaimed_decisions
from tests import orders
from tests.bank_signing import KEY, signed_headers
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.racing import racers
from tests.settling import STAFF
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import AccountNumber, UnappliedMoney, UnclaimedTransfer
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

LARGEST = 10**16


@pytest.fixture(autouse=True)
def _settings(settings):
    settings.BANK_NOTIFICATION_KEYS = [KEY]
    settings.FOUR_EYES = True


@pytest.fixture
def notify(client):
    def send(path, **members):
        raw = json.dumps(members).encode()
        headers = signed_headers(raw, key=KEY)
        return client.generic("POST", path, raw, content_type="application/json", headers=headers).json()

    return send


@pytest.fixture
def arrive(notify):
    """Send the bank's notification of a transfer to a number that no account has."""

    def send(amount=40_000, **changes):
        transfer = {"bank_reference": "nip-1", "account_number": "0123456789", "amount": amount}
        return notify("/bank/transfers", **transfer | {"currency": "NGN", "sender_name": "Bisi"} | changes)

    return send


@pytest.fixture
def bounce(notify):
    """Send the bank's notification of a returned payout."""

    def send(payout="order-1", amount=100_000, **changes):
        returned = {
            "bank_reference": "ret-1",
            "payout_reference": payout,
            "amount": amount,
            "currency": "NGN",
        }
        return notify("/bank/payout-returns", **returned | {"reason": "Account closed"} | changes)

    return send


@pytest.fixture
def payout(api):
    """A successful payout of 250,000 with a fee of 1,000."""
    order = orders.payout(amount=250_000)
    api.post("/api/payments", order)
    return Transaction.objects.get(reference=order["reference"])


@pytest.fixture
def number(api):
    return api.post("/api/virtual-accounts", orders.static_account()).json()["customer"]["account_number"]


@pytest.fixture
def people():
    """Two sessions of staff."""
    return [signed_in(UserFactory(is_staff=True, is_superuser=True)) for _ in range(2)]


def decide(people, row, name, **form):
    """Submit a decision on a row's page by the first person, and confirm it by the second."""
    page = f"admin:{row._meta.app_label}_{row._meta.model_name}"
    shown = people[0].get(reverse(f"{page}_change", args=[row.pk]))
    form = {"reason": "Found the owner", "seen": shown.context["seen"]} | form
    answer = people[0].post(reverse(f"{page}_{name}", args=[row.pk]), form, follow=True).content.decode()
    assert proposal_of(row), answer
    return (
        people[1]
        .post(reverse("admin:payments_proposal_confirm", args=[proposal_of(row).pk]), follow=True)
        .content.decode()
    )


def proposal_of(row):
    return Proposal.objects.filter(target=row.pk, state="open").first()


def balance(kind, business=None, currency="NGN"):
    account = Account.objects.filter(kind=kind, business=business, currency=currency).first()
    return account.balance if account else 0


def broken():
    return [(one.invariant.name, one.broken) for one in check(INVARIANTS) if not one.holds]


class TestUnclaimedTransfer:
    def test_is_booked_to_suspense_at_arrival_and_once(self, arrive):
        assert [arrive()["replayed"], arrive()["replayed"]] == [False, True]

        assert (balance("suspense"), balance("bank_clearing")) == (40_000, -40_000)
        assert broken() == []

    def test_is_assigned_to_an_account_by_two_people(self, ada, people, arrive, number):
        make_endpoint(business=ada.business, events=["unapplied"])
        arrive(sender_account_number="0123456780", sender_bank_code="058")
        unclaimed = UnclaimedTransfer.objects.get()

        decide(people, unclaimed, "assign", account_number=number)

        money = UnappliedMoney.objects.select_related("transfer").get()
        assert (money.business, money.amount, money.state) == (ada.business, 40_000, "open")
        assert (money.transfer.reason, money.transfer.received_at) == ("assigned", unclaimed.received_at)
        assert money.transfer.sender["account_number"] == "0123456780"
        assert (balance("suspense"), balance("bank_clearing")) == (0, 0)
        assert (balance("unapplied", ada.business), balance("bank_clearing", ada.business)) == (
            40_000,
            -40_000,
        )
        assert [json.loads(sent.body)["event"] for sent in Delivery.objects.all()] == ["transfer.unapplied"]
        assert AuditEntry.objects.filter(action="unclaimed_transfer.assigned").exists()
        assert arrive(sender_account_number="0123456780", sender_bank_code="058")["replayed"]
        assert broken() == []

    def test_stays_in_suspense_until_the_second_person_confirms(self, people, arrive, number):
        arrive()
        row = UnclaimedTransfer.objects.get()
        address = reverse("admin:virtual_accounts_unclaimedtransfer_write_off", args=[row.pk])

        people[0].post(address, {"reason": "Sent back"})
        people[0].post(reverse("admin:payments_proposal_confirm", args=[proposal_of(row).pk]))

        row.refresh_from_db()
        assert (row.is_open, balance("suspense")) == (True, 40_000)
        assert broken() == []

    def test_is_written_off_by_two_people_and_once(self, people, arrive):
        arrive()
        row = UnclaimedTransfer.objects.get()

        decide(people, row, "write_off", reason="Sent back by the bank")
        again = people[0].post(
            reverse("admin:virtual_accounts_unclaimedtransfer_write_off", args=[row.pk]),
            {"reason": "x"},
            follow=True,
        )

        row.refresh_from_db()
        assert (row.resolution, balance("suspense")) == ("Sent back by the bank", 0)
        # A statement has it, or a break says that none does.
        assert (balance("bank_clearing"), balance("write_offs")) == (-40_000, 40_000)
        assert "already assigned, or written off" in again.content.decode()
        assert AuditEntry.objects.filter(action="unclaimed_transfer.written_off").count() == 1
        assert broken() == []

    def test_is_not_assigned_after_the_number_got_another_holder(self, people, arrive, number, other_api):
        arrive()
        row = UnclaimedTransfer.objects.get()
        people[0].post(
            reverse("admin:virtual_accounts_unclaimedtransfer_assign", args=[row.pk]),
            {"reason": "Theirs", "account_number": number},
        )
        theirs = other_api.post("/api/virtual-accounts", orders.static_account()).json()["id"]
        AccountNumber.objects.filter(pk=number).update(holder=theirs, last_holder=theirs)

        people[1].post(reverse("admin:payments_proposal_confirm", args=[proposal_of(row).pk]))

        row.refresh_from_db()
        assert (row.is_open, balance("suspense"), UnappliedMoney.objects.exists()) == (True, 40_000, False)

    @pytest.mark.parametrize(("account_number", "message"), [("12", "10 digits"), ("0000000000", "ever had")])
    def test_is_not_assigned_to_an_unknown_number(self, people, arrive, account_number, message):
        arrive()
        row = UnclaimedTransfer.objects.get()
        address = reverse("admin:virtual_accounts_unclaimedtransfer_assign", args=[row.pk])

        answer = people[0].post(address, {"reason": "x", "account_number": account_number}, follow=True)

        assert message in answer.content.decode()
        assert not Proposal.objects.exists()

    def test_of_an_impossible_amount_is_kept_outside_and_closed_by_two_people(self, people, arrive, number):
        arrive(amount=2**63 - 1)
        arrive(amount=2**63 - 1, bank_reference="nip-2")
        row = UnclaimedTransfer.objects.first()
        address = reverse("admin:virtual_accounts_unclaimedtransfer_assign", args=[row.pk])

        refused = people[0].post(address, {"reason": "x", "account_number": number}, follow=True)
        decide(people, row, "write_off")

        row.refresh_from_db()
        assert "holds no money of this transfer" in refused.content.decode()
        assert (row.is_open, balance("suspense")) == (False, 0)
        assert broken() == []

    def test_that_contradicts_another_is_not_more_money(self, arrive):
        arrive()

        assert arrive(amount=50_000)["code"] == "duplicate_reference"

        assert UnclaimedTransfer.objects.count() == 2
        assert balance("suspense") == 40_000
        assert broken() == []

    def test_keeps_each_currency_apart(self, arrive):
        arrive()
        arrive(currency="USD", bank_reference="nip-2", amount=7)

        assert (balance("suspense"), balance("suspense", currency="USD")) == (40_000, 7)
        assert broken() == []


class TestUnmatchedReturn:
    def test_is_booked_to_suspense_at_arrival_and_once(self, bounce):
        assert [bounce()["replayed"], bounce()["replayed"]] == [False, True]

        assert (balance("suspense"), balance("bank_clearing")) == (100_000, -100_000)
        assert broken() == []

    def test_is_matched_to_its_payout_by_two_people(self, ada, people, bounce, payout):
        make_endpoint(business=ada.business, events=["reversal"])
        bounce()
        row = PayoutReturn.objects.get()

        decide(people, row, "match", payout=payout.pk)

        row.refresh_from_db()
        payout.refresh_from_db()
        assert (row.applied, row.why, row.transaction, row.resolution) == (
            "reversed",
            "",
            payout,
            "Found the owner",
        )
        assert (payout.status, payout.amount_returned) == ("success", 100_000)
        assert (balance("suspense"), balance("wallet", ada.business)) == (0, -151_000)
        assert [json.loads(sent.body)["event"] for sent in Delivery.objects.all()] == ["payout.reversed"]
        assert broken() == []

    def test_is_written_off_by_two_people(self, people, bounce):
        bounce()
        row = PayoutReturn.objects.get()

        decide(people, row, "write_off")

        row.refresh_from_db()
        assert (row.applied, row.is_open, balance("suspense")) == ("unmatched", False, 0)
        assert balance("write_offs") == 100_000
        assert broken() == []

    @pytest.mark.parametrize(("amount", "message"), [(250_001, "too much"), (2**63 - 1, "too much")])
    def test_is_not_matched_to_a_payout_that_it_does_not_fit(self, people, bounce, payout, amount, message):
        bounce(amount=amount)
        row = PayoutReturn.objects.get()
        address = reverse("admin:payments_payoutreturn_match", args=[row.pk])

        refused = people[0].post(address, {"reason": "x", "payout": payout.pk}, follow=True)

        assert message in refused.content.decode()
        assert not Proposal.objects.exists()
        assert broken() == []

    def test_is_not_matched_if_the_payout_was_returned_meanwhile(self, people, bounce, payout):
        bounce()
        row = PayoutReturn.objects.get()
        people[0].post(
            reverse("admin:payments_payoutreturn_match", args=[row.pk]), {"reason": "x", "payout": payout.pk}
        )
        bounce(payout.pk.hex, amount=50_000, bank_reference="ret-2")

        answer = people[1].post(
            reverse("admin:payments_proposal_confirm", args=[proposal_of(row).pk]), follow=True
        )

        assert "has changed" in answer.content.decode()
        assert (PayoutReturn.objects.get(pk=row.pk).is_open, balance("suspense")) == (True, 100_000)

    def test_is_not_matched_to_what_is_no_payout(self, api, people, bounce):
        bounce()
        api.post("/api/payments", orders.card_payment())
        row = PayoutReturn.objects.get()
        address = reverse("admin:payments_payoutreturn_match", args=[row.pk])

        for payout, message in ((Transaction.objects.get().pk, "No payout has"), ("x", "valid UUID")):
            refused = people[0].post(address, {"reason": "x", "payout": payout}, follow=True)
            assert message in refused.content.decode()

    def test_cannot_be_changed_or_applied_twice(self, people, bounce, payout):
        bounce()
        row = PayoutReturn.objects.get()
        decide(people, row, "match", payout=payout.pk)

        for change in ({"amount": 1}, {"applied": "unmatched", "why": "too_much"}, {"bank_reference": "x"}):
            with pytest.raises(IntegrityError), transaction.atomic():
                PayoutReturn.objects.filter(pk=row.pk).update(**change)


class TestHouseAccount:
    def test_has_no_business_and_gets_none(self, ada, arrive):
        arrive()

        for account in Account.objects.filter(business=None):
            with pytest.raises(IntegrityError), transaction.atomic():
                Account.objects.filter(pk=account.pk).update(business=ada.business)

    def test_of_other_kinds_is_refused(self, ada):
        for business, kind in ((None, "wallet"), (ada.business, "suspense")):
            with pytest.raises(IntegrityError), transaction.atomic():
                Account.objects.create(business=business, kind=kind, currency="NGN")


class TestUpgrade:
    def test_books_the_open_rows_of_the_earlier_release_once(self, payout):
        now = timezone.now()
        common = {"amount": 700, "currency": "NGN"}
        resolved = {"resolution": "Sent back", "resolved_by": "staff@example.com", "resolved_at": now}
        transfer = common | {"account_number": "0123456789", "sender_name": "Bisi", "received_at": now}
        for number, further in enumerate(
            ({"why": "unknown_account"}, {"why": "conflict"}, resolved | {"why": "unknown_account"})
        ):
            UnclaimedTransfer.objects.create(
                pk=uuid4(), bank_reference=f"nip-{number}", **transfer, **further
            )
        returned = {"payout_reference": "order-1", "actor": "bank", "at": now, "why": "unknown_payout"}
        for amount in (300, LARGEST + 1):
            PayoutReturn.objects.create(
                pk=uuid4(),
                bank_reference=f"ret-{amount}",
                applied="unmatched",
                **returned | common | {"amount": amount},
            )
        editor = SimpleNamespace(connection=connection)
        migration = import_module("payments.migrations.0016_book_suspense")

        for _ in range(2):
            migration.book_open_rows(apps, editor)
        for opened in (
            "0006_open_accounts_of_late_charges",
            "0008_open_accounts_of_disputes",
            "0014_open_accounts_of_taxes",
        ):
            import_module(f"ledger.migrations.{opened}").open_accounts(apps, editor)

        assert (balance("suspense"), balance("bank_clearing")) == (1_000, -1_000)
        assert broken() == []

    def test_leaves_rows_of_hosts_of_the_earlier_release_to_their_decision(self, people):
        row = UnclaimedTransfer.objects.create(
            pk=uuid4(), bank_reference="nip-1", amount=700, currency="NGN", account_number="0123456789",
            sender_name="Bisi", received_at=timezone.now(), why="unknown_account",
        )  # fmt: skip

        decide(people, row, "write_off")

        assert Entry.objects.filter(cause=row.pk).count() == 2
        assert broken() == []


@pytest.mark.django_db(transaction=True)
class TestRaces:
    BECAUSE = {"reason": "Found the owner", "actor": STAFF}

    def test_concurrent_notifications_are_booked_once(self, arrive):
        with racers(4) as line:
            answers = line.race(*[arrive] * 4)

        assert sorted(answer["replayed"] for answer in answers) == [False, True, True, True]
        assert balance("suspense") == 40_000
        assert broken() == []

    @pytest.mark.parametrize("turn", range(5))
    def test_only_one_decision_about_a_transfer_is_performed(self, ada, arrive, number, turn):
        arrive()
        row = UnclaimedTransfer.objects.get()
        because = self.BECAUSE | {"now": timezone.now()}

        with racers(2) as line:
            results = line.race(
                lambda: unclaimed_decisions.assign(
                    row.pk, account_number=number, owner=ada.business, **because
                ),
                lambda: unclaimed_decisions.write_off(row.pk, **because),
            )

        assert [isinstance(one, InvalidState) for one in results].count(True) == 1
        assert AuditEntry.objects.filter(target=str(row.pk)).count() == 1
        assert (balance("suspense"), broken()) == (0, [])

    @pytest.mark.parametrize("turn", range(5))
    def test_only_one_decision_about_a_return_is_performed(self, bounce, payout, turn):
        bounce()
        row = PayoutReturn.objects.get()
        because = self.BECAUSE | {"now": timezone.now()}

        with racers(2) as line:
            results = line.race(
                lambda: payout_returns.match(row.pk, payout_id=payout.pk, **because),
                lambda: payout_returns.write_off(row.pk, **because),
            )

        assert [isinstance(one, InvalidState) for one in results].count(True) == 1
        assert AuditEntry.objects.filter(target=str(row.pk)).count() == 1
        assert (balance("suspense"), broken()) == (0, [])
