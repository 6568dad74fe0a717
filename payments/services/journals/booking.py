"""Book journals. The caller has opened a database transaction, and holds what `lock` locks.

A leg of a bank account is booked to bank clearing, and expected on a statement of the account. Accounts of a business
and of the house are never in one entry, so each side gets one, and both end in bank clearing.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q, Sum

from cash.models import BankAccount
from ledger import services as ledger
from ledger.booking.account_ids import account_ids, named_account_id
from ledger.models import NAMED, Account, Entry
from ledger.services import Booking, Kind
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, Journal
from payments.models.staff.journals import JournalLeg, reason_in_words
from payments.services.events import opt_in_events
from payments.services.journals import notices
from payments.services.journals.drafts import ON_STATEMENTS, Draft, Leg, require_valid
from payments.services.reconciliation import breaks

OWED_BELOW_ZERO = (Kind.WALLET, Kind.PENDING_SETTLEMENT)
ONLY_OWN = (Kind.UNAPPLIED, Kind.SUSPENSE)  # a journal takes out only what journals put in


def lock(draft: Draft) -> None:
    """Lock what a draft is about, its bank accounts and its ledger accounts, until the transaction ends."""
    if draft.reverses is not None:
        Journal.objects.select_for_update().get(pk=draft.reverses.pk)
    wanted = {(leg.kind, leg.name) for leg in draft.legs}
    ours = [
        each for each in BankAccount.objects.filter(currency=draft.currency) if each.house_account in wanted
    ]
    keys = {each.pk for each in ours} | ({draft.explained.account_id} if draft.explained else set())
    locked = list(BankAccount.objects.select_for_update().filter(pk__in=keys).order_by("pk"))
    statements = {named_account_id(draft.currency, *each.house_account) for each in locked}
    following = breaks.lock_what_follows(draft.explained) if draft.explained else set()
    ledger.lock_accounts(statements.union(_accounts(draft), following))


def _accounts(draft: Draft) -> Iterator[int]:
    """Yield the ids of the ledger accounts that are posted to, and maybe some more."""
    house = account_ids(None, draft.currency)
    yield house[Kind.BANK_CLEARING]
    yield house[Kind.ACQUIRER_RECEIVABLE]  # of the item of a break
    for business in filter(None, (draft.business, draft.other_business)):
        own = account_ids(business.pk, draft.currency)
        yield own[Kind.BANK_CLEARING]
        yield from (own[leg.kind] for leg in draft.legs if draft.owner(leg) == business)
    for leg in draft.legs:
        if _is_named(leg):
            yield named_account_id(draft.currency, leg.kind, leg.name)
        elif not leg.is_of_business:
            yield house[leg.kind]


def balances_of(draft: Draft) -> Mapping[Leg, int]:
    """Return the balance of the account of each leg, in minor units."""
    accounts = Account.objects.filter(
        Q(business=None) | Q(business__in=list(filter(None, (draft.business, draft.other_business)))),
        currency=draft.currency,
        kind__in=[leg.kind for leg in draft.legs],
    )
    found: dict[tuple[UUID | None, str, str], int] = {
        (owner, kind, name): balance
        for owner, kind, name, balance in accounts.values_list("business_id", "kind", "name", "balance")
    }
    return {leg: found.get((_owner(draft, leg), str(leg.kind), leg.name), 0) for leg in draft.legs}


def require_possible(draft: Draft) -> None:
    """Check a draft against balances. The caller holds their locks, or checks again under them.

    :raises InvalidState: it can't be booked
    """
    require_valid(draft)
    balances = balances_of(draft)
    for leg in draft.legs:
        for refusal in _refusals(draft, leg, balances[leg] + leg.amount):
            raise InvalidState(refusal)


def _refusals(draft: Draft, leg: Leg, balance: int) -> Iterator[str]:
    """Yield why a leg is refused that leaves a balance."""
    if leg.kind in OWED_BELOW_ZERO and leg.amount < 0 and balance < 0 and not draft.may_make_owe:
        yield (
            f"It would take the {leg.account} of the business below zero. If the business owes this to us, choose the reason "
            "Recovery."
        )
    if leg.kind == Kind.PENDING_SETTLEMENT and _put_in(draft, leg) + leg.amount > 0:
        yield "No settlement pays out what a journal credits to pending settlement. Credit the wallet."
    if leg.kind in ONLY_OWN and leg.amount < 0 and _put_in(draft, leg) + leg.amount < 0:
        yield (
            f"Journals haven't put so much into {leg.account}. What a transfer or return holds there leaves it by a "
            "decision about that."
        )
    if leg.kind == Kind.ACQUIRER_RECEIVABLE and balance > 0:
        yield "The acquirer doesn't owe so much for this business."
    if leg.kind == Kind.TAXES_PAYABLE and balance < 0:
        yield "So much tax of this business isn't payable."


def book(draft: Draft, *, actor: Actor, now: datetime) -> Journal:
    """Store and book a journal, end the break that it explains, and notify the business of a debit.

    :raises InvalidState: it was booked before
    """
    if Journal.objects.filter(pk=draft.id).exists():
        raise InvalidState("This journal was already booked.")
    booked = [(each, _store(each, actor=actor, now=now)) for each in draft.pair()]
    entries: list[Booking] = []
    for each, journal in booked:
        entries += _bookings(each, now=now)
        if each.explained is not None:
            entries += breaks.end_by_journal(each.explained, journal, now=now)
        if each.reverses is not None:
            breaks.settle_reversed(each.reverses, journal, now=now)
    ledger.book_all(entries)
    for each, journal in booked:
        _follow(each, journal, actor=actor, now=now)
    return booked[0][1]


def _follow(draft: Draft, journal: Journal, *, actor: Actor, now: datetime) -> None:
    """Record what was booked, and notify the business of a debit."""
    _record(draft, journal, actor=actor, now=now)
    if draft.of(Kind.WALLET) < 0:
        opt_in_events.publish_adjustment(journal, now=now)
        transaction.on_commit(partial(notices.mail_debit, journal), robust=True)


def _store(draft: Draft, *, actor: Actor, now: datetime) -> Journal:
    journal = Journal.objects.create(
        id=draft.id,
        code=draft.code,
        text=draft.text,
        business=draft.business,
        currency=draft.currency,
        entry=draft.entry,
        transaction=draft.transaction,
        explained=draft.explained,
        reverses=draft.reverses,
        paired_with_id=draft.paired_with,
        booked_by=actor.name,
        at=now,
    )
    JournalLeg.objects.bulk_create(
        JournalLeg(id=uuid4(), journal=journal, kind=leg.kind, name=leg.name, amount=leg.amount)
        for leg in draft.legs
    )
    return journal


def _bookings(draft: Draft, *, now: datetime) -> list[Booking]:
    return [*_of_business(draft, now=now), *_of_house(draft, now=now)]


def _of_business(draft: Draft, *, now: datetime) -> Iterator[Booking]:
    legs = {leg.kind: leg.amount for leg in draft.legs if leg.is_of_business}
    if draft.business is not None and legs:
        yield Booking(
            kind=Entry.Kind.TOP_UP if draft.is_funding else Entry.Kind.JOURNAL,
            cause=draft.id,
            business_id=draft.business.pk,
            currency=draft.currency,
            legs={**legs, Kind.BANK_CLEARING: -sum(legs.values())},
            at=now,
            note=reason_in_words(draft.code, draft.text),
        )


def _of_house(draft: Draft, *, now: datetime) -> Iterator[Booking]:
    own = [leg for leg in draft.legs if not leg.is_of_business and leg.kind not in ON_STATEMENTS]
    clearing = -sum(leg.amount for leg in own)
    if own:
        yield Booking(
            kind=Entry.Kind.JOURNAL_HOUSE,
            cause=draft.id,
            business_id=None,
            currency=draft.currency,
            legs={
                Kind.BANK_CLEARING: clearing,
                **{leg.kind: leg.amount for leg in own if not _is_named(leg)},
            },
            named_legs={(leg.kind, leg.name): leg.amount for leg in own if _is_named(leg)},
            at=now,
            note=reason_in_words(draft.code, draft.text),
        )


def _is_named(leg: Leg) -> bool:
    """Return whether the account is opened at first use."""
    return leg.kind in {*NAMED, Kind.WRITE_OFFS}


def _owner(draft: Draft, leg: Leg) -> UUID | None:
    owner = draft.owner(leg)
    return None if owner is None else owner.pk


def _put_in(draft: Draft, leg: Leg) -> int:
    """Return what journals have put into an account and not taken out."""
    legs = JournalLeg.objects.filter(kind=leg.kind, journal__currency=draft.currency)
    if leg.is_of_business:
        legs = legs.filter(journal__business=draft.owner(leg))
    return legs.aggregate(sum=Sum("amount"))["sum"] or 0


def _record(draft: Draft, journal: Journal, *, actor: Actor, now: datetime) -> None:
    about = {
        "entry": draft.entry and draft.entry.pk,
        "transaction": draft.transaction and str(draft.transaction.pk),
        "break": draft.explained and draft.explained.pk,
        "reverses": draft.reverses and str(draft.reverses.pk),
    }
    audit.record(
        action="wallet.topped_up" if draft.is_funding else "journal.booked",
        actor=actor,
        business=draft.business,
        target=str(journal.pk),
        after={
            "currency": draft.currency,
            "amount": draft.amount,
            "reason": reason_in_words(draft.code, draft.text),
        }
        | {name: value for name, value in about.items() if value},
        now=now,
    )
