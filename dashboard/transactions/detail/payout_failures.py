"""Why a payout failed and what helps, for its page."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse

from payments.models import PayoutApproval, Transaction
from payments.rules.outcomes import CANCELLED, DO_NOT_RETRY, NOT_SUFFICIENT_FUNDS, PAYOUT_REJECTED

TAKEN_BACK = "The amount and the fee are back in your balance."
UNAPPLIED_AGAIN = "The amount went back to its unapplied transfer, not to your balance."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What happened to a payout that didn't arrive, and the page where it is paid again or decided about."""

    cause: str
    text: str
    address: str
    action: str = "Pay again"


def failure_of(payout: Transaction, *, reopened: UUID | None = None) -> Failure | None:
    """Return why a payout failed or came back; None if it did neither. `reopened`: the unapplied money that it went back to."""
    if payout.request_type != Transaction.RequestType.PAYOUT:
        return None
    is_returned = payout.amount > 0 and payout.amount_returned == payout.amount
    if payout.status != Transaction.Status.FAILED and not is_returned:
        return None
    cause, text = _returned(payout) if is_returned else _failed(payout)
    if reopened is not None:
        return Failure(
            cause=cause,
            text=UNAPPLIED_AGAIN,
            address=reverse("dashboard-unapplied-item", args=[reopened]),
            action="View transfer",
        )
    return Failure(
        cause=cause, text=text, address=f"{reverse('dashboard-new-payout')}?instead_of={payout.pk}"
    )


def _returned(payout: Transaction) -> tuple[str, str]:
    return (
        f"{payout.bank_name} returned the payout",
        "The amount is back in your balance. Ask for another account to pay again.",
    )


def _failed(payout: Transaction) -> tuple[str, str]:
    if payout.response_code == NOT_SUFFICIENT_FUNDS.code and not payout.full_gateway_code:
        return (
            "Your balance didn't cover the payout and its fee",
            "Nothing was taken. Pay again once it does.",
        )
    if payout.response_code == PAYOUT_REJECTED.code:
        return _rejected(payout), f"Nothing was sent. {TAKEN_BACK}"
    if payout.response_code == CANCELLED.code:
        return "Cancelled before it was sent", TAKEN_BACK
    is_final = payout.gateway_recommendation == DO_NOT_RETRY
    helps = (
        "Check the account with the beneficiary before you pay again."
        if is_final
        else "Paying again later can help."
    )
    return f"{payout.bank_name} refused the payout: {payout.reason_text}", f"{TAKEN_BACK} {helps}"


def _rejected(payout: Transaction) -> str:
    approval: PayoutApproval | None = getattr(payout, "approval", None)
    if approval is None:
        return "Your server rejected the payout"
    if approval.state == PayoutApproval.State.REJECTED and approval.decided_by is not None:
        return f"Rejected by {approval.decided_by.email}: “{approval.reason}”"
    if approval.state == PayoutApproval.State.EXPIRED:
        return "Nobody approved the payout within 72 hours"
    return "Your server rejected the payout"
