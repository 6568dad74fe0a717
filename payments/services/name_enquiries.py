"""Whose account is this? Asked before money is sent there."""

from merchants.models import Business
from payments import banks
from payments.rails import RailUnavailable
from payments.rails.protocol import AnswerLost
from payments.services.connectors import bank_for


class NoSuchAccount(Exception):
    """The bank says that nobody has this account."""


class NobodyCanTell(Exception):
    """The bank could not be asked, or did not answer. It is not known whether there is such an account."""


def account_name(*, business: Business, bank_code: str, account_number: str) -> str:
    """Return the name that an account is held in. Makes a call to the bank: not for database transactions.

    :raises NoSuchAccount: there is none, or no bank with that code
    :raises NobodyCanTell: no answer; whoever asks may go on without one
    """
    bank = banks.find(bank_code)
    if bank is None:
        raise NoSuchAccount
    try:
        name = bank_for(business).account_name(account_number=account_number, nip_code=bank.nip_code)
    except (AnswerLost, RailUnavailable):
        raise NobodyCanTell from None
    if name is None:
        raise NoSuchAccount
    return name
