"""Find the connector of a business, and choose another one.

The choices that differ from the settings are few, so each process caches all of them for a few seconds and creating a
transaction needs no extra query.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any, TypeVar
from uuid import UUID

from cachetools import TTLCache, cached
from django.conf import settings
from django.db import transaction as database

from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments import rails
from payments.models import CardOperation, RailChoice, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import CardAcquirer, PayoutBank, Reverses
from payments.services.rails.declared_accounts import sent_to
from virtual_accounts.models import Transfer

C = TypeVar("C")

CACHED_FOR = 5.0  # seconds


@cached(TTLCache(maxsize=1, ttl=CACHED_FOR), lock=Lock())
def cached_choices() -> dict[UUID, RailChoice]:
    """Return the choices by business, as read within the last seconds."""
    return {choice.pk: choice for choice in RailChoice.objects.all()}


def acquirer_for(business: Business) -> CardAcquirer:
    """Return the acquirer for a business's new card payments and card checks.

    :raises RailUnavailable: none is configured, or it is unavailable
    """
    return rails.card_acquirer(_acquirer_name(business.pk))


def configured_acquirer_for(business: Business) -> CardAcquirer:
    """Return that acquirer, whether or not it can be reached.

    :raises RailUnavailable: none is configured
    """
    return rails.configured_acquirer(_acquirer_name(business.pk))


def acquirers_in_use() -> set[str]:
    """Return the names of the acquirers for new card payments of any business."""
    return {settings.CARD_ACQUIRER, *(choice.card_acquirer for choice in cached_choices().values())} - {""}


def acquirer_of(transaction: Transaction) -> CardAcquirer:
    """Return the acquirer that a card transaction was sent to.

    :raises RailUnavailable: it is no longer configured, or unavailable
    """
    return acquirer_finder(transaction)()


def acquirer_finder(transaction: Transaction) -> Callable[[], CardAcquirer]:
    """Return a thread-safe function that finds that acquirer without the database. It may take seconds."""
    name = _acquirer_name(transaction.business_id)
    return partial(rails.card_acquirer, name, sent_to=sent_to(transaction.connector, transaction.account))


def reverses_of(transaction: Transaction) -> Reverses:
    """Return how surely the acquirer of a card transaction reverses it. It needn't be configured any more."""
    chosen = _acquirer_class_of(transaction)
    return Reverses.BY_REFUND if chosen is None else chosen.reverses


def may_charge_twice(transaction: Transaction) -> bool:
    """Return whether the provider of a card transaction may carry out an order twice that was sent twice."""
    return getattr(_acquirer_class_of(transaction), "may_charge_twice", False)


def _acquirer_class_of(transaction: Transaction) -> type[CardAcquirer] | None:
    chosen = rails.acquirer_class(_acquirer_name(transaction.business_id))
    if chosen is None or chosen.name != transaction.connector:
        chosen = rails.acquirer_class(transaction.connector)
    return chosen


def bank_for(business: Business) -> PayoutBank:
    """Return the bank for a business's new payouts.

    :raises RailUnavailable: none is configured, or it is unavailable
    """
    return rails.payout_bank(_bank_name(business.pk))


def configured_bank_for(business: Business) -> PayoutBank:
    """Return that bank, whether or not it can be reached.

    :raises RailUnavailable: none is configured
    """
    return rails.configured_bank(_bank_name(business.pk))


def sends_payouts(business: Business) -> bool:
    """Return whether a business has a bank for payouts, whether or not it can be reached."""
    return bool(_bank_name(business.pk))


def bank_for_return(business: Business, transfer: Transfer | None) -> PayoutBank:
    """Return what sends an incoming transfer back: its provider if that masks the sender, else the business's bank.

    `None`: nothing has arrived yet.

    :raises RailUnavailable: none is configured, or it is unavailable
    """
    if transfer is not None and transfer.provider_account:
        return rails.sender_back(transfer.provider_account)
    return bank_for(business)


def bank_finder(transaction: Transaction | CardOperation) -> Callable[[], PayoutBank]:
    """Return a thread-safe function that finds the bank of a payout or refund, without the database."""
    return partial(
        rails.payout_bank,
        _bank_name(transaction.business_id),
        sent_to=sent_to(transaction.connector, transaction.account),
    )


def columns(made: CardAcquirer | PayoutBank) -> dict[str, Any]:
    """Return the columns that say where an order is sent."""
    return {"connector": made.name, "account": made.account}


def attempt(find: Callable[[], C]) -> C | RailUnavailable:
    """Return a connector, or the error to raise later if the request turns out to need one.

    Some connectors wait for their connection, so call this before locking rows.
    """
    try:
        return find()
    except RailUnavailable as unavailable:
        return unavailable


def require(found: C | RailUnavailable) -> C:
    """Return the connector from `attempt`.

    :raises RailUnavailable: none was found
    """
    if isinstance(found, RailUnavailable):
        raise found
    return found


@database.atomic
def choose(choice: RailChoice, *, actor: Actor, now: datetime, reason: str = "") -> None:
    """Change a business's connectors for its new transactions."""
    before = RailChoice.objects.filter(pk=choice.pk).first()
    choice.full_clean(validate_unique=False)
    choice.save()
    audit.record(
        action="connectors.chosen",
        actor=actor,
        business=choice.business,
        target=str(choice.pk),
        before=shown(before),
        after=shown(choice) | ({"reason": reason} if reason else {}),
        now=now,
    )
    cached_choices.cache_clear()
    database.on_commit(cached_choices.cache_clear)


def _acquirer_name(business_id: UUID) -> str:
    if "cards" in settings.RAILS_NOT_USED:
        return ""
    choice = cached_choices().get(business_id)
    own: str = choice.card_acquirer if choice else ""
    return own or settings.CARD_ACQUIRER


def _bank_name(business_id: UUID) -> str:
    if "payouts" in settings.RAILS_NOT_USED:
        return ""
    choice = cached_choices().get(business_id)
    own: str = choice.payout_bank if choice else ""
    return own or settings.PAYOUT_BANK


def shown(choice: RailChoice | None) -> dict[str, str]:
    """Return a choice as the audit trail has it."""
    if choice is None:
        return {}
    return {"card_acquirer": choice.card_acquirer, "payout_bank": choice.payout_bank}
