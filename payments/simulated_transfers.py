"""Simulated transfers: what the sandbox's bank would tell, and what is answered about it."""

import uuid
from typing import Any

from rest_framework import status

from kit.api.errors import Problem
from virtual_accounts.models import Transfer
from virtual_accounts.services.incoming_transfers import Notice


class SandboxOnly(Problem):
    """Only the sandbox does this."""

    status_code = status.HTTP_403_FORBIDDEN
    default_code = "sandbox_only"
    default_detail = "Only the sandbox does this."


SENDER = "Sandbox Sender"  # where the request names none

_WHY_UNAPPLIED = {
    Transfer.Reason.LATE: "the payment is over",
    Transfer.Reason.SECOND: "the payment has received its transfer",
    Transfer.Reason.INACTIVE: "the account is inactive",
    Transfer.Reason.OTHER_CURRENCY: "the account takes another currency",
}


def simulated_notice(told: dict[str, Any]) -> Notice:
    """Return the transfer that a request for a simulation asks for."""
    return Notice(
        bank_reference=f"sim_{uuid.uuid4().hex}",
        account_number=told["account_number"],
        amount=told["amount"],
        sender_name=told.get("sender_name") or SENDER,
        sender_account_number=told.get("sender_account_number", ""),
        sender_bank_code=told.get("sender_bank_code", ""),
    )


def simulation_message(transfer: Transfer) -> str:
    """Say what came of a simulated transfer."""
    arrived = f"Payment simulated: {transfer.amount} {transfer.currency} arrived at {transfer.number_id}"
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
