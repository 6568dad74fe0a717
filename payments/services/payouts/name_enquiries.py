"""Name enquiries: ask a bank for the name of an account's holder before a payout."""

from rest_framework import status

from kit import banks
from kit.api.errors import Problem
from merchants.models import Business
from payments.rails import ConnectorUnavailable
from payments.rails.protocol import AnswerLost
from payments.services.rails.rail_choices import bank_for


class UnknownBeneficiary(Problem):
    """The bank has no account with this number."""

    status_code = status.HTTP_404_NOT_FOUND
    default_code = "unknown_beneficiary"
    default_detail = "The bank has no account with this number."


class Unanswered(ConnectorUnavailable):
    """The bank did not answer a name enquiry in time."""

    default_detail = "The bank did not answer the name enquiry in time. Try again."


def account_name(*, business: Business, bank_code: str, account_number: str, given_name: str = "") -> str:
    """Return the name of an account's holder. Calls the bank, so call it outside a database transaction.

    `given_name`: what the answer will be compared with, if anything.

    :raises UnknownBeneficiary: there is no such account, or no bank with this code
    :raises RailUnavailable: no bank is available, or it did not answer
    """
    bank = banks.find(bank_code)
    if bank is None:
        raise UnknownBeneficiary
    try:
        name = bank_for(business).account_name(
            account_number=account_number, nip_code=bank.nip_code, given_name=given_name
        )
    except AnswerLost:
        raise Unanswered from None
    if name is None:
        raise UnknownBeneficiary
    return name
