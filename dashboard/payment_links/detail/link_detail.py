"""The details of a payment link, read with a fixed number of bounded queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.safestring import SafeString

from dashboard.payment_links.checkouts.checkout_rows import CheckoutRow, payers_of
from dashboard.payment_links.detail.funnel import FunnelPeriod, funnel_of
from dashboard.payment_links.sharing import qr_codes
from dashboard.payment_links.sharing.sharing import Sharing, sharing_of
from dashboard.ui.components.related import RelatedObject
from kit.time.time_ordered_ids import earliest_id
from merchants.models import AuditEntry
from payments.models import Checkout, PaymentLink, Transaction
from payments.services.checkouts import checkout_limits
from payments.services.links.link_uses import LONGEST_HOLD

Method = Transaction.Method

WAITING, PAYERS = 3, 5  # the newest of each, so that the page stays small

RESTING = (
    "Many cards were declined within 10 minutes, as happens when stolen cards are tested. Until fewer are declined, "
    "cards and addresses that haven't paid you before can be declined once in 10 minutes. Other cards and transfers work "
    "as usual."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDetail:
    sharing: Sharing
    qr: SafeString
    waiting: Sequence[Transaction]  # the newest transfers that hold a use
    payers: Sequence[CheckoutRow]
    funnel: Sequence[FunnelPeriod]
    related: Sequence[RelatedObject]
    resting_rule: str  # "link" or "business" while new cards rest

    @property
    def resting_text(self) -> str:
        return RESTING

    @property
    def month(self) -> FunnelPeriod:
        return self.funnel[1]


def detail_of(link: PaymentLink, *, now: datetime) -> LinkDetail:
    payers = payers_of(Checkout.objects.filter(link=link).order_by("-id")[:PAYERS], link=link, now=now)
    return LinkDetail(
        sharing=sharing_of(link),
        qr=qr_codes.inline_svg(link.url),
        waiting=list(waiting_at(link, now=now).order_by("-id")[:WAITING]) if link.uses_held else [],
        payers=payers,
        funnel=funnel_of(link, now=now),
        related=list(_related(link, [row.payment for row in payers if row.payment])),
        resting_rule=checkout_limits.resting_rule(link, now=now) if link.accepts(Method.CARD) else "",
    )


def payments_of(link: PaymentLink) -> QuerySet[Transaction]:
    return Transaction.objects.filter(payment_link=link)


def waiting_at(link: PaymentLink, *, now: datetime) -> QuerySet[Transaction]:
    """Return the transfers that payers have yet to send. They are as young as a hold can be."""
    young = payments_of(link).filter(id__gte=earliest_id(now - LONGEST_HOLD))
    return young.filter(awaiting=Transaction.Awaiting.TRANSFER).select_related("session")


def _related(link: PaymentLink, payments: Sequence[Transaction]) -> Iterator[RelatedObject]:
    account = link.account or next((each.session.account for each in payments if each.session), None)
    if account is not None:
        yield RelatedObject(
            icon="building-library",
            name="Virtual account",
            text=account.reference,
            address=reverse("dashboard-virtual-account", args=[account.pk]),
        )
    made = AuditEntry.objects.filter(
        business=link.business, target=link.reference, action="payment_link.created"
    ).first()
    if made is not None:
        yield RelatedObject(
            icon="user-circle" if "@" in made.actor else "key",
            name="Created by",
            text=made.actor,
            address=f"{reverse('dashboard-activity')}?{urlencode({'q': link.reference})}",
        )
