"""Journals as staff would book them."""

from datetime import datetime
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from ledger.services import Kind
from merchants.models import Business
from payments.models import Journal, Transaction
from payments.services.journals.drafts import Draft, Leg
from payments.services.staff import staff_actions
from payments.services.staff.actions import journal_actions
from tests.bank_statements import bank_account
from tests.wallets import STAFF


@transaction.atomic
def adjusted(
    business: Business | None,
    amount: int,
    *,
    currency: str = "NGN",
    at: datetime | None = None,
    **changes: object,
) -> Journal:
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
    staff_actions.perform(action, actor=STAFF, now=at or timezone.now())
    return Journal.objects.get(pk=action.target)


def debited_by_staff(business: Business) -> Journal:
    """Take back what a business owes, which a recovery may do even if the wallet doesn't have it."""
    return adjusted(business, -10_000, code=Journal.Code.RECOVERY)


def remitted(business: Business, amount: int, *, at: datetime | None = None) -> Journal:
    """Pay taxes of a business to the authority, from a bank account of ours."""
    account = bank_account(pays_out=[])
    legs = (Leg(Kind.TAXES_PAYABLE, "", -amount), Leg(Kind.BANK, account.name, amount))
    return adjusted(business, 0, legs=legs, at=at)
