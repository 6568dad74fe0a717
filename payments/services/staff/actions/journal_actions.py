"""Journals as actions of staff: booked by two people where `FOUR_EYES` is on, in the state that both have seen."""

from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

from cash.models import Break
from ledger.models import Entry
from ledger.services import Kind
from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import InvalidState, Journal, Proposal, Transaction
from payments.services.journals import booking, drafts
from payments.services.journals.drafts import Code, Draft, Leg
from payments.services.staff import made_about
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import Handler, StaffAction

Action = Proposal.Action
Row = TypeVar("Row", bound=Model)


def journal(draft: Draft) -> StaffAction:
    """Return the booking of a journal.

    :raises InvalidState: it can't be booked
    """
    about = {
        "code": str(draft.code),
        "entry": draft.entry and draft.entry.pk,
        "transaction": draft.transaction and str(draft.transaction.pk),
        "break": draft.explained and draft.explained.pk,
        "other_business": draft.other_business and str(draft.other_business.pk),
    }
    return _action(Action.JOURNAL, draft.id, draft, about)


def reversal(original: Journal, *, reason: str, journal_id: UUID) -> StaffAction:
    """Return the reversal of a journal.

    :raises InvalidState: it was reversed before, or can't be
    """
    draft = drafts.reversal_of(original, text=reason, new_id=journal_id)
    first = original.paired_with or original  # of a pair, so that only one proposal is open
    other = draft.other_business and str(draft.other_business.pk)
    return _action(
        Action.REVERSE_JOURNAL, first.pk, draft, {"journal": str(journal_id), "other_business": other}
    )


def top_up(
    *, business: Business, currency: str, amount: int, cause: UUID, reason: str, bank_account: str = ""
) -> StaffAction:
    """Return a top-up of a wallet: the journal that credits it with money that a bank account received.

    :raises InvalidState: it can't be booked
    """
    draft = drafts.top_up(
        business=business,
        currency=currency,
        amount=amount,
        cause=cause,
        reason=reason,
        bank_account=bank_account,
    )
    drafts.require_valid(draft)
    return StaffAction(
        kind=Action.TOP_UP,
        target=cause,
        business=business,
        currency=currency,
        amount=amount,
        reason=reason,
        parameters={"bank_account": bank_account} if bank_account else {},
        made_about=made_about.top_up(business, currency),
    )


def draft_of(action: StaffAction | Proposal) -> Draft:
    """Return what an action or a stored proposal is to book.

    :raises InvalidState: what it is about doesn't exist, or was reversed before
    """
    given = action.parameters
    if "journal" in given:
        original = Journal.objects.select_related("business").get(pk=action.target)
        return drafts.reversal_of(original, text=action.reason, new_id=UUID(given["journal"]))
    return Draft(
        id=action.target,
        code=Code(given["code"]),
        text=action.reason,
        business=action.business,
        currency=action.currency,
        legs=legs_of(action),
        entry=find_entry(given.get("entry")),
        transaction=find_transaction(given.get("transaction")),
        explained=find_break(given.get("break")),
        other_business=other_business_of(action),
    )


def legs_of(action: StaffAction | Proposal) -> tuple[Leg, ...]:
    """Return the legs of a stored action. Those of the other business say so in a fourth value."""
    stored = action.parameters.get("pair") or action.parameters["legs"]
    return tuple(Leg(Kind(kind), *values) for kind, *values in stored)


def other_business_of(action: StaffAction | Proposal) -> Business | None:
    """Return the second of two businesses between which a journal moves money."""
    key = action.parameters.get("other_business")
    return Business.objects.get(pk=key) if key else None


def find_entry(number: int | None) -> Entry | None:
    """Return the entry with a number.

    :raises InvalidState: there is none
    """
    return _found(Entry.objects.filter(pk=number), "No ledger entry has this number.") if number else None


def find_transaction(key: str | UUID | None) -> Transaction | None:
    """Return the transaction with an id.

    :raises InvalidState: there is none
    """
    return _found(Transaction.objects.filter(pk=key), "No transaction has this ID.") if key else None


def find_break(number: int | None) -> Break | None:
    """Return the break with a number.

    :raises InvalidState: there is none
    """
    rows = Break.objects.select_related("account", "line")
    return _found(rows.filter(pk=number), "No break has this ID.") if number else None


def _found(rows: QuerySet[Row], refusal: str) -> Row:
    found = rows.first()
    if found is None:
        raise InvalidState(refusal)
    return found


def _action(kind: Proposal.Action, target: UUID, draft: Draft, about: dict[str, Any]) -> StaffAction:
    booking.require_possible(draft)
    return StaffAction(
        kind=kind,
        target=target,
        business=draft.business,
        currency=draft.currency,
        amount=draft.amount,
        reason=draft.text,
        parameters={name: value for name, value in about.items() if value} | _stored(draft.legs),
        made_about=_made_about(draft),
    )


def _stored(legs: tuple[Leg, ...]) -> dict[str, Any]:
    """Return legs as parameters. Those between two businesses are apart: a process of the release before finds none."""
    stored = [[str(leg.kind), leg.name, leg.amount, *([True] if leg.of_other else [])] for leg in legs]
    return {"legs": [], "pair": stored} if any(leg.of_other for leg in legs) else {"legs": stored}


def _made_about(draft: Draft) -> MadeAbout:
    """Return on which side of zero each balance is: it moves, but a debit of what isn't there means something else."""
    return {leg.account: leg.standing(balance) for leg, balance in booking.balances_of(draft).items()}


def _lock(action: StaffAction) -> StaffAction:
    """Lock all that a journal changes, and make the same action about its present state."""
    draft = draft_of(action)
    booking.lock(draft)
    if draft.reverses is not None:
        return reversal(draft.reverses, reason=action.reason, journal_id=draft.id)
    return journal(draft_of(action))


def _perform(action: StaffAction, actor: Actor, now: datetime) -> None:
    booking.book(draft_of(action), actor=actor, now=now)


def _lock_top_up(action: StaffAction) -> StaffAction:
    booking.lock(_top_up_of(action))
    return top_up(
        business=action.owner,
        currency=action.currency,
        amount=action.amount,
        cause=action.target,
        reason=action.reason,
        **action.parameters,
    )


def _perform_top_up(action: StaffAction, actor: Actor, now: datetime) -> None:
    booking.book(_top_up_of(action), actor=actor, now=now)


def _top_up_of(action: StaffAction) -> Draft:
    return drafts.top_up(
        business=action.owner,
        currency=action.currency,
        amount=action.amount,
        cause=action.target,
        reason=action.reason,
        **action.parameters,
    )


HANDLERS = {
    Action.TOP_UP: Handler(_lock_top_up, _perform_top_up),
    Action.JOURNAL: Handler(_lock, _perform),
    Action.REVERSE_JOURNAL: Handler(_lock, _perform),
}
