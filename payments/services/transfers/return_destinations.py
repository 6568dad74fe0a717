"""Bank accounts to return money to: the sender's account from the bank's notification, or the one in the request."""

from collections.abc import Mapping
from dataclasses import dataclass

from rest_framework import status
from rest_framework.exceptions import ValidationError

from kit import banks
from kit.api.errors import Problem
from kit.api.fields.field_errors import NOT_ALLOWED_HERE, error
from virtual_accounts.models import Transfer

DESTINATION_REQUIRED = (
    "This field is required: the bank did not name an account of the sender that payouts can reach."
)


class OtherCurrency(Problem):
    """The bank uses another currency than the money."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "unsupported_currency"


@dataclass(frozen=True, slots=True)
class Destination:
    """A bank account that payouts can reach."""

    name: str
    account_number: str
    bank_code: str


def sender_of(transfer: Transfer) -> Destination | None:
    """Return the sender's account, or None if the bank sent none that payouts can reach.

    A provider that masks the account sends the money back to it itself. Number and bank are empty then.
    """
    if transfer.provider_account:
        return Destination(transfer.sender_name, "", "")
    bank = banks.find(transfer.sender_bank_code)
    if bank is None or not banks.ACCOUNT_NUMBER.fullmatch(transfer.sender_account_number):
        return None
    return Destination(transfer.sender_name, transfer.sender_account_number, bank.code)


def is_payable(named: Mapping[str, str]) -> bool:
    """Return whether payouts can reach the named account."""
    is_number = banks.ACCOUNT_NUMBER.fullmatch(named["account_number"]) is not None
    return is_number and banks.find(named["bank_code"]) is not None


def choose(transfer: Transfer, named: Mapping[str, str] | None) -> Destination:
    """Return the account to return a transfer to. `named` is the `destination` of the request, if any.

    :raises ValidationError: the destination is missing, or isn't allowed because the sender is known
    """
    refuse_beside_sender(transfer, named)
    sender = sender_of(transfer)
    if sender is not None:
        return sender
    if named is None:
        raise ValidationError({"destination": error(DESTINATION_REQUIRED, "destination_required")})
    return Destination(**named)


def refuse_beside_sender(transfer: Transfer, named: Mapping[str, str] | None) -> None:
    """Reject a destination if the sender's account is known.

    :raises ValidationError: the code is `not_allowed_here`
    """
    if named is not None and sender_of(transfer) is not None:
        message = f"{NOT_ALLOWED_HERE} The money goes back to the sender's account."
        raise ValidationError({"destination": error(message, "not_allowed_here")})


def refuse_without_sender(named: Mapping[str, str] | None) -> None:
    """Reject a destination if the money didn't come from a bank account.

    :raises ValidationError: the code is `not_allowed_here`
    """
    if named is not None:
        raise ValidationError({"destination": error(NOT_ALLOWED_HERE, "not_allowed_here")})


def require_currency(destination: Destination, currency: str, *, advice: str = "") -> None:
    """Check that the destination's bank uses the currency of the money.

    :raises OtherCurrency: it uses another currency
    """
    bank = banks.find(destination.bank_code)
    if bank is not None and bank.currency != currency:
        raise OtherCurrency(
            f"{bank.name} takes payouts in {bank.currency} only, and this money is in {currency}. {advice}".rstrip()
        )
