"""The strip of the balance page: where the money of a business is now, and how that changed since a chart began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from django.urls import reverse

from dashboard.ui.components.figures import NO_PAST, Change, Figure, change_of_level
from kit.money.money import figures, money
from ledger.models import Account
from ledger.services import Balance, Kind
from ledger.statements import Level

SOMETIMES = (Kind.DISPUTES_HELD, Kind.RESERVE)  # shown while they have money


def strip_of(balance: Balance, accounts: Mapping[str, Account], past: Mapping[str, Level]) -> list[Figure]:
    """Return the figures of one currency. `accounts` and `past`: by kind."""
    held = {kind: account.balance for kind, account in accounts.items()}
    return [
        Figure(
            name=name,
            currency=balance.currency,
            value=figures(held.get(kind, 0), balance.currency),
            address=address,
            change=_change(kind, held.get(kind, 0), past.get(kind), currency=balance.currency),
            note=note,
        )
        for kind, name, address, note in _parts(balance)
        if held.get(kind) or kind not in SOMETIMES
    ]


def others_of(balances: Sequence[Balance], *, currency: str) -> list[Balance]:
    """Return the balances of other currencies that have money."""
    return [
        each
        for each in balances
        if each.currency != currency and (each.available or each.pending or each.disputed or each.reserved)
    ]


def _parts(balance: Balance) -> Iterator[tuple[Kind, str, str, str]]:
    payable = balance.available_for_payouts
    yield (
        Kind.WALLET,
        "Available",
        f"?{urlencode({'currency': balance.currency})}#statement",
        f"{money(payable, balance.currency)} for payouts" if payable != balance.available else "",
    )
    yield (
        Kind.PENDING_SETTLEMENT,
        "Pending settlement",
        reverse("dashboard-settlements"),
        "owed for refunds and disputes" if balance.pending < 0 else "",
    )
    yield Kind.PAYOUTS_IN_FLIGHT, "Payouts on their way", f"{reverse('dashboard-payouts')}?status=pending", ""
    yield Kind.DISPUTES_HELD, "Held for disputes", reverse("dashboard-disputes"), ""
    yield Kind.RESERVE, "In reserve", "#reserve", ""


def _change(kind: Kind, now: int, past: Level | None, *, currency: str) -> Change:
    """Compare a balance. More money elsewhere than in the wallet is neither good nor bad."""
    if past is None or not past.position:
        return NO_PAST
    return change_of_level(now, past.balance, currency, is_good=kind == Kind.WALLET)
