"""Whether a payout is accepted, and what it waits for before it is sent: limits, freeze, approval, the business's server.

Decided under the lock of the business's controls, in the transaction that stores the payout. So parallel payouts never
pass a limit together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kit.api.errors import Problem
from kit.db.prepared_statements import Lookup
from merchants.models import Business
from payments.models import PayoutControls, Transaction
from payments.services.payouts.controls import approvals, payout_limits, server_questions
from payments.services.payouts.controls.approvals import NOT_NEEDED, Needed, PayoutItem, item_of
from payments.services.payouts.controls.makers import Maker
from payments.services.payouts.controls.payout_freezes import PayoutsFrozen
from payments.services.payouts.controls.payout_limits import (
    LABELS,
    Ordered,
    PayoutLimitReached,
    ReachedLimit,
    Usage,
)

Awaiting = Transaction.Awaiting
_LOCKED = Lookup(PayoutControls, "business", lock=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedSet:
    """A released set of payouts, with its approval where it needed one."""

    is_approved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What happens with a payout that is asked for."""

    refusal: Problem | None = None
    needed: Needed = NOT_NEEDED
    asks_server: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)
    usage: Usage | None = None
    is_over: bool = False

    @property
    def awaiting(self) -> Transaction.Awaiting:
        if self.needed.approvals:
            return Awaiting.APPROVAL
        return Awaiting.SERVER if self.asks_server else Awaiting.RAIL


ACCEPTED = Verdict()


def judge(
    *,
    business: Business,
    request: Mapping[str, Any],
    maker: Maker,
    now: datetime,
    released: ReleasedSet | None = None,
    is_settlement: bool = False,
) -> Verdict:
    """Lock the controls of a business, and decide about a payout. `released`: the set that it belongs to.

    A set is approved as a whole, and the server is asked about it once. Limits and freezes hold for each payout.
    `is_settlement`: it goes to the business's settlement account, so only a freeze holds for it.
    """
    controls = _LOCKED.find(business.pk)
    if controls is None:
        return ACCEPTED
    if controls.frozen_at is not None:
        return Verdict(refusal=PayoutsFrozen())
    if is_settlement:
        return ACCEPTED
    customer = request["customer"]
    ordered = Ordered(
        business=business,
        amount=request["amount"],
        currency=request["currency"],
        account_number=customer["account_number"],
        bank_code=customer["bank_code"],
    )
    usage = Usage(ordered, now=now)
    own, caps = (
        payout_limits.limits_of(controls, ordered.currency),
        payout_limits.caps_of(controls, ordered.currency),
    )
    beyond_cap = payout_limits.reached(caps, ordered, usage)
    if beyond_cap is not None:
        return Verdict(refusal=PayoutLimitReached.of(beyond_cap, ordered.currency))
    over = payout_limits.reached(own, ordered, usage)
    if over is not None and not controls.ask_instead:
        return Verdict(refusal=PayoutLimitReached.of(over, ordered.currency))
    return Verdict(
        needed=_needed(controls, request, maker=maker, over=over, released=released),
        asks_server=bool(controls.server_url) and released is None,
        limits=_lowest(own, caps),
        usage=usage,
        is_over=over is not None,
    )


def judge_return(*, business: Business, item: PayoutItem, is_to_sender: bool, maker: Maker) -> Verdict:
    """Decide about a return or refund by transfer. Limits don't hold for it.

    Money to an account that a person or a key entered is approved like a payout. The sender's own account, which the
    bank named, needs no approval.
    """
    controls = PayoutControls.objects.filter(business=business).first()
    if controls is None:
        return ACCEPTED
    if controls.frozen_at is not None:
        return Verdict(refusal=PayoutsFrozen())
    if is_to_sender:
        return ACCEPTED
    return Verdict(
        needed=approvals.needed(controls, [item], maker=maker), asks_server=bool(controls.server_url)
    )


def _needed(
    controls: PayoutControls,
    request: Mapping[str, Any],
    *,
    maker: Maker,
    over: ReachedLimit | None,
    released: ReleasedSet | None,
) -> Needed:
    if released is not None and released.is_approved:
        return NOT_NEEDED
    if over is not None:
        sums = Counter({request["currency"]: request["amount"]})
        return Needed(approvals.approvals_for(controls, sums), f"Over the limit “{LABELS[over.name]}”")
    if released is not None:
        return NOT_NEEDED
    return approvals.needed(controls, [_item(request)], maker=maker)


def record(verdict: Verdict, payout: Transaction, *, maker: Maker, now: datetime) -> None:
    """Store what an accepted payout waits for, and the limits that it was accepted under."""
    if verdict.limits and verdict.usage is not None:
        payout_limits.check_of(payout, verdict.limits, verdict.usage, is_over=verdict.is_over).save()
    if payout.awaiting == Awaiting.APPROVAL:
        approvals.open_approval(
            business=payout.business,
            items=[item_of(payout)],
            maker=maker,
            needed=verdict.needed,
            payout=payout,
            now=now,
        )
    elif payout.awaiting == Awaiting.SERVER:
        server_questions.open_question(business=payout.business, payout=payout, now=now)


def _item(request: Mapping[str, Any]) -> PayoutItem:
    customer = request["customer"]
    return PayoutItem(
        reference=request["reference"],
        amount=request["amount"],
        currency=request["currency"],
        account_number=customer["account_number"],
        bank_code=customer["bank_code"],
        name=customer["name"],
        narration=request.get("narration", ""),
        purpose=request.get("purpose", ""),
    )


def _lowest(own: Mapping[str, int], caps: Mapping[str, int]) -> dict[str, int]:
    return {name: min(each[name] for each in (own, caps) if name in each) for name in {*own, *caps}}
