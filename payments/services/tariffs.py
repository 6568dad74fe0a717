"""Which fee rule a business pays by, and how another one is agreed.

The rules in force are few, and are read as one list that a process remembers for some seconds: creating a
transaction costs no statement more. A rule agreed elsewhere is seen within REMEMBERED_FOR.
"""

import time
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from django.db import transaction as database

from merchants import audit
from merchants.audit import Actor
from merchants.models import Business
from payments.fees import DEFAULTS, FeeRule, Flow, Snapshot
from payments.models import Tariff

REMEMBERED_FOR = 5.0  # seconds

# By business, None for the default, and flow.
Rules: TypeAlias = dict[tuple[UUID | None, str], FeeRule]


class PriceList:
    """The rules that differ from `fees.DEFAULTS`, as this process has read them a moment ago."""

    def __init__(self) -> None:
        self._read_at = 0.0
        self._snapshots: dict[tuple[UUID | None, str], Snapshot] = {}

    def snapshot(self, business: Business, flow: Flow) -> Snapshot:
        """Return the rule that a transaction of this business is created with."""
        if self._read_at == 0.0 or time.monotonic() - self._read_at >= REMEMBERED_FOR:
            self._read()
        own = self._snapshots.get((business.pk, flow))
        return own if own is not None else self._snapshots[None, flow]

    def forget(self) -> None:
        """Read anew before the next answer."""
        self._read_at = 0.0

    def _read(self) -> None:
        read_at = time.monotonic()
        defaults: Rules = {(None, flow): rule for flow, rule in DEFAULTS.items()}
        self._snapshots = {key: rule.snapshot for key, rule in (defaults | rules_in_force()).items()}
        self._read_at = read_at


price_list = PriceList()


def rules_in_force() -> Rules:
    """Return the latest rule of each business and flow, unless it was withdrawn."""
    latest: dict[tuple[UUID | None, str], Tariff] = {}
    for tariff in Tariff.objects.order_by("id"):
        latest[tariff.business_id, tariff.flow] = tariff
    return {key: tariff.rule for key, tariff in latest.items() if not tariff.is_withdrawn}


@database.atomic
def agree(tariff: Tariff, *, actor: Actor, now: datetime, reason: str = "") -> None:
    """Let a new tariff count from now on. Transactions that exist keep the rule they have."""
    flow = Flow(tariff.flow)
    before = rule_now(tariff.business, flow)
    tariff.valid_from, tariff.agreed_by = now, actor.name
    tariff.full_clean(exclude=["id"])
    tariff.save(force_insert=True)
    audit.record(
        action="tariff.withdrawn" if tariff.is_withdrawn else "tariff.agreed",
        actor=actor,
        business=tariff.business,
        target=flow.value,
        before=before.snapshot,
        after={**rule_now(tariff.business, flow).snapshot, **({"reason": reason} if reason else {})},
        now=now,
    )
    price_list.forget()
    database.on_commit(price_list.forget)


def rule_now(business: Business | None, flow: Flow) -> FeeRule:
    """Return what the database says, not what is remembered."""
    rules = rules_in_force()
    own = rules.get((business.pk, flow)) if business else None
    return own or rules.get((None, flow)) or DEFAULTS[flow]
