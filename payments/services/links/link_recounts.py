"""Recount the uses of payment links from their payments, after an upgrade or a manual change of the database."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction as database
from django.db.models import Count, Q, Sum

from merchants.models import Business
from payments.models import PaymentLink, Transaction
from payments.services.links import links

Status = Transaction.Status
AT_ONCE = 1_000  # links that are listed by one query


@dataclass(frozen=True, slots=True)
class Recount:
    """A link's counts as they were and as its payments say. The amount is minor units."""

    link: PaymentLink
    held: int
    paid: int
    amount: int

    @property
    def is_different(self) -> bool:
        link = self.link
        return (link.uses_held, link.uses_paid, link.amount_paid) != (self.held, self.paid, self.amount)

    @property
    def is_over_limit(self) -> bool:
        """Return whether the link has more payments than its limit, so that the database refuses their number."""
        return self.link.max_uses is not None and self.held + self.paid > self.link.max_uses


def recount(*, business: Business | None = None, is_dry_run: bool = False) -> Iterator[Recount]:
    """Recount each link under its lock, and yield those whose counts were wrong.

    One with more payments than its limit is yielded and not changed: its limit must be raised first.
    """
    of_business = PaymentLink.objects.all() if business is None else PaymentLink.objects.of(business)
    for link_id in of_business.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=AT_ONCE):
        with database.atomic():
            link = links.lock(link_id)
            counted = _count(link)
            if counted.is_different and not counted.is_over_limit and not is_dry_run:
                PaymentLink.objects.filter(pk=link_id).update(
                    uses_held=counted.held, uses_paid=counted.paid, amount_paid=counted.amount
                )
        if counted.is_different:
            yield counted


def _count(link: PaymentLink) -> Recount:
    succeeded = Q(status=Status.SUCCESS)
    counts = Transaction.objects.filter(payment_link=link).aggregate(
        held=Count("pk", filter=Q(status=Status.PENDING)),
        paid=Count("pk", filter=succeeded),
        amount=Sum("amount", filter=succeeded, default=0),
    )
    return Recount(link, **counts)
