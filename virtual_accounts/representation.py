"""Representation of virtual accounts and sessions in API responses and webhooks."""

from typing import Any

from kit.timestamps import timestamp
from virtual_accounts.models import Session, VirtualAccount


def represent(account: VirtualAccount) -> dict[str, Any]:
    """Return the virtual account response of the interface document."""
    shown: dict[str, Any] = {
        "id": str(account.pk),
        "currency": account.currency,
        "status": account.status,
        "reference": account.reference,
        "customer": {
            "name": account.holder_name,
            "account_number": account.current_number,
            "bank_code": account.bank_code,
            "email": account.email,
            "reference": account.reference,
        },
    }
    if account.metadata is not None:
        shown["metadata"] = account.metadata
    return shown


def represent_session(session: Session) -> dict[str, str]:
    """Return the `virtual_account_details`. Amounts are text here; empty until the transfer arrives."""
    received = session.amount_received
    return {
        "account_number": session.number_id,
        "bank": session.bank_name,
        "account_name": session.account_name,
        "expected_amount": str(session.expected_amount),
        "amount_received": "" if received is None else str(received),
        "expires_at": timestamp(session.expires_at),
        "status": session.status,
    }
