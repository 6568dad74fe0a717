"""Taxes that staff remitted to the authority, by journals. For the business nothing changes: it was charged them before.

A journal that gives a tax back to the business is a correction instead.
"""

from django.db.models import Exists, OuterRef, Q

from ledger.models import Account, Entry, Posting

Kind = Account.Kind
OF_BUSINESS = (
    Kind.WALLET,
    Kind.PENDING_SETTLEMENT,
    Kind.UNAPPLIED,
)  # its own money, as far as journals change it


def is_remittance() -> Q:
    """Return the condition for queries of postings: taxes that left without anything for the business."""
    own = Posting.objects.filter(entry=OuterRef("entry"), account__kind__in=OF_BUSINESS)
    return Q(account__kind=Kind.TAXES_PAYABLE, entry__kind=Entry.Kind.JOURNAL) & ~Q(Exists(own))
