"""Decisions about unapplied transfers that merchants make over the API, where their business allows it.

A decision is its kind and, for a return, the account that the money goes to. The reason explains it and is not part
of it: the same decision again is a replay, even if someone else made it first. Decision 0048.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction as database
from rest_framework import status

from kit.api.errors import Problem
from kit.api.idempotency import IdempotentResult
from merchants.audit import Actor
from merchants.models import Business
from payments.models import Transaction
from payments.services import rail_choices
from payments.services.intents import find_of
from payments.services.transfers import return_destinations, unapplied_decisions
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_money

State = UnappliedMoney.State


class KeyMayNotDecide(Problem):
    """The business does not let its API keys decide about unapplied transfers."""

    status_code = status.HTTP_403_FORBIDDEN
    default_code = "key_may_not_decide"
    default_detail = (
        "Your business does not let API keys decide about unapplied transfers. Decide in the dashboard, or ask "
        "your operator to turn the setting on."
    )


def require_permission(business: Business) -> None:
    """Check the business's setting as it is stored now: authentication caches businesses for a few seconds.

    :raises KeyMayNotDecide: the setting is off
    """
    if not Business.objects.filter(pk=business.pk, keys_decide_unapplied=True).exists():
        raise KeyMayNotDecide


@database.atomic
def credit(
    *, business: Business, unapplied_id: UUID, reason: str, actor: Actor, now: datetime
) -> IdempotentResult[UnappliedMoney]:
    """Credit an unapplied transfer to the business's wallet.

    :raises UnappliedMoney.DoesNotExist: the business has no such transfer
    :raises KeyMayNotDecide: the business does not let keys decide
    :raises NotOpen: it was returned before
    """
    money = _lock(business, unapplied_id)
    if money.state == State.CREDITED:
        return IdempotentResult(money, is_replay=True)
    _require_open(money)
    unapplied_decisions.credit_locked(money, reason=reason, actor=actor, now=now)
    return IdempotentResult(money, is_replay=False)


def give_back(
    *,
    business: Business,
    unapplied_id: UUID,
    reason: str,
    destination: Mapping[str, str] | None,
    actor: Actor,
    now: datetime,
) -> IdempotentResult[UnappliedMoney]:
    """Return an unapplied transfer to its sender by a payout, or to `destination` where the sender is unknown.

    :raises UnappliedMoney.DoesNotExist: the business has no such transfer
    :raises KeyMayNotDecide: the business does not let keys decide
    :raises NotOpen: it was credited before, or returned to another account
    :raises ValidationError: the destination is missing, or the sender is known
    :raises OtherCurrency: the bank of the account takes another currency
    :raises RailUnavailable: no bank is available for payouts; nothing was stored
    """
    bank = rail_choices.attempt(lambda: rail_choices.bank_for(business))  # not while rows are locked
    with database.atomic():
        money = _lock(business, unapplied_id)
        return_destinations.refuse_beside_sender(money.transfer, destination)
        if money.state == State.RETURNED and _is_same_return(money, destination):
            return IdempotentResult(money, is_replay=True)
        _require_open(money)
        opened = unapplied_decisions.return_locked(
            money,
            named=destination,
            bank=bank,
            reason=reason,
            actor=actor,
            now=now,
        )
    opened.send()
    return IdempotentResult(money, is_replay=False)


def _lock(business: Business, unapplied_id: UUID) -> UnappliedMoney:
    """Return the business's money, locked until the transaction ends.

    :raises UnappliedMoney.DoesNotExist: it is another business's, or there is none
    :raises KeyMayNotDecide: the setting was turned off in the meantime
    """
    money = unapplied_money.lock(unapplied_id, owner=business)
    if not money.business.keys_decide_unapplied:
        raise KeyMayNotDecide
    return money


def _require_open(money: UnappliedMoney) -> None:
    if not money.is_open:
        raise unapplied_decisions.NotOpen


def _is_same_return(money: UnappliedMoney, destination: Mapping[str, str] | None) -> bool:
    """Return whether a return goes to the account that the money was returned to. No account matches any."""
    payout = find_of(money.business, money.reference)
    return destination is None or (payout is not None and _is_to(payout, destination))


def _is_to(payout: Transaction, destination: Mapping[str, str]) -> bool:
    named = (destination["name"], destination["account_number"], destination["bank_code"])
    return named == (payout.customer_name, payout.account_number, payout.bank_code)
