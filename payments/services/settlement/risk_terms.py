"""Find the risk terms of a business, and agree new ones."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database

from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import RiskTerms

TERMS = ("currency", "reserve_basis_points", "reserve_days", "reserve_fixed", "negative_limit")


def current(business_id: UUID, currency: str) -> RiskTerms | None:
    """Return the terms that apply now."""
    agreed = RiskTerms.objects.filter(business=business_id, currency=currency)
    return agreed.order_by("-id").first()


def fixed_of(business_id: UUID, currency: str) -> int:
    """Return the fixed amount that is kept in reserve, in minor units."""
    terms = current(business_id, currency)
    return terms.reserve_fixed if terms else 0


def shown(terms: RiskTerms | None) -> dict[str, Any]:
    """Return terms as the audit trail has them."""
    return {name: getattr(terms, name) for name in TERMS} if terms else {}


@database.atomic
def agree(terms: RiskTerms, *, actor: Actor, now: datetime, reason: str) -> None:
    """Apply new terms from now on. What is held keeps its date."""
    before = current(terms.business_id, terms.currency)
    terms.valid_from, terms.agreed_by = now, actor.name
    terms.full_clean(exclude=["id"])
    terms.save(force_insert=True)
    audit.record(
        action="risk_terms.agreed",
        actor=actor,
        business=terms.business,
        target=terms.currency,
        before=shown(before),
        after=shown(terms) | {"reason": reason},
        now=now,
    )
