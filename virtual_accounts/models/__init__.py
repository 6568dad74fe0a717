"""Accounts, the numbers they hold, the sessions in which a payment is expected, and the transfers that came."""

from virtual_accounts.models.accounts import VirtualAccount, VirtualAccountQuerySet
from virtual_accounts.models.numbers import AccountNumber, NumberSeries
from virtual_accounts.models.sessions import Session, SessionEnded, SessionQuerySet
from virtual_accounts.models.transfers import Transfer, UnappliedMoney, UnappliedMoneyQuerySet

__all__ = [
    "AccountNumber",
    "NumberSeries",
    "Session",
    "SessionEnded",
    "SessionQuerySet",
    "Transfer",
    "UnappliedMoney",
    "UnappliedMoneyQuerySet",
    "VirtualAccount",
    "VirtualAccountQuerySet",
]
