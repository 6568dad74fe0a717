"""Request serializers and filters of saved beneficiaries."""

from collections.abc import Mapping
from typing import Any

from kit.api.fields.field_errors import Errors
from kit.api.fields.strict_fields import (
    AccountNumber,
    Currency,
    Email,
    FreeText,
    Name,
    Reference,
    RequestSerializer,
)
from kit.api.filters import CreatedFrom, CreatedTo
from payments.api.serializers import BankCode, wrong_payout_currency

NAME = "The holder's name. Compared with the one that the bank has."


class SavedBeneficiarySerializer(RequestSerializer):
    """Save a beneficiary."""

    reference = Reference(
        help_text="Your unique reference of the beneficiary, and its idempotency key.",
        example="kano-dye-works",
    )
    name = Name(help_text=NAME, example="Kano Dye Works")
    account_number = AccountNumber()
    bank_code = BankCode()
    currency = Currency(
        required=False, help_text="ISO 4217. Default: the bank's, which is the only one allowed."
    )
    email = Email(required=False)
    note = FreeText(required=False, help_text="A note of yours.", example="Pays for indigo")

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        return wrong_payout_currency(data.get("bank_code"), data.get("currency"))


class BeneficiaryChangeSerializer(RequestSerializer):
    """Change a beneficiary. Save a new one for another account."""

    name = Name(required=False, help_text=NAME, example="Kano Dye Works")
    email = Email(required=False, allow_null=True, help_text="E-mail address; `null` removes it.")
    note = FreeText(
        required=False,
        allow_null=True,
        help_text="A note of yours; `null` removes it.",
        example="Pays for indigo",
    )
    elsewhere = frozenset({"reference", "account_number", "bank_code", "currency"})


class BeneficiaryFilterSerializer(RequestSerializer):
    """Filters of the list of beneficiaries."""

    account_number = AccountNumber(required=False)
    bank_code = BankCode(required=False)
    created_from = CreatedFrom()
    created_to = CreatedTo()
