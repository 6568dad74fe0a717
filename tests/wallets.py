"""Wallets with a balance, credited by a top-up as staff would make it."""

from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from merchants.models import Business
from merchants.people.audit import Actor
from payments.services.journals import booking, drafts

STAFF = Actor(name="staff@example.com")


@transaction.atomic
def fill_wallet(
    business: Business,
    amount: int,
    *,
    currency: str = "NGN",
    reason: str = "Opening balance",
    at: datetime | None = None,
    bank_account: str = "",
) -> UUID:
    """Top up a wallet. Return the id of the journal."""
    draft = drafts.top_up(
        business=business,
        currency=currency,
        amount=amount,
        cause=uuid4(),
        reason=reason,
        bank_account=bank_account,
    )
    booking.lock(draft)
    booking.book(draft, actor=STAFF, now=at or timezone.now())
    return draft.id
