"""Decisions about unapplied transfers over the API, if the business allows it.

A decision consists of its kind and, for a return, the destination account, but not of its reason. Repeating a decision
is a replay, even if another person made it first, or the bank has refused the return since. Decision 0030.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction as database
from rest_framework import status

from kit.api.errors import Problem
from kit.api.replays import IdempotentResult
from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import Transaction
from payments.services.payouts.controls.makers import Maker
from payments.services.rails import rail_choices
from payments.services.transactions.intents import find_of
from payments.services.transfers import return_destinations, unapplied_decisions
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_queries

State = UnappliedMoney.State


class KeyMayNotDecide(Problem):
    """The business doesn't allow its API keys to decide about unapplied transfers."""

    status_code = status.HTTP_403_FORBIDDEN
    default_code = "key_may_not_decide"
    default_detail = (
        "Your business does not let API keys decide about unapplied transfers. Decide in the dashboard, or ask an "
        "owner of the business to turn on `API keys may decide about unapplied transfers` under Settings."
    )


def require_permission(business: Business) -> None:
    """Check the business's setting in the database, because authentication caches businesses for a few seconds.

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
    :raises KeyMayNotDecide: the business doesn't allow keys to decide
    :raises NotOpen: it was already returned
    """
    money = _lock(business, unapplied_id)
    if money.state == State.CREDITED:
        return IdempotentResult(money, is_replay=True)
    _require_open(money)
    unapplied_decisions.credit_locked(money, reason=reason, actor=actor, now=now)
    return IdempotentResult(money, is_replay=False)


def return_to_sender(
    *,
    business: Business,
    unapplied_id: UUID,
    reason: str,
    destination: Mapping[str, str] | None,
    maker: Maker,
    actor: Actor,
    now: datetime,
) -> IdempotentResult[UnappliedMoney]:
    """Return an unapplied transfer by a payout to its sender, or to `destination` if the sender is unknown.

    :raises UnappliedMoney.DoesNotExist: the business has no such transfer
    :raises KeyMayNotDecide: the business doesn't allow keys to decide
    :raises NotOpen: it was already credited, or returned to another account
    :raises ValidationError: the destination is missing, or isn't allowed because the sender is known
    :raises OtherCurrency: the bank of the account uses another currency
    :raises RailUnavailable: no bank is available for payouts; nothing was stored
    :raises PayoutsFrozen: staff have frozen the payouts of the business; nothing was stored
    :raises BeneficiaryBlocked: the account in `destination` is blocked; nothing was stored
    """
    transfer = unapplied_queries.of(business).get(pk=unapplied_id).transfer
    bank = rail_choices.attempt(
        lambda: rail_choices.bank_for_return(business, transfer)
    )  # before locking rows
    with database.atomic():
        money = _lock(business, unapplied_id)
        return_destinations.refuse_beside_sender(money.transfer, destination)
        if money.reference and _is_same_return(money, destination):
            return IdempotentResult(money, is_replay=True)
        if money.state == State.RETURNED:
            raise unapplied_decisions.NotOpen(
                "This money was already returned to another account.", differs=["destination"]
            )
        _require_open(money)
        opened = unapplied_decisions.return_locked(
            money,
            named=destination,
            bank=bank,
            reason=reason,
            actor=actor,
            now=now,
            maker=maker,
        )
    opened.send()
    return IdempotentResult(money, is_replay=False)


def _lock(business: Business, unapplied_id: UUID) -> UnappliedMoney:
    """Return the business's unapplied money, locked until the transaction ends.

    :raises UnappliedMoney.DoesNotExist: the business has no such money
    :raises KeyMayNotDecide: the setting was turned off in the meantime
    """
    money = unapplied_queries.lock(unapplied_id, owner=business)
    if not money.business.keys_decide_unapplied:
        raise KeyMayNotDecide
    return money


def _require_open(money: UnappliedMoney) -> None:
    if not money.is_open:
        raise unapplied_decisions.NotOpen(f"This money was already {money.state}.")


def _is_same_return(money: UnappliedMoney, destination: Mapping[str, str] | None) -> bool:
    """Return whether the money was returned to this account. None matches any account."""
    payout = find_of(money.business, money.reference)
    return destination is None or (payout is not None and _is_to(payout, destination))


def _is_to(payout: Transaction, destination: Mapping[str, str]) -> bool:
    named = (destination["name"], destination["account_number"], destination["bank_code"])
    return named == (payout.customer_name, payout.account_number, payout.bank_code)
