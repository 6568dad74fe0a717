"""What the ledger expects on the statements of our accounts: payouts, refunds by transfer, transfers, returns, top-ups, and
what acquirers pay of card payments.

Only what is certain is expected. What has an unknown outcome is expected once it is known.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from cash.models import BankAccount, Break, MatchedItem, StatementLine
from ledger.models import Account, Entry, Posting
from payments import rails
from payments.models import CardOperation, Holiday, Journal, JournalLeg, PayoutReturn, Transaction
from payments.rules.settlement.business_days import begins_at, business_day
from payments.services.rails.declared_accounts import same_as
from payments.services.reconciliation import card_lines
from payments.services.reconciliation.card_lines import Acquired
from payments.services.reconciliation.ledger_line import (
    JOURNAL,
    PAID_OUT,
    PAYOUT,
    REFUND,
    RETURN,
    SETTLEMENT,
    TOP_UP,
    TRANSFER,
    UNCLAIMED,
    LedgerLine,
)
from virtual_accounts.models import Transfer, UnclaimedTransfer

HOSTING_BANK, TOP_UPS = "hosting_bank", "top_ups"  # beside the names of connectors
# What leaves from and arrives in a bank account of ours.
PAYING = [(name, name) for name in sorted({**rails.BANKS, **rails.RETURNS})]
RECEIVING = [
    (HOSTING_BANK, "Transfers that the hosting bank notifies"),
    (TOP_UPS, "Top-ups of wallets"),
    *((name, f"Settlements of {name}") for name in sorted(rails.ACQUIRERS)),
]
SUCCESS = Transaction.Status.SUCCESS


def expected(account: BankAccount, since: date) -> Iterator[LedgerLine]:
    """Return what isn't matched yet from the first day of statements on, for the connectors that are tied to an account."""
    holidays = Holiday.days_of(account.currency, since=since)
    return (replace(line, holidays=holidays) for line in _expected(account, since))


def _expected(account: BankAccount, since: date) -> Iterator[LedgerLine]:
    first, currency = begins_at(since), account.currency
    if account.pays_out:
        yield from _payouts(first, currency, account.pays_out)
        yield from _returns(first, account)
        yield from _refunds(first, currency, account.pays_out)
    if HOSTING_BANK in account.receives:
        yield from _transfers(first, currency, {""})
        yield from _unclaimed_transfers(first, currency, {""})
    yield from _top_ups(first, account)
    yield from _journals(first, account)
    for connector in account.receives:
        if connector in rails.ACQUIRERS:
            yield from _acquired(first, account, connector)


def _acquired(first: datetime, account: BankAccount, connector: str) -> Iterator[LedgerLine]:
    """What a connector owes us: on its own statements each payment, on a bank's its settlements, or else sums of days."""
    if account.is_at_bank:
        tellers = [each for each in own_accounts(account.currency) if connector in each.receives]
        if tellers:
            for teller in tellers:
                yield from _settlements(first.date(), teller, connector)
            return
    own = account.connector_account
    addresses = same_as(connector, own) if own else frozenset()
    yield from card_lines.expected(
        Acquired(
            connector=connector,
            accounts=addresses,
            currency=account.currency,
            first=first,
            in_sums=account.is_at_bank,
        )
    )
    if not account.is_at_bank:
        yield from _transfers(first, account.currency, addresses)
        yield from _unclaimed_transfers(first, account.currency, addresses)


def own_accounts(currency: str) -> list[BankAccount]:
    """Return our accounts at acquirers and providers, whose statements say what was paid out to a bank."""
    accounts = BankAccount.objects.filter(currency=currency).exclude(kind=BankAccount.Kind.BANK)
    return list(accounts.order_by("name"))


def _settlements(first: date, teller: BankAccount, connector: str) -> Iterator[LedgerLine]:
    """What an acquirer's statements say was paid out to our bank account."""
    told = StatementLine.objects.filter(
        statement__account=teller, kind=PAID_OUT, order__isnull=False, booked_on__gte=first
    )
    for line in _open(SETTLEMENT, told, key="order"):
        yield LedgerLine(
            kind=SETTLEMENT,
            id=line.order,
            references=_non_empty(line.reference),
            amount=-line.amount,
            day=line.booked_on,
            settles_after=rails.SETTLES_AFTER.get(connector, 1),
        )


def _open(kind: str, rows: QuerySet[Any], key: str = "pk") -> Any:
    """Return the rows that aren't matched yet, one at a time."""
    return rows.filter(~Exists(MatchedItem.objects.filter(kind=kind, item=OuterRef(key)))).iterator()


def _payouts(first: datetime, currency: str, connectors: list[str]) -> Iterator[LedgerLine]:
    """Successful payouts. One that failed because the bank returned it may have been sent before.

    It was sent if a statement has its return.
    """
    returned = PayoutReturn.objects.filter(transaction=OuterRef("pk"), applied=PayoutReturn.Applied.FAILED)
    seen = returned.filter(Exists(MatchedItem.objects.filter(kind=RETURN, item=OuterRef("pk"))))
    payouts = Transaction.objects.filter(
        request_type=Transaction.RequestType.PAYOUT,
        currency=currency,
        connector__in=connectors,
        finished_at__gte=first,
    ).annotate(was_returned=Exists(returned), came_back=Exists(seen))
    for payout in _open(PAYOUT, payouts.filter(Q(status=SUCCESS) | Q(was_returned=True))):
        yield LedgerLine(
            kind=PAYOUT,
            id=payout.pk,
            references=_order_references(payout),
            amount=-payout.amount,
            day=business_day(payout.finished_at),
            may_be_missing=payout.was_returned and not payout.came_back,
        )


def _returns(first: datetime, account: BankAccount) -> Iterator[LedgerLine]:
    """Payouts that were returned to us, at a bank also those whose payout isn't known yet.

    That of a payout that failed is certain only if a statement has the payout: then its money must come back. That of an
    unknown payout may be on a statement of each of our banks, and is missing at the first one, unless it differs at another.
    """
    applied = PayoutReturn.Applied
    is_tied = Q(transaction__connector__in=account.pays_out)
    returns = PayoutReturn.objects.filter(
        is_tied | Q(transaction=None) if account.is_at_bank else is_tied,
        applied__in=[applied.REVERSED, applied.FAILED, applied.UNMATCHED],
        currency=account.currency,
        at__gte=first,
    ).annotate(was_sent=Exists(MatchedItem.objects.filter(kind=PAYOUT, item=OuterRef("transaction_id"))))
    differing = Break.objects.filter(kind=Break.Kind.DIFFERS, item=OuterRef("pk"), ended_at=None)
    returns = returns.filter(~Exists(differing.exclude(account=account)))
    may_be_elsewhere = not _is_first_to_pay(account)
    for returned in _open(RETURN, returns):
        is_unsure = returned.applied == applied.FAILED and not returned.was_sent
        yield LedgerLine(
            kind=RETURN,
            id=returned.pk,
            references=_non_empty(returned.bank_reference),
            amount=returned.amount,
            day=business_day(returned.at),
            may_be_missing=is_unsure or (returned.transaction_id is None and may_be_elsewhere),
        )


def _is_first_to_pay(account: BankAccount) -> bool:
    """Return whether an account is the first one at a bank, by name, that payouts in its currency leave from."""
    at_banks = BankAccount.objects.filter(kind=BankAccount.Kind.BANK, currency=account.currency)
    return next((each for each in at_banks.order_by("name") if each.pays_out), account) == account


def _refunds(first: datetime, currency: str, connectors: list[str]) -> Iterator[LedgerLine]:
    """Refunds of transfer payments, which a bank lists like payouts."""
    refunds = CardOperation.objects.filter(
        kind=CardOperation.Kind.REFUND,
        status=SUCCESS,
        connector__in=connectors,
        transaction__currency=currency,
        finished_at__gte=first,
    )
    for refund in _open(REFUND, refunds):
        yield LedgerLine(
            kind=REFUND,
            id=refund.pk,
            references=_order_references(refund),
            amount=-refund.amount,
            day=business_day(refund.finished_at),
        )


def _transfers(first: datetime, currency: str, accounts: Collection[str]) -> Iterator[LedgerLine]:
    """Transfers that were notified, except those that were unclaimed when their line was matched.

    `accounts`: ours at the provider that took them, or an empty text for the hosting bank.
    """
    unclaimed = UnclaimedTransfer.objects.filter(bank_reference=OuterRef(OuterRef("bank_reference")))
    matched = MatchedItem.objects.filter(kind=UNCLAIMED, item__in=unclaimed.values("pk"))
    transfers = Transfer.objects.filter(
        ~Exists(matched), provider_account__in=accounts, currency=currency, received_at__gte=first
    )
    yield from _received(TRANSFER, transfers)


def _unclaimed_transfers(first: datetime, currency: str, accounts: Collection[str]) -> Iterator[LedgerLine]:
    """Transfers that no account could accept. A notification that contradicts an earlier one isn't more money.

    What was assigned to an account since is a transfer of that account.
    """
    assigned = Transfer.objects.filter(bank_reference=OuterRef("bank_reference"))
    unclaimed = UnclaimedTransfer.objects.filter(
        ~Exists(assigned), provider_account__in=accounts, currency=currency, received_at__gte=first
    )
    yield from _received(UNCLAIMED, unclaimed.exclude(why=UnclaimedTransfer.Why.CONFLICT))


def _received(kind: str, transfers: QuerySet[Any]) -> Iterator[LedgerLine]:
    for transfer in _open(kind, transfers):
        yield LedgerLine(
            kind=kind,
            id=transfer.pk,
            references=(transfer.bank_reference,),
            amount=transfer.amount,
            day=business_day(transfer.received_at),
        )


def _top_ups(first: datetime, account: BankAccount) -> Iterator[LedgerLine]:
    """Money that staff added to a wallet because the bank had received it. The reason may be the bank's reference.

    Each is expected on the account that it names. Those that name none, and weren't reversed, are on the account that
    receives top-ups.
    """
    legs = JournalLeg.objects.filter(journal=OuterRef("entry__cause"), kind=Account.Kind.BANK)
    received = Posting.objects.filter(
        entry__kind=Entry.Kind.TOP_UP,
        entry__currency=account.currency,
        entry__at__gte=first,
        account__kind=Account.Kind.WALLET,
    )
    here = Q(Exists(legs.filter(name=account.name)))
    if TOP_UPS in account.receives:
        here |= ~Exists(legs) & ~Exists(Journal.objects.filter(reverses=OuterRef("entry__cause")))
    for posting in _open(TOP_UP, received.filter(here).select_related("entry"), key="entry__cause"):
        entry = posting.entry
        yield LedgerLine(
            kind=TOP_UP,
            id=entry.cause,
            references=_non_empty(entry.note),
            amount=posting.amount,
            day=business_day(entry.at),
        )


def _journals(first: datetime, account: BankAccount) -> Iterator[LedgerLine]:
    """What staff booked for an account. Top-ups are expected apart."""
    legs = legs_of(account).filter(journal__at__gte=first, journal__currency=account.currency)
    for leg in _open(JOURNAL, legs.exclude(journal__code=Journal.Code.FUNDING).select_related("journal")):
        yield line_of(leg)


def legs_of(account: BankAccount) -> QuerySet[JournalLeg]:
    kind, name = account.house_account
    return JournalLeg.objects.filter(kind=kind, name=name)


def line_of(leg: JournalLeg) -> LedgerLine:
    """Return what is expected on a statement for a leg of one of our accounts at banks, acquirers and providers."""
    is_top_up = leg.journal.code == Journal.Code.FUNDING
    return LedgerLine(
        kind=TOP_UP if is_top_up else JOURNAL,
        id=leg.journal_id if is_top_up else leg.pk,
        references=(),
        amount=-leg.amount,
        day=business_day(leg.journal.at),
    )


def _order_references(order: Transaction | CardOperation) -> tuple[str, ...]:
    """Return the bank's reference of a payout or refund."""
    return _non_empty(order.acquirer_transaction_id)


def _non_empty(*references: str | None) -> tuple[str, ...]:
    return tuple(reference for reference in references if reference)
