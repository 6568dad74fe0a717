"""What another member must look at before they approve a batch, in a list and at its rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.urls import reverse

from kit.banks import grouped
from kit.money.money import figures, money
from kit.text.plurals import counted
from payout_batches.comparisons import Account, Comparison
from payout_batches.models import PayoutBatch, PayoutBatchItem

State = PayoutBatchItem.State
SHOWN_ITEMS = 3  # of each finding


class Finding(NamedTuple):
    """What the checks have found of some rows: its flag at them, and how the list counts them."""

    flag: str
    style: str
    icon: str
    one: str
    many: str


NEW = Finding("New", "open", "user-plus", "new beneficiary", "new beneficiaries")
CORRECTED = Finding("Corrected", "open", "pencil-square", "account corrected", "accounts corrected")
OF_STATES = {
    State.NAME_DIFFERS: Finding("Name differs", "pending", "identification", "name differs", "names differ"),
    State.DUPLICATE: Finding(
        "Duplicate", "pending", "document-duplicate", "possible duplicate", "possible duplicates"
    ),
    State.UNVERIFIED: Finding(
        "Not verified", "pending", "question-mark-circle", "account not verified", "accounts not verified"
    ),
    State.OVER_LIMIT: Finding(
        "Over limit", "pending", "exclamation-triangle", "payout over a limit", "payouts over a limit"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """An entry of the list, with a link to what it is about."""

    icon: str
    tone: str
    what: str
    why: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An item with its flags, and how much more its account is paid than last time, in minor units."""

    item: PayoutBatchItem
    flags: Sequence[Finding]
    change: int | None

    @property
    def change_text(self) -> str:
        change = self.change or 0
        return f"{'+' if change > 0 else ''}{figures(change, self.item.currency)}"


def rows(
    items: Sequence[PayoutBatchItem], new_accounts: Collection[Account], comparison: Comparison | None
) -> list[Row]:
    """Return the items that are paid, as the checker sees them."""
    changes = comparison.changes if comparison else {}
    return [
        Row(
            item=item,
            flags=_flags(item, new_accounts),
            change=changes.get((item.bank_code, item.account_number)),
        )
        for item in items
    ]


def _flags(item: PayoutBatchItem, new_accounts: Collection[Account]) -> list[Finding]:
    found = [OF_STATES[State(item.state)]] if item.state in OF_STATES else []
    if item.corrected_by_id is not None:
        found.append(CORRECTED)
    if (item.bank_code, item.account_number) in new_accounts:
        found.append(NEW)
    return found


def checks(batch: PayoutBatch, found: Sequence[Row], comparison: Comparison | None) -> list[Check]:
    """Return what a checker must look at. Empty if there is nothing."""
    of_rows = [
        _check(finding, [row.item for row in found if finding in row.flags], batch.currency)
        for finding in (NEW, *OF_STATES.values(), CORRECTED)
        if any(finding in row.flags for row in found)
    ]
    if comparison is not None:
        of_rows.append(_compared(batch, len(found), comparison))
    return of_rows


def _check(finding: Finding, items: Sequence[PayoutBatchItem], currency: str) -> Check:
    number, amount = len(items), sum(item.amount for item in items)
    further = f" And {number - SHOWN_ITEMS} more." if number > SHOWN_ITEMS else ""
    return Check(
        icon=finding.icon,
        tone="note" if finding in {NEW, CORRECTED} else "",
        what=f"{counted(number, finding.one, finding.many)}, {money(amount, currency)}",
        why=_why(finding, items[:SHOWN_ITEMS]) + further,
        address=f"#row-{items[0].position + 1}",
    )


def _why(finding: Finding, items: Sequence[PayoutBatchItem]) -> str:
    if finding == NEW:
        return f"Never paid before: {', '.join(item.name for item in items)}."
    if finding == CORRECTED:
        return " ".join(_corrected(item) for item in items)
    return " ".join(f"{item.name}: {_problem(item)}{_accepted(item)}" for item in items)


def _accepted(item: PayoutBatchItem) -> str:
    """Return who has accepted what was found, and why; an empty string if it was found after that."""
    return f" {item.accepted_by}: “{item.accepted_reason}”." if item.accepted_at is not None else ""


def _corrected(item: PayoutBatchItem) -> str:
    number = grouped(item.account_number)
    now = f"{number} is {item.account_name}" if item.account_name else f"now {number}"
    is_known = item.former_account_number not in {"", item.account_number}
    before = f"{grouped(item.former_account_number)} before, " if is_known else ""
    return f"{item.name}: {before}{now} at {item.bank_name}."


def _problem(item: PayoutBatchItem) -> str:
    differs = item.state == State.NAME_DIFFERS
    return f"{item.bank_name} says {item.account_name}." if differs else item.problem


def _compared(batch: PayoutBatch, number: int, comparison: Comparison) -> Check:
    size, previous = money(comparison.size, batch.currency), comparison.previous
    than = "more than" if comparison.difference > 0 else "less than"
    parts = [
        f"{counted(number, 'payout')} instead of {comparison.number}.",
        f"{comparison.added} added, {comparison.removed} left out, {comparison.changed} with another amount.",
    ]
    return Check(
        icon="chart-bar",
        tone="note",
        what=f"{size} {than} last time" if comparison.difference else "The same sum as last time",
        why=" ".join(parts),
        address=reverse("dashboard-batch", args=[previous.pk]),
    )
