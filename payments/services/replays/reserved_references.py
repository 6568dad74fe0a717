"""Refuse requests with the reference of a payout that a batch has, or will send."""

from kit.api.replays import DuplicateReference
from kit.db.prepared_statements import Lookup
from merchants.models import Business
from payments.models import ReservedReference

TAKEN = "This reference belongs to a payout of a batch."
_BY_REFERENCE = Lookup(ReservedReference, "business", "reference")


def require_free(business: Business, reference: str | None) -> None:
    """Check that no payout of a batch has a reference.

    :raises DuplicateReference: one has
    """
    if reference is not None and _BY_REFERENCE.find(business.pk, reference) is not None:
        raise DuplicateReference(TAKEN)
