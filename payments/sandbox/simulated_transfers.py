"""Simulated bank transfers of the sandbox, and the messages about their results."""

import uuid
from typing import Any

from django.conf import settings
from rest_framework import status

from kit.api.errors import Problem
from kit.money.money import money
from virtual_accounts.models import Transfer
from virtual_accounts.services.transfer_matching import Notice


class SandboxOnly(Problem):
    """The endpoint is available in the sandbox only."""

    status_code = status.HTTP_403_FORBIDDEN
    default_code = "sandbox_only"
    default_detail = "This is available in the sandbox only."


def require_sandbox() -> None:
    """Refuse the request in production.

    :raises SandboxOnly: this is no sandbox
    """
    if not settings.SANDBOX:
        raise SandboxOnly


SENDER = "Sandbox Sender"  # if the request has no sender

_WHY_UNAPPLIED = {
    Transfer.Reason.LATE: "the payment is over",
    Transfer.Reason.SECOND: "the payment has received its transfer",
    Transfer.Reason.INACTIVE: "the account is inactive",
    Transfer.Reason.OTHER_CURRENCY: "the account takes another currency",
}


def simulated_notice(request: dict[str, Any]) -> Notice:
    """Return the notification of a simulated transfer."""
    return Notice(
        bank_reference=f"sim_{uuid.uuid4().hex}",
        account_number=request["account_number"],
        amount=request["amount"],
        sender_name=request.get("sender_name") or SENDER,
        sender_account_number=request.get("sender_account_number", ""),
        sender_bank_code=request.get("sender_bank_code", ""),
    )


def simulation_message(transfer: Transfer) -> str:
    """Return the message about a simulated transfer's result."""
    amount = money(transfer.amount, transfer.currency)
    arrived = f"Payment simulated: {amount} arrived at {transfer.number_id}"
    if transfer.applied == Transfer.Applied.NEW_PAYMENT:
        return f"{arrived} and made a new payment."
    if transfer.applied == Transfer.Applied.SESSION:
        return f"{arrived} and completed its payment."
    if transfer.reason == Transfer.Reason.MISMATCH:
        return (
            f"{arrived}. It is not the expected amount: the payment has failed, and the money is unapplied."
        )
    why = _WHY_UNAPPLIED[Transfer.Reason(transfer.reason)]
    return f"{arrived} and was booked as unapplied money: {why}."
