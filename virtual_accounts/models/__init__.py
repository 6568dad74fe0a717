"""Accounts, their numbers, sessions that expect a payment, and incoming transfers."""

from virtual_accounts.models.accounts import VirtualAccount, VirtualAccountQuerySet
from virtual_accounts.models.messages import ProviderMessage
from virtual_accounts.models.numbers import AccountNumber, NumberSeries
from virtual_accounts.models.sessions import Session, SessionEnded, SessionQuerySet
from virtual_accounts.models.transfers import (
    AWAITS_APPROVAL,
    SENDER_ACCOUNT,
    SENDER_BANK,
    UNKNOWN_SENDER,
    Transfer,
    UnappliedMoney,
    UnappliedMoneyQuerySet,
)
from virtual_accounts.models.unclaimed import UnclaimedTransfer

__all__ = [
    "AWAITS_APPROVAL",
    "SENDER_ACCOUNT",
    "SENDER_BANK",
    "UNKNOWN_SENDER",
    "AccountNumber",
    "NumberSeries",
    "ProviderMessage",
    "Session",
    "SessionEnded",
    "SessionQuerySet",
    "Transfer",
    "UnappliedMoney",
    "UnappliedMoneyQuerySet",
    "UnclaimedTransfer",
    "VirtualAccount",
    "VirtualAccountQuerySet",
]
