"""Risk terms and released batches with a reserve."""

from typing import Any

from django.utils import timezone

from merchants.models import Business
from payments.models import RiskTerms, SettlementBatch
from tests.settling import STAFF, decide, settle
from tests.transactions import captured_payment


def agree(business: Business, *, currency: str = "NGN", **terms: Any) -> RiskTerms:
    """Agree risk terms as an earlier decision of staff did."""
    agreed: RiskTerms = RiskTerms.objects.create(
        business=business, currency=currency, valid_from=timezone.now(), agreed_by=STAFF.name, **terms
    )
    return agreed


def released(business: Business, amount: int = 100_000) -> SettlementBatch:
    """Release a batch of one payment."""
    captured_payment(business=business, now=timezone.now(), amount=amount)
    (batch,) = settle()
    return decide(batch, "approve", "release")
