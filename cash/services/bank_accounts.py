"""Bank accounts of ours: what is shown and compared of them, and how they are stored."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

from cash.models import BankAccount

VALUES = (
    "name",
    "kind",
    "bank",
    "number",
    "connector_account",
    "currency",
    "pays_out",
    "receives",
    "csv_mapping",
)
KEPT = ("name", "kind", "connector_account", "currency")  # of a stored one
TIED = ("pays_out", "receives")


def shown(account: BankAccount | None) -> dict[str, Any]:
    return {} if account is None else {name: getattr(account, name) for name in VALUES}


def stored(name: str) -> BankAccount | None:
    return BankAccount.objects.select_for_update().filter(name=name).first()


def conflict(account: BankAccount) -> str:
    """Return why an account can't be stored beside the others: each connector uses one account per currency.

    What it receives can be reported by an account of its own, and arrive in one at a bank.
    """
    for other in BankAccount.objects.filter(currency=account.currency).exclude(name=account.name):
        if other.number == account.number:
            return f"{other.name} has this number."
        if not account.is_at_bank and other.connector_account == account.connector_account:
            return f"{other.name} is already the account of {account.connector_account}."
        for side in TIED:
            if side == "receives" and other.is_at_bank != account.is_at_bank:
                continue
            twice = sorted(set(getattr(account, side)) & set(getattr(other, side)))
            if twice:
                return f"{other.name} is already the account of {', '.join(twice)}."
    return ""


def store(values: Mapping[str, Any], *, now: datetime) -> BankAccount:
    """Store a new account, or the new values of one."""
    account = stored(values["name"]) or BankAccount(id=uuid4(), created_at=now)
    for name in VALUES:
        if account._state.adding or name not in KEPT:
            setattr(account, name, values[name])
    account.full_clean(validate_unique=False)
    account.save()
    return account
