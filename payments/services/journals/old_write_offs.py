"""Write-offs of earlier releases, which left money in bank clearing. A journal about the entry of one books it to write-offs.

Today a write-off credits write-offs, and a statement's line, or a journal about its break, takes the money out of clearing.
"""

from uuid import UUID

from django.db.models import Sum

from ledger.models import Entry, Posting
from ledger.services import Kind
from payments.models import Journal, PayoutReturn
from virtual_accounts.models import Transfer, UnclaimedTransfer


def left_in_clearing(entry: Entry) -> int:
    """Return what an old write-off left in bank clearing and no journal has taken out, in minor units. 0: it is none.

    Journals hold the lock of the house's bank clearing, so the caller who holds it reads what stays true.
    """
    if entry.kind != Entry.Kind.SUSPENSE_OUT or not _was_written_off(entry.cause):
        return 0
    left = Posting.objects.filter(entry=entry, account__kind=Kind.BANK_CLEARING).aggregate(sum=Sum("amount"))
    mended = Journal.objects.filter(entry=entry, legs__kind=Kind.BANK_CLEARING, reversal=None).exists()
    return 0 if mended else left["sum"] or 0


def _was_written_off(cause: UUID) -> bool:
    """Return whether money left suspense without an owner. Else its owner's entry took it out of clearing again."""
    returns = PayoutReturn.objects.filter(
        pk=cause, applied=PayoutReturn.Applied.UNMATCHED, resolved_at__isnull=False
    )
    if returns.exists():
        return True
    unclaimed = UnclaimedTransfer.objects.filter(pk=cause, resolved_at__isnull=False)
    assigned = Transfer.objects.filter(
        bank_reference__in=unclaimed.values("bank_reference"), reason=Transfer.Reason.ASSIGNED
    )
    return unclaimed.exists() and not assigned.exists()
