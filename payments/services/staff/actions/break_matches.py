"""A match of breaks, as an action of staff: lines that were split, merged, doubled or dated otherwise are what was expected."""

from collections.abc import Iterable
from datetime import datetime
from uuid import NAMESPACE_OID, uuid5

from cash.models import BankAccount, Break
from kit.money.money import money
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, Proposal
from payments.services.reconciliation import breaks
from payments.services.staff.staff_action import StaffAction


class Ended(InvalidState):
    default_detail = "One of these breaks has ended, or doesn't exist."


class OfSeveralAccounts(InvalidState):
    default_detail = "These breaks aren't all of one bank account."


def match(ids: Iterable[int], *, reason: str, costs: str = "") -> StaffAction:
    """Return the match of open breaks whose lines and expected items are of the same sum, or differ by a cost.

    `costs` names the house account of the cost, such as `scheme`.

    :raises Ended: one isn't open
    :raises OfSeveralAccounts: they aren't of one account
    :raises InvalidState: the sums differ
    """
    chosen = sorted(set(ids))
    rows = list(Break.objects.filter(pk__in=chosen, ended_at=None).select_related("account"))
    if not rows or len(rows) < len(chosen):
        raise Ended
    accounts = {row.account for row in rows}
    if len(accounts) > 1:
        raise OfSeveralAccounts
    (account,) = accounts
    bank, ledger = (sum(getattr(row, side) for row in rows) for side in ("bank_amount", "ledger_amount"))
    if bank != ledger and not costs:
        raise InvalidState(
            f"The bank's lines are {money(bank, account.currency)}, but the ledger expects "
            f"{money(ledger, account.currency)}."
        )
    if costs and (bank == ledger or not any(row.line_id for row in rows)):
        raise InvalidState(
            "The sums are the same, or no line of the bank is among them, so there is no cost."
        )
    name = f"breaks {', '.join(map(str, chosen))} of {account.name}"
    return StaffAction(
        kind=Proposal.Action.MATCH_BREAKS,
        target=uuid5(NAMESPACE_OID, f"sluice {name}"),
        business=None,
        currency=account.currency,
        amount=abs(bank),
        reason=reason,
        parameters={"id": None, "name": name, "breaks": chosen, "costs": costs},
        made_about={"account": account.name, "amount": bank, "cost": ledger - bank},
    )


def lock_and_make(action: StaffAction) -> StaffAction:
    """Lock the account, and make the same action about its present breaks."""
    BankAccount.objects.select_for_update().get(name=action.made_about["account"])
    given = action.parameters
    return match(given["breaks"], reason=action.reason, costs=given.get("costs", ""))


def perform(action: StaffAction, actor: Actor, now: datetime) -> None:
    """Match and book the breaks' lines, and end the breaks."""
    given = action.parameters
    breaks.match_breaks(
        given["breaks"], reason=action.reason, actor=actor, now=now, costs=given.get("costs", "")
    )
    audit.record(
        action="breaks.matched",
        actor=actor,
        business=None,
        target=action.parameters["name"][:100],
        after={
            "amount": action.made_about["amount"],
            "cost": action.made_about.get("cost", 0),
            "currency": action.currency,
            "reason": action.reason,
        },
        now=now,
    )
