"""Bank accounts of ours, changed by two people in the administration."""

import json

import pytest
from django.urls import reverse

from cash.models import BankAccount
from merchants.models import AuditEntry
from payments.models import Proposal
from tests.bank_statements import MAPPING, bank_account, csv_statement, import_statement

pytestmark = pytest.mark.django_db

FORM = {
    "name": "gtbank", "kind": "bank", "bank": "GTBank", "number": "0118550902", "currency": "NGN", "pays_out": ["sandbox"],
    "receives": ["hosting_bank"], "csv_mapping": json.dumps(MAPPING), "reason": "Opened today",
}  # fmt: skip


def add(person, **changes):
    return person.post(reverse("admin:cash_bankaccount_add"), FORM | changes)


def test_second_person_confirms_a_new_account(ones, settings):
    settings.FOUR_EYES = True
    first, second = ones
    add(first)
    proposal = Proposal.objects.get()
    assert not BankAccount.objects.exists()

    second.post(reverse("admin:payments_proposal_confirm", args=[proposal.pk]))

    account = BankAccount.objects.get()
    assert (account.pays_out, account.receives, account.csv_mapping) == (
        ["sandbox"],
        ["hosting_bank"],
        MAPPING,
    )
    assert AuditEntry.objects.filter(action="bank_account.changed", target="gtbank").exists()


def test_change_keeps_name_and_currency(ones, settings):
    settings.FOUR_EYES = False
    account = bank_account()

    address = reverse("admin:cash_bankaccount_change", args=[account.pk])
    ones[0].post(address, FORM | {"number": "0118550999", "currency": "USD", "name": "wema"})

    account.refresh_from_db()
    assert (account.name, account.currency, account.number) == ("gtbank", "NGN", "0118550999")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"csv_mapping": '{"date": "Day"}'}, "Name either amount, or debit and credit."),
        ({"csv_mapping": '{"day": "Day"}'}, "Unknown: day."),
        (
            {"csv_mapping": '{"date": "Day", "amount": "Sum", "decimal": []}'},
            "decimal must be a point or a comma.",
        ),
        ({"csv_mapping": '["Day"]'}, "Enter a JSON object."),
        ({"name": "GT Bank"}, "Use lowercase letters, digits and hyphens."),
        ({"pays_out": ["bank of nowhere"]}, "is not one of the available choices"),
        ({"number": "0118550999"}, "wema is already the account of sandbox."),
        ({"connector_account": "paystack:463433"}, "Leave this empty for a bank account."),
        ({"kind": "provider"}, "Enter the connector&#x27;s account, such as paystack:463433."),
    ],
)
def test_invalid_form_says_why(ones, settings, changes, why):
    settings.FOUR_EYES = False
    bank_account(name="wema", number="8200114063", pays_out=["sandbox"])

    answer = add(ones[0], **changes)

    assert why in answer.content.decode()
    assert BankAccount.objects.count() == 1


@pytest.mark.parametrize(
    ("named", "count"), [("sandbox", 1), ("iso8583:2044/ADIRE01", 1), ("paystack", 0), ("", 0)]
)
def test_account_at_an_acquirer_names_one_as_transactions_do(ones, settings, named, count):
    settings.FOUR_EYES = False

    add(ones[0], kind="acquirer", connector_account=named, pays_out=[], receives=["sandbox"])

    assert BankAccount.objects.count() == count


def test_statement_pages_show_balances_and_lines(ones, tmp_path):
    bank_account()
    import_statement(tmp_path, csv_statement(("2026-01-05", 50_000, "GTB1", "Ada")))

    statements = ones[0].get(reverse("admin:cash_statement_changelist")).content.decode()
    lines = ones[0].get(reverse("admin:cash_statementline_changelist")).content.decode()

    assert "NGN 1,000.00" in statements
    assert "NGN 1,500.00" in statements
    assert "NGN 500.00" in lines
    assert "GTB1" in lines
