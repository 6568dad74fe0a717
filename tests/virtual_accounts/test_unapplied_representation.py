"""Representation of an unapplied transfer in the API and in events."""

import uuid

import pytest
from django.utils import timezone

from payments.representation.payments import represent_unapplied_transfer
from payments.services.transfers import incoming
from payments.services.transfers import unapplied_decisions as decisions
from payments.services.transfers.incoming import Notice
from tests.wallets import STAFF
from virtual_accounts.models import UNKNOWN_SENDER, UnappliedMoney
from virtual_accounts.services import unapplied_queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def paid(dynamic, pay_into, simulate):
    """A payment whose session has received its transfer."""
    payment = pay_into(dynamic)
    simulate(payment["virtual_account_details"]["account_number"], 50_000)
    return payment


def arrive(payment, **changes):
    notice = {
        "bank_reference": uuid.uuid4().hex,
        "account_number": payment["virtual_account_details"]["account_number"],
        "amount": 40_000,
        "sender_name": "Bisi Ojo",
    } | changes
    return incoming.receive(Notice(**notice)).resource


def shown():
    return represent_unapplied_transfer(unapplied_queries.find(UnappliedMoney.objects.get().pk))


def test_second_transfer_names_the_payment_that_was_paid(paid):
    transfer = arrive(paid, sender_account_number="0123456789", sender_bank_code="058")

    answer = shown()

    assert answer == {
        "id": str(UnappliedMoney.objects.get().pk),
        "account_number": transfer.number_id,
        "amount": 40_000,
        "currency": "NGN",
        "received_at": answer["received_at"],
        "sender": {"name": "Bisi Ojo", "account_number": "0123456789", "bank_code": "058"},
        "why": "second",
        "payment_reference": paid["reference"],
        "state": "open",
    }
    assert answer["received_at"].endswith("Z")


def test_mismatch_names_the_payment_that_failed(dynamic, pay_into):
    payment = pay_into(dynamic)

    arrive(payment)

    assert (shown()["why"], shown()["payment_reference"]) == ("mismatch", payment["reference"])


def test_other_currency_names_no_payment(dynamic, pay_into):
    arrive(pay_into(dynamic), currency="USD")

    assert shown()["why"] == "other_currency"
    assert "payment_reference" not in shown()


def test_unknown_sender_is_omitted(paid):
    arrive(paid, sender_name=UNKNOWN_SENDER)

    assert shown()["sender"] == {}


def test_decision_shows_reason_and_return(paid):
    arrive(paid, sender_account_number="0123456789", sender_bank_code="058")
    money = UnappliedMoney.objects.get()

    decisions.return_to_sender(money.pk, reason="Paid twice", actor=STAFF, now=timezone.now())

    answer = shown()
    assert (answer["state"], answer["reason"]) == ("returned", "Paid twice")
    assert answer["return_reference"] == f"return_{money.pk.hex}"
    assert answer["decided_at"].endswith("Z")
