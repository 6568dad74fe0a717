"""The payment link that an address names."""

from __future__ import annotations

from uuid import UUID

from django.shortcuts import get_object_or_404

from dashboard.memberships import Membership
from payments.models import PaymentLink


def own_link(membership: Membership, link_id: UUID) -> PaymentLink:
    """Return a payment link of the business.

    :raises Http404: there is none, or it is another business's
    """
    links = PaymentLink.objects.of(membership.business).select_related("business", "account")
    return get_object_or_404(links, pk=link_id)
