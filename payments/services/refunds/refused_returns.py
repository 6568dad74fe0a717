"""Returns of unapplied money that the bank refused or sent back: the money is unapplied and open again."""

import re
from collections.abc import Iterable
from uuid import UUID

from payments.models import PayoutReturn, Transaction
from virtual_accounts.models import UnappliedMoney

# Merchants can't use this prefix.
_REFERENCE = re.compile(r"return_(?P<money>[0-9a-f]{32})(?:_(?P<number>[0-9]+))?")


def next_reference(money: UnappliedMoney) -> str:
    """Return the reference of the next payout to the sender: `return_ID`, after refused ones `return_ID_2` and so on."""
    first = f"return_{money.pk.hex}"
    if refused := _REFERENCE.fullmatch(money.reference):
        return f"{first}_{int(refused['number'] or 1) + 1}"
    return first


def money_of(reference: str) -> UUID | None:
    """Return the id of the unapplied money that a payout with this reference returns."""
    named = _REFERENCE.fullmatch(reference)
    return UUID(named["money"]) if named else None


def is_refused_return(payout: Transaction) -> bool:
    """Return whether this payout has failed and was to return unapplied money. Other transactions cost no query."""
    return payout.status == Transaction.Status.FAILED and is_return(payout)


def is_return(payout: Transaction) -> bool:
    """Return whether unapplied money is returned by this payout. Other references cost no query."""
    named = money_of(payout.reference)
    if named is None:
        return False
    returned = UnappliedMoney.objects.filter(
        pk=named,
        business=payout.business_id,
        reference=payout.reference,
        state=UnappliedMoney.State.RETURNED,
    )
    return returned.exists()


def reopened_by(payout: Transaction, returns: Iterable[PayoutReturn]) -> UUID | None:
    """Return the id of the unapplied money to which a payout went back that failed or has these returns; None for others.

    What the earlier release credited to the wallet instead, such as parts, is not open again.
    """
    named = money_of(payout.reference)
    whole = (PayoutReturn.Applied.REVERSED, payout.amount)
    came_back = payout.status == Transaction.Status.FAILED or any(
        (each.applied, each.amount) == whole for each in returns
    )
    return named if named and came_back and not is_return(payout) else None


def reopen(payout: Transaction, *, reason: str) -> UnappliedMoney:
    """Open the money of a return again, with the bank's reason, in the transaction that books the money back."""
    money = UnappliedMoney.objects.select_for_update().get(
        pk=str(money_of(payout.reference)), business=payout.business_id
    )
    money.reopen(reason=reason)
    return money
