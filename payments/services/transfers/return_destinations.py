"""Bank accounts that money is returned to: the sender's as its bank named it, or the one that a request names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rest_framework import status
from rest_framework.exceptions import ValidationError

from kit import banks
from kit.api.errors import Problem
from kit.api.field_errors import NOT_ALLOWED_HERE, error
from virtual_accounts.models import Transfer

DESTINATION_REQUIRED = (
    "This field is required: the bank did not name an account of the sender that payouts can reach."
)
ACCOUNT_NUMBER = re.compile(r"[0-9]{10}")


class OtherCurrency(Problem):
    """The money cannot be paid out to this bank, which takes another currency."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "unsupported_currency"


@dataclass(frozen=True, slots=True)
class Destination:
    """A bank account that payouts can reach."""

    name: str
    account_number: str
    bank_code: str


def sender_of(transfer: Transfer) -> Destination | None:
    """Return the account that a transfer came from; None unless the bank named one that payouts can reach."""
    bank = banks.find(transfer.sender_bank_code)
    if bank is None or not ACCOUNT_NUMBER.fullmatch(transfer.sender_account_number):
        return None
    return Destination(transfer.sender_name, transfer.sender_account_number, bank.code)


def is_payable(named: Mapping[str, str]) -> bool:
    """Return whether payouts can reach the named account."""
    is_number = ACCOUNT_NUMBER.fullmatch(named["account_number"]) is not None
    return is_number and banks.find(named["bank_code"]) is not None


def choose(transfer: Transfer, named: Mapping[str, str] | None) -> Destination:
    """Return where a transfer's money goes back to; `named` is the `destination` of the request, if it has one.

    :raises ValidationError: a destination is missing, or is named although the sender is known
    """
    refuse_beside_sender(transfer, named)
    sender = sender_of(transfer)
    if sender is not None:
        return sender
    if named is None:
        raise ValidationError({"destination": error(DESTINATION_REQUIRED, "destination_required")})
    return Destination(**named)


def refuse_beside_sender(transfer: Transfer, named: Mapping[str, str] | None) -> None:
    """Refuse a destination where the bank named the sender's account.

    :raises ValidationError: the code is `not_allowed_here`
    """
    if named is not None and sender_of(transfer) is not None:
        message = f"{NOT_ALLOWED_HERE} The money goes back to the sender's account."
        raise ValidationError({"destination": error(message, "not_allowed_here")})


def refuse_without_sender(named: Mapping[str, str] | None) -> None:
    """Refuse a destination where the money did not come from a bank account.

    :raises ValidationError: the code is `not_allowed_here`
    """
    if named is not None:
        raise ValidationError({"destination": error(NOT_ALLOWED_HERE, "not_allowed_here")})


def require_currency(destination: Destination, currency: str, *, advice: str = "") -> None:
    """Refuse a destination whose bank does not take the currency of the money.

    :raises OtherCurrency: it takes another one
    """
    bank = banks.find(destination.bank_code)
    if bank is not None and bank.currency != currency:
        raise OtherCurrency(
            f"{bank.name} takes payouts in {bank.currency} only, and this money is in {currency}. {advice}".rstrip()
        )
