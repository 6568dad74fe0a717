"""Breaks that people match: lines that were split, merged or taken back."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from cash.models import Break, Match
from ledger.models import Account
from payments.models import Proposal
from payments.services.reconciliation import breaks
from payments.services.transfers.incoming import Notice, receive_notification
from tests.bank_statements import bank_account, csv_statement, import_statement
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.settling import today

pytestmark = pytest.mark.django_db

ADD = "/admin/cash/match/add/"


@pytest.fixture
def split(tmp_path):
    """Return the account of a transfer of 70,000 that the bank booked in two lines."""
    receive_notification(
        Notice(
            bank_reference="NIP-1",
            account_number="0000000000",
            amount=70_000,
            currency="NGN",
            sender_name="Ada",
        )
    )
    account, day = bank_account(receives=["hosting_bank"]), today()
    import_statement(tmp_path, csv_statement((day, 60_000, "NIP-1"), (day, 10_000, "X2"), (day, 1, "X3")))
    return account


def ids(*amounts):
    return ", ".join(str(Break.objects.get(bank_amount=amount, ended_at=None).pk) for amount in amounts)


def test_second_person_confirms_a_match_of_two_lines_with_one_transfer(ones, split, settings):
    settings.FOUR_EYES = True
    first, second = ones
    first.post(ADD, {"breaks": ids(60_000, 10_000), "reason": "Split by the bank"})
    assert not Match.objects.exists()

    second.post(f"/admin/payments/proposal/{Proposal.objects.get().pk}/confirm/")

    match = Match.objects.get()
    assert (match.reason, match.lines.count(), match.items.get().amount) == ("Split by the bank", 2, 70_000)
    assert list(Break.objects.filter(ended_at=None).values_list("bank_amount", flat=True)) == [1]
    assert Account.objects.get(kind="bank").balance == -170_000
    breaks.update(split, now=timezone.now())
    assert Match.objects.count() == 1


def test_form_is_filled_in_from_breaks_that_were_chosen_in_the_list(ones, split):
    wanted = ids(60_000, 10_000)
    chosen = {"action": "match_chosen", "_selected_action": wanted.split(", ")}

    form = ones[0].post("/admin/cash/break/", chosen, follow=True)

    assert ">Match breaks</button>" in ones[0].get("/admin/cash/break/").content.decode()
    assert form.redirect_chain[0][0].startswith(ADD)
    assert f'value="{wanted}"' in form.content.decode()


def test_list_offers_no_match_without_the_permission(db, split):
    person = UserFactory(is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename="view_break"))
    browser = signed_in(person, client=Client())

    assert "Match breaks" not in browser.get("/admin/cash/break/").content.decode()


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ((60_000, 1), "The bank&#x27;s lines are NGN 600.01, but the ledger expects NGN 700.00."),
        ((1,), "The bank&#x27;s lines are NGN 0.01, but the ledger expects NGN 0.00."),
    ],
)
def test_other_sums_are_refused(ones, split, settings, chosen, why):
    settings.FOUR_EYES = False

    answer = ones[0].post(ADD, {"breaks": ids(*chosen), "reason": "x"})

    assert why in answer.content.decode()
    assert not Match.objects.exists()


@pytest.mark.parametrize("entered", ["99999", "one", "1;2"])
def test_breaks_that_are_none_are_refused(ones, split, settings, entered):
    settings.FOUR_EYES = False

    ones[0].post(ADD, {"breaks": entered, "reason": "x"})

    assert not Match.objects.exists()


def test_break_that_ended_meanwhile_is_not_matched(ones, split, settings):
    settings.FOUR_EYES = True
    first, second = ones
    first.post(ADD, {"breaks": ids(60_000, 10_000), "reason": "Split by the bank"})
    breaks.match_breaks(
        list(Break.objects.filter(bank_amount__gt=1).values_list("pk", flat=True)),
        reason="Before",
        actor=breaks.Actor(name="other"),
        now=timezone.now(),
    )

    answer = second.post(f"/admin/payments/proposal/{Proposal.objects.get().pk}/confirm/", follow=True)

    assert "One of these breaks has ended" in answer.content.decode()
    assert Match.objects.count() == 1


def test_difference_is_a_cost(ones, split, settings):
    settings.FOUR_EYES = True
    first, second = ones
    first.post(
        ADD, {"breaks": ids(60_000, 10_000, 1), "costs": "transfer", "reason": "The bank's correction"}
    )

    second.post(f"/admin/payments/proposal/{Proposal.objects.get().pk}/confirm/")

    assert Match.objects.get().items.get(kind="cost").amount == 1
    assert Account.objects.get(kind="costs", name="transfer").balance == 1
    assert not Break.objects.filter(ended_at=None).exists()


def test_cost_without_a_difference_is_refused(ones, split, settings):
    settings.FOUR_EYES = False

    ones[0].post(ADD, {"breaks": ids(60_000, 10_000), "costs": "transfer", "reason": "x"})

    assert not Match.objects.exists()
