"""Returns of unapplied money that another member has yet to approve."""

from collections.abc import Iterable

from payments.models import Transaction
from virtual_accounts.models import UnappliedMoney


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
