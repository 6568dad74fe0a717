"""What a journal is to book: its legs, its reason, and what it is about. A draft that is refused changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from cash.models import BankAccount, Break
from kit.money.money import money
from ledger.models import Account, Entry
from ledger.services import LARGEST_ENTRY, Kind
from merchants.models import Business
from payments.models import InvalidState, Journal, Transaction
from payments.models.staff.journals import OF_BUSINESSES
from payments.services.journals import old_write_offs
from payments.services.reconciliation.ledger_line import COSTS

Code = Journal.Code
# Booked to bank clearing, and expected on a statement of ours at a bank, acquirer or provider.
ON_STATEMENTS = (Kind.BANK, Kind.ACQUIRER, Kind.PROVIDER, Kind.BANK_CLEARING)
# Accounts whose balance is negative while others owe us, hold money for us, or were paid.
_NEGATIVE = (*ON_STATEMENTS, Kind.ACQUIRER_RECEIVABLE, Kind.COSTS, Kind.WRITE_OFFS)
_NAMES = {
    Kind.WALLET: "wallet",
    Kind.PENDING_SETTLEMENT: "pending settlement",
    Kind.UNAPPLIED: "unapplied money",
    Kind.ACQUIRER_RECEIVABLE: "receivable from the acquirer",
    Kind.TAXES_PAYABLE: "taxes payable",
    Kind.BANK_CLEARING: "bank clearing",
    Kind.SUSPENSE: "suspense",
    Kind.WRITE_OFFS: "write-offs",
}


@dataclass(frozen=True, slots=True)
class Leg:
    """The change of one account, in minor units: positive for a credit, negative for a debit."""

    kind: Kind
    name: str  # of one of several house accounts of a kind
    amount: int
    of_other: bool = False  # of the second of two businesses

    @property
    def is_of_business(self) -> bool:
        return self.kind in OF_BUSINESSES

    @property
    def account(self) -> str:
        """The account as people call it.

        >>> Leg(Kind.BANK, "gtbank", 5).account, Leg(Kind.WALLET, "", 5).account
        ('bank gtbank', 'wallet')
        >>> Leg(Kind.WALLET, "", 5, of_other=True).account
        'wallet of the other business'
        """
        name = f"{self.kind} {self.name}" if self.name else _NAMES[self.kind]
        return f"{name} of the other business" if self.of_other else name

    def standing(self, balance: int) -> str:
        """Say on which side of zero a balance of the account is.

        >>> Leg(Kind.WALLET, "", 5).standing(-1), Leg(Kind.COSTS, "scheme", 5).standing(-1)
        ('below zero', 'zero or less')
        """
        if self.kind in _NEGATIVE:
            return "above zero" if balance > 0 else "zero or less"
        return "below zero" if balance < 0 else "zero or more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A journal that isn't booked yet. It is about an entry, a transaction, a break or the journal that it reverses."""

    id: UUID
    code: Code
    text: str
    business: Business | None
    currency: str
    legs: tuple[Leg, ...]
    entry: Entry | None = None
    transaction: Transaction | None = None
    explained: Break | None = None
    reverses: Journal | None = None
    other_business: Business | None = None
    paired_with: UUID | None = None  # of the second of a pair: the first one

    @property
    def amount(self) -> int:
        """Sum of the credits."""
        return sum(leg.amount for leg in self.legs if leg.amount > 0)

    @property
    def is_funding(self) -> bool:
        return self.code == Code.FUNDING

    @property
    def may_make_owe(self) -> bool:
        """Whether it may take a balance of the business below zero: what it undoes or recovers was paid out perhaps."""
        return self.code == Code.RECOVERY or self.reverses is not None

    def of(self, *kinds: Kind) -> int:
        """Return the sum of the legs of these kinds."""
        return sum(leg.amount for leg in self.legs if leg.kind in kinds)

    @property
    def legs_by_account(self) -> dict[Kind, int]:
        return {leg.kind: leg.amount for leg in self.legs}

    def owner(self, leg: Leg) -> Business | None:
        """Return the business whose account a leg changes."""
        if not leg.is_of_business:
            return None
        return self.other_business if leg.of_other else self.business

    def pair(self) -> tuple["Draft", ...]:
        """Return what is booked: itself or, between two businesses, a draft of each, balanced in bank clearing."""
        if self.other_business is None:
            return (self,)
        own = tuple(leg for leg in self.legs if not leg.of_other)
        others = tuple(replace(leg, of_other=False) for leg in self.legs if leg.of_other)
        first = replace(self, legs=_balanced(own), other_business=None)
        second = replace(
            first,
            id=uuid5(self.id, "pair"),
            business=self.other_business,
            legs=_balanced(others),
            entry=None,
            transaction=None,
            explained=None,
            reverses=self.reverses and self.reverses.other,
            paired_with=self.id,
        )
        return first, second


def _balanced(legs: tuple[Leg, ...]) -> tuple[Leg, ...]:
    missing = -sum(leg.amount for leg in legs)
    return (*legs, Leg(Kind.BANK_CLEARING, "", missing)) if missing else legs


def top_up(
    *, business: Business, currency: str, amount: int, cause: UUID, reason: str, bank_account: str = ""
) -> Draft:
    """Return a top-up of a wallet by what a bank account received. Without bank accounts of ours, it names none."""
    bank = Leg(Kind.BANK, bank_account, -amount) if bank_account else Leg(Kind.BANK_CLEARING, "", -amount)
    return Draft(
        id=cause,
        code=Code.FUNDING,
        text=reason,
        business=business,
        currency=currency,
        legs=(Leg(Kind.WALLET, "", amount), bank),
    )


def reversal_of(journal: Journal, *, text: str, new_id: UUID) -> Draft:
    """Return the draft that undoes a journal.

    :raises InvalidState: it was reversed before, or is a reversal itself
    """
    if journal.reverses_id is not None:
        raise InvalidState("This journal is a reversal. Book a new journal instead.")
    if not can_be_reversed(journal):
        raise InvalidState("This journal was already reversed.")
    first = journal.paired_with or journal
    other = first.other
    legs = [*_undoing(first), *(_undoing(other, of_other=True) if other else ())]
    return Draft(
        id=new_id,
        code=Code.CORRECTION,
        text=text,
        business=first.business,
        other_business=None if other is None else other.business,
        currency=first.currency,
        legs=tuple(leg for leg in legs if other is None or leg.kind != Kind.BANK_CLEARING),
        reverses=first,
    )


def _undoing(journal: Journal, *, of_other: bool = False) -> Iterator[Leg]:
    for leg in journal.legs.order_by("kind", "name"):
        yield Leg(Kind(leg.kind), leg.name, -leg.amount, of_other)


def can_be_reversed(journal: Journal) -> bool:
    """Return whether a journal is no reversal, and has none."""
    return journal.reverses_id is None and not Journal.objects.filter(reverses=journal).exists()


def require_valid(draft: Draft) -> None:
    """Check a draft against what doesn't change between its proposal and its booking, and that its break is open.

    :raises InvalidState: it can't be booked
    """
    for mistake in _mistakes(draft):
        raise InvalidState(mistake)


def accounts_offered(currency: str = "") -> Iterator[tuple[Kind, str]]:
    """Yield the house accounts that a journal may have legs of, beside those of a business. Without a currency: of all."""
    wanted = {"currency": currency} if currency else {}
    for account in BankAccount.objects.filter(**wanted).order_by("kind", "name"):
        kind, name = account.house_account
        yield Kind(kind), name
    costs = Account.objects.filter(business=None, kind=Kind.COSTS, **wanted)
    yield Kind.SUSPENSE, ""
    for name in sorted({*COSTS, *costs.values_list("name", flat=True)}):
        yield Kind.COSTS, name
    yield Kind.WRITE_OFFS, ""
    yield Kind.BANK_CLEARING, ""


def _mistakes(draft: Draft) -> Iterator[str]:
    """Yield what is wrong, the first mistake first."""
    yield from _of_legs(draft)
    yield from _of_accounts(draft)
    yield from _of_business(draft)
    if draft.reverses is None:
        yield from _of_subject(draft)
    if draft.is_funding:
        yield from _of_funding(draft)
    if draft.explained is not None:
        yield from _of_break(draft, draft.explained)


def _of_legs(draft: Draft) -> Iterator[str]:
    accounts = [(leg.kind, leg.name, leg.of_other) for leg in draft.legs]
    if len(accounts) < 2:  # noqa: PLR2004
        yield "A journal has at least two accounts."
    if len(set(accounts)) < len(accounts):
        yield "An account appears twice. Enter it once, with the sum."
    if any(not 0 < abs(leg.amount) <= LARGEST_ENTRY for leg in draft.legs):
        yield f"An amount is zero, or above {money(LARGEST_ENTRY, draft.currency)}."
    debits = draft.amount - sum(leg.amount for leg in draft.legs)
    if debits != draft.amount:
        yield (
            f"Debits are {money(debits, draft.currency)}, but credits are {money(draft.amount, draft.currency)}."
        )


def _of_accounts(draft: Draft) -> Iterator[str]:
    if draft.reverses is not None:
        return
    offered = {*accounts_offered(draft.currency), *((kind, "") for kind in OF_BUSINESSES)}
    for leg in draft.legs:
        if (leg.kind, leg.name) not in offered:
            yield f"There is no account {leg.account} in {draft.currency} that a journal can change."
    if draft.of(Kind.BANK_CLEARING) and not _may_change_clearing(draft):
        yield (
            "Lines of statements change bank clearing. A journal takes out of it only what an old write-off left there, about "
            "the ledger entry of that: all of it, once, and into write-offs."
        )


def _may_change_clearing(draft: Draft) -> bool:
    if draft.is_funding:
        return not _has_bank_accounts(draft.currency)
    left = old_write_offs.left_in_clearing(draft.entry) if draft.entry is not None else 0
    return left > 0 and draft.legs_by_account == {Kind.BANK_CLEARING: -left, Kind.WRITE_OFFS: left}


def _has_bank_accounts(currency: str) -> bool:
    return BankAccount.objects.filter(currency=currency, kind=BankAccount.Kind.BANK).exists()


def _of_business(draft: Draft) -> Iterator[str]:
    if draft.other_business is not None and draft.other_business == draft.business:
        yield "The other business is the same one."
    if draft.other_business is not None and draft.business is None:
        yield "Choose the business, too. Without it, leave the other business empty."
    for name, business, of_other in (
        ("business", draft.business, False),
        ("other business", draft.other_business, True),
    ):
        has_legs = any(leg.is_of_business and leg.of_other is of_other for leg in draft.legs)
        if business is None:
            if has_legs:
                yield f"Choose the {name} whose accounts these are."
            continue
        if not has_legs:
            yield f"None of the accounts is of the {name}. Leave the {name} empty."
        held = Account.objects.filter(business=business, currency=draft.currency)
        if draft.currency not in business.currencies and not held.exists():
            yield f"The {name} has {' and '.join(business.currencies)}."


def _of_subject(draft: Draft) -> Iterator[str]:
    about = [each for each in (draft.entry, draft.transaction, draft.explained) if each is not None]
    if not about and not draft.is_funding:
        yield "Name the entry, the transaction or the break that it is about."
    for each in (draft.entry, draft.transaction):
        if each is None:
            continue
        if each.currency != draft.currency:
            yield f"What it is about is in {each.currency}."
        owner = each.business_id
        owners = {each.pk for each in (draft.business, draft.other_business) if each is not None}
        if owners and owner is not None and owner not in owners:
            yield "What it is about belongs to another business."


def _of_funding(draft: Draft) -> Iterator[str]:
    if draft.other_business is not None:
        yield "A top-up is of one business. Choose another reason for two."
    elif {leg.kind for leg in draft.legs} not in (
        {Kind.WALLET, Kind.BANK},
        {Kind.WALLET, Kind.BANK_CLEARING},
    ):
        yield "A top-up moves money from one bank account into a wallet. Choose another reason for other accounts."
    elif draft.of(Kind.WALLET) < 0:
        yield "A top-up credits the wallet. Choose another reason to debit it."


def _of_break(draft: Draft, explained: Break) -> Iterator[str]:
    account = explained.account
    if explained.ended_at is not None:
        yield "This break has ended."
    if account.currency != draft.currency:
        yield f"The break is in {account.currency}."
    wanted = -explained.difference
    given = sum(leg.amount for leg in draft.legs if (leg.kind, leg.name) == account.house_account)
    if given != wanted:
        yield (
            f"To explain the break, the journal must {_in_words(wanted, draft.currency)} on {account.kind} {account.house_account[1]}: "
            "what the bank says less what the ledger expects."
        )


def _in_words(amount: int, currency: str) -> str:
    """Return an amount as a debit or credit.

    >>> _in_words(-500, "NGN"), _in_words(500, "NGN")
    ('have a debit of NGN 5.00', 'have a credit of NGN 5.00')
    """
    if not amount:
        return "have no leg"
    return f"have a {'credit' if amount > 0 else 'debit'} of {money(abs(amount), currency)}"
