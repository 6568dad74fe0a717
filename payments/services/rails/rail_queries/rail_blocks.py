"""Blocks of accounts at banks that refuse orders for a fault of ours, such as a lack of balance or a refused key.

The refused orders stay pending; a refused card payment fails (`rails.blocked_acquirers`). While an account is blocked,
nothing is sent there: new orders get 503, and queries don't send anything again. Once a minute one order goes out as a
probe: the one that was refused or, if that one has its outcome by now, another pending one or a new one. The first order
that is accepted ends the block, and staff can end it. Decision 0086.
"""

from datetime import datetime, timedelta
from threading import Lock
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from cachetools import TTLCache, cached
from django.db import transaction as database
from django.db.models import QuerySet

from kit.db.prepared_statements import insert_if_absent
from kit.time.time_ordered_ids import new_id
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import CardOperation, RailBlock, Transaction
from payments.rails import ConnectorUnavailable
from payments.rails.protocol import CardAcquirer, CardCapabilities, PayoutBank, RailAnswer, RailBlocked
from payments.services.rails.rail_queries.query_leases import ACQUIRER, BANK, Lane, Unanswered, lane_of
from payments.services.rails.rail_queries.rail_outages import bring_forward

log = structlog.get_logger("sluice.rails")

PROBE_INTERVAL = timedelta(minutes=1)
PROBES = 10  # orders that are queried to find one that the bank doesn't have
CACHED_FOR = 5.0  # seconds


class Order(NamedTuple):
    """What decides whether a block holds an order back. The amount is in minor units."""

    rail: str
    connector: str
    account: str
    currency: str
    amount: int


def order_of(subject: Unanswered) -> Order:
    """Return what is known of an order. Captures, voids and refunds to cards go where their payment went."""
    if not isinstance(subject, CardOperation):
        rail, connector = lane_of(subject)
        return Order(rail, connector, subject.account, subject.currency, subject.amount)
    sent_to = subject if subject.is_transfer_refund else subject.transaction
    rail, connector = lane_of(subject)
    return Order(rail, connector, sent_to.account, subject.transaction.currency, subject.amount)


@cached(TTLCache(maxsize=1, ttl=CACHED_FOR), lock=Lock())
def cached_blocks() -> list[RailBlock]:
    """Return all blocks, as read within the last seconds."""
    return list(RailBlock.objects.order_by("pk"))


def record(blocked: RailBlocked, *, about: Unanswered, now: datetime) -> None:
    """Store that an account refused an order. That of a bank is sent again as the probe.

    At an acquirer, a new order is the probe: card numbers aren't kept to send anything again with.
    """
    if blocked.amount is not None:
        _end_if_probed_by(about, now=now)
    probe = about.pk if lane_of(about).rail == BANK else None
    _store(blocked, order_of(about), probe=probe, now=now)


def follow(answer: RailAnswer, *, about: Unanswered, now: datetime) -> None:
    """Begin or end a block by the answer about an order."""
    if answer.blocked_reason:
        _store(RailBlocked(answer.blocked_reason), order_of(about), probe=None, now=now)
    elif answer.is_accepted:
        for block in _holding(order_of(about)):
            _end(block, now=now)
    elif any(block.order_id == about.pk for block in cached_blocks()):
        # The bank has it, so it isn't sent again and can't be the probe.
        RailBlock.objects.filter(order_id=about.pk).update(order_id=None)
        cached_blocks.cache_clear()


def _store(blocked: RailBlocked, order: Order, *, probe: UUID | None, now: datetime) -> None:
    new = RailBlock(
        id=new_id(now),
        rail=order.rail,
        connector=order.connector,
        account=order.account,
        currency=order.currency if blocked.amount is not None else "",
        amount=blocked.amount,
        reason=blocked.reason[:255],
        order_id=probe,
        since=now,
        probed_at=now,
    )
    if insert_if_absent(new):
        log.error("rail blocked", account=new.account, reason=new.reason, amount=new.amount)
    else:
        _change(new)
    cached_blocks.cache_clear()


@database.atomic
def _change(new: RailBlock) -> None:
    """Give a block its newest reason and, if there is, a smaller refused amount or another order to probe with."""
    known = RailBlock.objects.select_for_update().filter(
        rail=new.rail, connector=new.connector, account=new.account, currency=new.currency
    )
    for block in known:
        block.reason = new.reason
        if block.amount is not None and new.amount is not None and new.amount < block.amount:
            block.amount, block.order_id = new.amount, new.order_id
        elif not _is_unanswered(block.order_id):
            block.order_id = new.order_id
        block.save(update_fields=["reason", "amount", "order_id"])


def _end_if_probed_by(subject: Unanswered, *, now: datetime) -> None:
    """End the block of everything whose probe is now refused for its amount: the earlier fault is repaired."""
    for block in _holding(order_of(subject)):
        if block.amount is None and _is_probe(block, subject.pk):
            _end(block, now=now)


@database.atomic
def lift(block_id: UUID, *, reason: str, actor: Actor, now: datetime) -> RailBlock | None:
    """End a block, as staff decide. Returns None if it has ended.

    If the fault is still there, the first refused order blocks the account again.
    """
    block = RailBlock.objects.select_for_update().filter(pk=block_id).first()
    if block is None:
        return None
    _end(block, now=now)
    audit.record(
        action="rail.unblocked",
        actor=actor,
        business=None,
        target=block.account[:100],
        before={"reason": block.reason, "amount": block.amount},
        after={"reason": reason},
        now=now,
    )
    return block


@database.atomic
def _end(block: RailBlock, *, now: datetime) -> None:
    """Delete a block, and make what waits for it due."""
    cached_blocks.cache_clear()
    ended, _ = RailBlock.objects.filter(pk=block.pk).delete()
    if not ended:
        return  # another process was first
    log.info("rail no longer blocked", account=block.account, reason=block.reason)
    for waiting in _waiting_for(block):
        bring_forward(waiting, now=now)
    database.on_commit(cached_blocks.cache_clear)


def require_open(bank: CardAcquirer | PayoutBank, *, currency: str, amount: int, now: datetime) -> None:
    """Check that a bank takes a new order of an amount in minor units.

    :raises ConnectorUnavailable: it is blocked
    """
    order = Order(_rail_of(bank), bank.name, bank.account, currency, amount)
    if not _may_pass(order, order_id=None, now=now):
        raise ConnectorUnavailable


def is_blocked(rail: CardAcquirer | PayoutBank) -> bool:
    """Return whether a bank or acquirer takes no new order of any amount."""
    return bool(_blocks_of_all(rail))


def awaits_probe(rail: CardAcquirer | PayoutBank, *, now: datetime) -> bool:
    """Return whether a bank or acquirer takes no new order at the moment, not even as a probe."""
    return any(block.probed_at > now - PROBE_INTERVAL for block in _blocks_of_all(rail))


def _blocks_of_all(rail: CardAcquirer | PayoutBank) -> list[RailBlock]:
    account = (_rail_of(rail), rail.name, rail.account, None)
    return [
        block
        for block in cached_blocks()
        if (block.rail, block.connector, block.account, block.amount) == account
    ]


def _rail_of(connector: CardAcquirer | PayoutBank) -> str:
    return ACQUIRER if isinstance(connector.capabilities, CardCapabilities) else BANK


def may_send(subject: Unanswered, *, now: datetime) -> bool:
    """Return whether an order that the bank doesn't have can be sent: its account isn't blocked, or it is the probe."""
    return _may_pass(order_of(subject), order_id=subject.pk, now=now)


def bring_probes_forward(*, now: datetime) -> None:
    """Make the next query due of orders whose turn it is to be sent again as a probe."""
    if not cached_blocks():
        return
    for block in RailBlock.objects.filter(probed_at__lte=now - PROBE_INTERVAL):
        for waiting in _waiting_for(block):
            bring_forward(_probes_of(block, waiting), now=now)


def _waiting_for(block: RailBlock) -> tuple[QuerySet[Any], QuerySet[Any]]:
    """Return what may wait for a blocked account. Operations on card payments are queried on their own schedule."""
    lane = Lane(block.rail, block.connector)
    return lane.transactions.filter(account=block.account), lane.operations.filter(account=block.account)


def _probes_of(block: RailBlock, waiting: QuerySet[Any]) -> QuerySet[Any]:
    """Return the order that was refused or, if it has its outcome by now, a few others that may wait for the account."""
    if _is_unanswered(block.order_id):
        return waiting.filter(pk=block.order_id)
    first = list(waiting.order_by("next_query_at").values_list("pk", flat=True)[:PROBES])
    found: QuerySet[Any] = waiting.model._default_manager.filter(pk__in=first)
    return found


def _holding(order: Order) -> list[RailBlock]:
    """Return the blocks that hold an order back, one of everything before one by amount."""
    found = [
        block
        for block in cached_blocks()
        if (block.rail, block.connector, block.account) == (order.rail, order.connector, order.account)
        and block.holds(currency=order.currency, amount=order.amount)
    ]
    return sorted(found, key=lambda block: block.currency)


def _may_pass(order: Order, *, order_id: UUID | None, now: datetime) -> bool:
    """Return whether no block holds an order back, or it is the probe of the first one."""
    blocks = _holding(order)
    return not blocks or (_is_probe(blocks[0], order_id) and _take_probe(blocks[0], now=now))


def _is_probe(block: RailBlock, order_id: UUID | None) -> bool:
    """Return whether an order can be the probe: the one that was refused or, if it has its outcome by now, any other."""
    return block.order_id == order_id or not _is_unanswered(block.order_id)


def _is_unanswered(order_id: UUID | None) -> bool:
    return order_id is not None and any(
        model._default_manager.unanswered().filter(pk=order_id).exists()
        for model in (Transaction, CardOperation)
    )


def _take_probe(block: RailBlock, *, now: datetime) -> bool:
    """Return whether this process may send the probe. Only one process may in each interval.

    Anything may be sent if the block has ended, and this process doesn't have it from the database yet.
    """
    stored = RailBlock.objects.filter(pk=block.pk)
    return stored.filter(probed_at__lte=now - PROBE_INTERVAL).update(probed_at=now) > 0 or not stored.exists()
