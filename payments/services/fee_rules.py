"""Find the fee rule of a business, and agree new ones.

The rules in force are few, so each process caches all of them and creating a transaction needs no extra query.
Another process sees a new rule within CACHED_FOR.
"""

from datetime import datetime
from threading import Lock
from typing import TypeAlias
from uuid import UUID

from cachetools import TTLCache, cached
from django.db import transaction as database
from rest_framework.exceptions import ValidationError

from kit.api.fields.field_errors import error
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import Tariff
from payments.models.transactions.transactions import EXEMPT_FROM_DUTY
from payments.rules.fees import FREE, FeeRule, Flow, Snapshot, default_rule, without_duty

CACHED_FOR = 5.0  # seconds

Key: TypeAlias = tuple[UUID | None, str, str]  # business (None for the default), flow, currency
Rules: TypeAlias = dict[Key, FeeRule | None]  # None where the flow isn't offered in the currency


class NoPrice(ValidationError):
    """The flow isn't offered in the currency. Nothing was stored."""

    def __init__(self, currency: str) -> None:
        self.message = f"This isn't offered in {currency}."
        super().__init__({"currency": error(self.message, "no_price")})


def snapshot(business: Business, flow: Flow, currency: str, *, purpose: str = "") -> Snapshot:
    """Return the rule for a new transaction of this business. Salaries have no stamp duty.

    :raises NoPrice: the flow isn't offered in the currency
    """
    found = _find(business, flow, currency)
    if found is None:
        raise NoPrice(currency)
    return without_duty(found) if purpose in EXEMPT_FROM_DUTY else found


def snapshot_or_free(business: Business, flow: Flow, currency: str) -> Snapshot:
    """Return the rule for money that has arrived, which can't be rejected. Without a rule there is no fee."""
    found = _find(business, flow, currency)
    return FREE.snapshot if found is None else found


def _find(business: Business, flow: Flow, currency: str) -> Snapshot | None:
    rules, snapshots = cached_rules()
    key = (business.pk, flow, currency)
    if key not in snapshots:
        rule = _rule(rules, business, flow, currency)
        snapshots[key] = None if rule is None else rule.snapshot
    return snapshots[key]


@cached(TTLCache(maxsize=1, ttl=CACHED_FOR), lock=Lock())
def cached_rules() -> tuple[Rules, dict[Key, Snapshot | None]]:
    """Return the rules in force and their snapshots, as read within the last seconds."""
    return current_rules(), {}


def current_rules() -> Rules:
    """Return the latest rule of each business, flow and currency, unless it was withdrawn."""
    latest: dict[Key, Tariff] = {}
    for tariff in Tariff.objects.order_by("id"):
        latest[tariff.business_id, tariff.flow, tariff.currency] = tariff
    return {
        key: tariff.rule if tariff.is_offered else None
        for key, tariff in latest.items()
        if not tariff.is_withdrawn
    }


@database.atomic
def agree(tariff: Tariff, *, actor: Actor, now: datetime, reason: str = "") -> None:
    """Apply a new tariff from now on. Existing transactions keep their rule."""
    flow, currency = Flow(tariff.flow), tariff.currency
    before = current_rule(tariff.business, flow, currency)
    tariff.valid_from, tariff.agreed_by = now, actor.name
    tariff.full_clean(exclude=["id"])
    tariff.save(force_insert=True)
    after = shown(current_rule(tariff.business, flow, currency))
    audit.record(
        action="tariff.withdrawn" if tariff.is_withdrawn else "tariff.agreed",
        actor=actor,
        business=tariff.business,
        target=f"{flow} {currency}",
        before=shown(before),
        after=after | ({"reason": reason} if reason else {}),
        now=now,
    )
    cached_rules.cache_clear()
    database.on_commit(cached_rules.cache_clear)


def current_rule(business: Business | None, flow: Flow, currency: str) -> FeeRule | None:
    """Read the rule from the database, not from the cache; None if the flow isn't offered."""
    return _rule(current_rules(), business, flow, currency)


def _rule(rules: Rules, business: Business | None, flow: Flow, currency: str) -> FeeRule | None:
    for key in ((business.pk if business else None, flow, currency), (None, flow, currency)):
        if key in rules:
            return rules[key]
    return default_rule(flow, currency)


def shown(rule: FeeRule | None) -> Snapshot:
    """Return a rule as the audit trail has it."""
    return {"offered": False} if rule is None else rule.snapshot
