"""How pages name the statuses of payments, refunds, transfers and settlements. The API's names are the values."""

from typing import Any

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
# Failures with a name of their own, by response code.
FAILURE_NAMES = {"20013": STATUS_NAMES["mismatch"], "20068": STATUS_NAMES["expired"]}


def status_name(transaction: Any) -> str:
    """Return the name of a transaction's status."""
    if transaction.status == "failed" and transaction.response_code in FAILURE_NAMES:
        return FAILURE_NAMES[transaction.response_code]
    return STATUS_NAMES[transaction.status]
