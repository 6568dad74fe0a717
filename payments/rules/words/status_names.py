"""How pages name the statuses of payments, refunds, transfers and settlements. The API's names are the values."""

import re
from typing import Any

from kit.money.money import money

STATUS_NAMES = {
    "pending": "Pending",
    "success": "Succeeded",
    "failed": "Failed",
    "mismatch": "Mismatch",
    "expired": "Expired",
    "partially_refunded": "Partly refunded",
    "refunded": "Refunded",
    "refund_failed": "Refund failed",
}
# A batch collects payments until it is closed, and then waits for approval. Merchants wait in both cases.
SETTLEMENT_NAMES = {
    "initiated": "Open",
    "pending": "Open",
    "approved": "Approved",
    "released": "Released",
    "rejected": "Rejected",
}
# The status of a payment link is derived.
LINK_NAMES = {"active": "Active", "used_up": "Used up", "inactive": "Inactive", "expired": "Expired"}
# An unapplied transfer waits for a decision.
UNAPPLIED_NAMES = {"open": "Needs review", "returned": "Returned", "credited": "Credited"}
# Which statuses its states look like. A return that another member has yet to approve is `approval` on pages.
UNAPPLIED_STYLES = {"open": "needs_review", "returned": "reversed", "credited": "done", "approval": "pending"}
# Why a transfer is unapplied, and the same in lists, by `virtual_accounts.models.Transfer.Reason`.
UNAPPLIED_REASONS = {
    "mismatch": "The amount didn't match the payment, which failed.",
    "late": "The payment had ended before the transfer arrived.",
    "second": "The payment had already been paid.",
    "inactive": "The account was deactivated before the transfer arrived.",
    "other_currency": "The account accepts another currency.",
    "assigned": "It was sent to an unknown account number, and was assigned to this account later.",
}
UNAPPLIED_SHORT_REASONS = {
    "mismatch": "Wrong amount",
    "late": "Too late",
    "second": "Already paid",
    "inactive": "Account deactivated",
    "other_currency": "Wrong currency",
    "assigned": "Assigned later",
}
# Failures with a name of their own, by response code.
FAILURE_NAMES = {"20013": STATUS_NAMES["mismatch"], "20068": STATUS_NAMES["expired"]}
# The API's summaries that pages say in other words.
OUTCOME_NAMES = {
    "Declined - Not sufficient funds": "Insufficient funds",
    "Declined - Lost Card": "Lost card",
    "Declined - Stolen Card, Pick up": "Stolen card",
    "Declined - 3DS authentication failed": "3-D Secure failed",
}


_WITH_AMOUNTS = re.compile(
    r"(?:Payment of|Amount mismatch: expected) \d+ [A-Z]{3}(?: but received \d+ [A-Z]{3}\b)?"
)
_AMOUNT = re.compile(r"(\d+) ([A-Z]{3})")


def with_money(summary: str) -> str:
    """Return a summary with its amounts as people read them. What follows them may be a name, which is kept.

    >>> with_money("Amount mismatch: expected 50000 NGN but received 40000 NGN")
    'Amount mismatch: expected NGN 500.00 but received NGN 400.00'
    >>> with_money("Payment of 50000 NGN received from 7 NGN Ltd"), with_money("Payment completed")
    ('Payment of NGN 500.00 received from 7 NGN Ltd', 'Payment completed')
    """
    found = _WITH_AMOUNTS.match(summary)
    if found is None:
        return summary
    named = _AMOUNT.sub(lambda amount: money(int(amount[1]), amount[2]), found[0])
    return f"{named}{summary[found.end() :]}"


def outcome_name(summary: str, *, subject: str = "Payment") -> str:
    """Return what pages say for a summary of the API, which calls payouts and refunds by bank "Payment" too.

    >>> outcome_name("Declined - Not sufficient funds"), outcome_name("Declined - Expired card")
    ('Insufficient funds', 'Expired card')
    >>> outcome_name("Payment failed", subject="Payout")
    'Payout failed'
    >>> outcome_name("Amount mismatch: expected 50000 NGN but received another amount")
    'Amount mismatch: expected NGN 500.00 but received another amount'
    """
    if summary.startswith("Payment "):
        return with_money(summary).replace("Payment", subject, 1)
    if summary.startswith("Amount mismatch"):
        return with_money(summary)
    return OUTCOME_NAMES.get(summary) or summary.removeprefix("Declined - ")


def status_name(transaction: Any) -> str:
    """Return the name of a transaction's status."""
    if transaction.status == "failed" and transaction.response_code in FAILURE_NAMES:
        return FAILURE_NAMES[transaction.response_code]
    return STATUS_NAMES[transaction.status]


def settlement_name(state: str) -> str:
    """Return the name of a settlement's state, or of a payment's settle status."""
    return SETTLEMENT_NAMES[state]


def unapplied_name(state: str) -> str:
    """Return the name of an unapplied transfer's state, or of `approval`."""
    return "Awaiting approval" if state == "approval" else UNAPPLIED_NAMES[state]
