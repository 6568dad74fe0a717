"""Find the payment of a reported case: by our own id, by RRN and amount, then by the acquirer's identifier.

RRNs are reused: a payment of which less was captured than is disputed is skipped, and the next identifier decides.
"""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import QuerySet

from disputes.models import DisputeReport
from disputes.services.reports.reports import ReportedCase
from kit.money.money import money
from merchants.models import Business
from payments.models import Transaction
from payments.services.rails.declared_accounts import same_as

Why = DisputeReport.Why
TOGETHER = 3  # candidates read: more than one is enough to know


class Unmatched(Exception):
    """No single payment can be found for the case, or the case contradicts what is known."""

    def __init__(self, why: DisputeReport.Why, detail: str = "") -> None:
        super().__init__(detail)
        self.why, self.detail = why, detail


def find_payment(reported: ReportedCase) -> UUID:
    """Return the id of the payment of a case.

    :raises Unmatched: none or several payments fit, or the amount is more than was captured
    """
    too_small: list[Transaction] = []
    for found in _candidates(reported):
        fitting = [payment for payment in found if reported.amount <= payment.amount_captured]
        if len(fitting) == 1:
            return fitting[0].pk
        if fitting:
            raise Unmatched(Why.SEVERAL_PAYMENTS, f"{len(fitting)} payments have this number.")
        too_small += found
    if too_small:
        raise Unmatched(
            Why.AMOUNT_TOO_LARGE, f"{money(too_small[0].amount_captured, reported.currency)} was captured."
        )
    raise Unmatched(Why.NO_PAYMENT, "No payment of this account has this number.")


def _candidates(reported: ReportedCase) -> Iterator[list[Transaction]]:
    """Return the payments with each of the identifiers, the most certain one first."""
    payments = Transaction.objects.filter(
        method=Transaction.Method.CARD,
        request_type=Transaction.RequestType.PAYMENT,
        status=Transaction.Status.SUCCESS,
        connector=reported.connector,
        account__in=same_as(reported.connector, reported.account),
        currency=reported.currency,
    )
    queries = (
        _with_id(payments, reported),
        _with_rrn(payments, reported.rrn),
        _with_identifier(payments, reported.acquirer_reference),
    )
    return (list(query[:TOGETHER]) for query in queries if query is not None)


def _with_id(payments: QuerySet[Transaction], reported: ReportedCase) -> QuerySet[Transaction] | None:
    """Return the payment with our id. A second charge with it at the provider is another payment, if both have a name."""
    if reported.payment is None:
        return None
    names = {"", reported.acquirer_payment}
    found = payments.filter(pk=reported.payment)
    return found.filter(acquirer_reference__in=names) if reported.acquirer_payment else found


def _with_rrn(payments: QuerySet[Transaction], rrn: str) -> QuerySet[Transaction] | None:
    """Return the payments with an RRN. The index is on the business and the STAN, which our RRNs end with."""
    if not rrn:
        return None
    businesses = Business.objects.order_by().values("pk")
    return payments.filter(
        business__in=businesses, system_trace_audit_number=rrn[-6:], retrieval_reference_number=rrn
    )


def _with_identifier(payments: QuerySet[Transaction], identifier: str) -> QuerySet[Transaction] | None:
    return payments.filter(acquirer_transaction_id=identifier) if identifier else None
