"""Returns of unapplied money that another member has yet to approve."""

from collections.abc import Iterable

from django.db.models import Q

from merchants.models import Business
from payments.models import Transaction
from virtual_accounts.models import UnappliedMoney


def awaits_approval(business: Business) -> Q:
    """Return the condition of unapplied money of a business whose return awaits approval."""
    payouts = Transaction.objects.of(business).filter(
        request_type=Transaction.RequestType.PAYOUT,
        status=Transaction.Status.PENDING,
        awaiting=Transaction.Awaiting.APPROVAL,
    )
    return Q(state=UnappliedMoney.State.RETURNED, reference__in=payouts.values("reference"))


def mark(shown: Iterable[UnappliedMoney]) -> list[UnappliedMoney]:
    """Set `awaits_approval` on money of one business whose return awaits approval, with one query at most."""
    rows = list(shown)
    returned = [each for each in rows if each.state == UnappliedMoney.State.RETURNED]
    if returned:
        awaiting = set(
            Transaction.objects.filter(
                business=returned[0].business_id,
                reference__in=[each.reference for each in returned],
                awaiting=Transaction.Awaiting.APPROVAL,
            ).values_list("reference", flat=True)
        )
        for each in returned:
            each.awaits_approval = each.reference in awaiting
    return rows
