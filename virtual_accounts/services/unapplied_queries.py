"""Queries of unapplied money."""

from uuid import UUID

from merchants.models import Business
from virtual_accounts.models import UnappliedMoney, UnappliedMoneyQuerySet


def of(business: Business) -> UnappliedMoneyQuerySet:
    """Return a business's unapplied money, open or decided, newest first, with its transfers."""
    found = UnappliedMoney.objects.filter(business=business)
    return found.select_related("transfer").order_by("-id")


def find(unapplied_id: UUID) -> UnappliedMoney:
    """Return an unapplied transfer with the related rows of its representation."""
    return UnappliedMoney.objects.select_related("transfer").with_payment_reference().get(pk=unapplied_id)


def lock(unapplied_id: UUID, *, owner: Business | None = None) -> UnappliedMoney:
    """Return unapplied money, locked until the transaction ends; with `owner`, only if that business owns it."""
    rows = UnappliedMoney.objects.select_for_update(of=("self",)).select_related("business", "transfer")
    if owner is not None:
        rows = rows.filter(business=owner)
    return rows.get(pk=unapplied_id)
