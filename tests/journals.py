"""Journals as staff would book them."""

from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from ledger.services import Kind
from merchants.models import Business
from payments.models import Journal, Transaction
from payments.services.journals.drafts import Draft, Leg
from payments.services.staff import staff_actions
from payments.services.staff.actions import journal_actions
from tests.wallets import STAFF


@transaction.atomic
def adjusted(business: Business | None, amount: int, *, currency: str = "NGN", **changes: object) -> Journal:
    """Book a correction of a wallet by write-offs, about any transaction of the business."""
    legs = (Leg(Kind.WALLET, "", amount), Leg(Kind.WRITE_OFFS, "", -amount))
    values = {
        "id": uuid4(),
        "code": Journal.Code.CORRECTION,
        "text": "Fee charged twice",
        "business": business,
        "currency": currency,
        "legs": legs,
        "transaction": Transaction.objects.filter(business=business).first(),
    }
    action = journal_actions.journal(Draft(**values | changes))
    staff_actions.perform(action, actor=STAFF, now=timezone.now())
    return Journal.objects.get(pk=action.target)


def debited_by_staff(business: Business) -> Journal:
    """Take back what a business owes, which a recovery may do even if the wallet doesn't have it."""
    return adjusted(business, -10_000, code=Journal.Code.RECOVERY)
