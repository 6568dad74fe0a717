"""Booking of entries: accounts are locked in the order of their ids, postings are linked in a hash chain.

On PostgreSQL this is one statement. SQLite has one writer at a time and uses separate statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max

from kit.db.prepared_statements import insert
from kit.text.masking import mask_card_numbers
from ledger import hash_chain
from ledger.booking.account_ids import account_ids, named_account_id
from ledger.models import Account, Entry, Posting

Kind = Account.Kind
# Minor units of one entry. A balance of up to 2**63 has room for hundreds of these.
LARGEST_ENTRY = 10**16


class Unbalanced(ValueError):
    """The legs of a booking don't sum to zero, or there are fewer than two."""


@dataclass(frozen=True, kw_only=True)
class Booking:
    """An entry to be written, with the amount of each account in minor units: positive for a credit.

    Legs of zero are omitted.

    :raises Unbalanced: the legs do not sum to zero
    """

    kind: Entry.Kind
    cause: UUID
    business_id: UUID | None  # None: it posts to house accounts
    currency: str
    legs: Mapping[Account.Kind, int]
    # House accounts of banks, by kind and name.
    named_legs: Mapping[tuple[Account.Kind, str], int] = field(default_factory=dict)
    at: datetime
    note: str = ""
    is_covered: bool = False  # must be, and `ledger.services.book` checks it

    def __post_init__(self) -> None:
        # The entry is written without its model, and the chain of hashes covers the note.
        object.__setattr__(self, "note", mask_card_numbers(self.note))
        amounts = [amount for amount in (*self.legs.values(), *self.named_legs.values()) if amount]
        if sum(amounts) or not amounts:
            raise Unbalanced(f"{self.kind} {self.cause}: {dict(self.legs)} {dict(self.named_legs)}")

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of `STATEMENT`."""
        amounts = self.amounts
        return {
            "entry_kind": str(self.kind),
            "entry_cause": self.cause,
            "entry_business": self.business_id,
            "entry_currency": self.currency,
            "entry_at": self.at,
            "entry_note": self.note,
            "entry_is_covered": self.is_covered,
            "accounts": list(amounts),
            "amounts": list(amounts.values()),
            "entry_text": self._text,
        }

    def write(self) -> bool:
        """Write the entry; return False if its cause was booked before."""
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(STATEMENT, self.parameters)
                return bool(cursor.fetchone()[0])
        with transaction.atomic():
            return self._write_rows()

    @cached_property
    def amounts(self) -> dict[int, int]:
        """Amounts by account id, in locking order."""
        ids = account_ids(self.business_id, self.currency)
        legs = {ids[kind]: amount for kind, amount in self.legs.items() if amount}
        for (kind, name), amount in self.named_legs.items():
            legs[named_account_id(self.currency, kind, name)] = amount
        return dict(sorted(legs.items()))

    @property
    def _text(self) -> str:
        return hash_chain.entry_text(kind=self.kind, cause=self.cause, at=self.at, note=self.note)

    def _write_rows(self) -> bool:
        """Write the postings and then the entry, on SQLite. A trigger on the entry checks that they balance."""
        if Entry.objects.filter(kind=self.kind, cause=self.cause).exists():
            return False
        entry = Entry(
            id=1 + (Entry.objects.aggregate(last=Max("pk"))["last"] or 0),  # there is no other writer
            kind=self.kind,
            cause=self.cause,
            business_id=self.business_id,
            currency=self.currency,
            note=self.note,
            is_covered=self.is_covered,
            at=self.at,
        )
        accounts = Account.objects.in_bulk(list(self.amounts))
        for account_id, amount in self.amounts.items():
            account = accounts[account_id]
            insert(_posting(account, entry.pk, amount, self._text))
            account.save(update_fields=["balance", "sequence", "hash"])
        entry.save(force_insert=True)
        return True


def lock_accounts(ids: Iterable[int]) -> dict[int, int]:
    """Lock accounts in the order of their ids until the transaction ends; return their balances by id.

    A single entry locks its own accounts in this order. A transaction that books several entries must lock the
    accounts of all of them first, or it could hold a higher id while it waits for a lower one.
    """
    accounts = Account.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    return dict(accounts.values_list("pk", "balance"))


def _posting(account: Account, entry_id: int, amount: int, entry: str) -> Posting:
    """Return the account's next posting, and update the account."""
    previous = bytes(account.hash)
    account.balance += amount
    account.sequence += 1
    account.hash = hash_chain.link(
        previous,
        account_id=account.pk,
        sequence=account.sequence,
        amount=amount,
        balance=account.balance,
        entry=entry,
    )
    return Posting(
        entry_id=entry_id,
        account=account,
        amount=amount,
        sequence=account.sequence,
        balance_after=account.balance,
        previous_hash=previous,
        hash=account.hash,
    )


def entry_if(row: str) -> str:
    """Return common table expressions that write an entry with its postings if a relation has a row.

    The parameters are those of `Booking.parameters`. Each part depends on the previous one, so an entry that already
    exists locks and books nothing. A missing account makes its posting violate a constraint, which aborts the whole
    statement.
    """
    return _ENTRY.format(row=row)


_ENTRY = """entry AS (
    INSERT INTO ledger_entry (kind, cause, business_id, currency, at, note, is_covered)
    SELECT %(entry_kind)s::varchar, %(entry_cause)s::uuid, %(entry_business)s::uuid, %(entry_currency)s::varchar,
           %(entry_at)s::timestamptz, %(entry_note)s::varchar, %(entry_is_covered)s::boolean
    FROM {row}
    ON CONFLICT (kind, cause) DO NOTHING
    RETURNING id
),
leg AS (
    SELECT entry.id AS entry_id, account_id, amount
    FROM entry, unnest(%(accounts)s::bigint[], %(amounts)s::bigint[]) AS given (account_id, amount)
),
locked AS (
    SELECT account.id, leg.amount, account.sequence + 1 AS sequence,
           account.balance + leg.amount AS balance, account.hash AS previous_hash
    FROM leg JOIN ledger_account account ON account.id = leg.account_id
    ORDER BY account.id FOR UPDATE OF account
),
linked AS (
    SELECT *, sha256(convert_to(
        encode(previous_hash, 'hex') || '|' || id || '|' || sequence || '|' || amount || '|' || balance
        || '|' || %(entry_text)s::text, 'UTF8')) AS hash
    FROM locked
),
updated AS (
    UPDATE ledger_account account
    SET balance = linked.balance, sequence = linked.sequence, hash = linked.hash
    FROM linked WHERE account.id = linked.id
),
posted AS (
    INSERT INTO ledger_posting
        (entry_id, account_id, amount, sequence, balance_after, previous_hash, hash)
    SELECT leg.entry_id, linked.id, leg.amount, linked.sequence, linked.balance, previous_hash, hash
    FROM leg LEFT JOIN linked ON linked.id = leg.account_id
)"""

STATEMENT = f"WITH once AS (SELECT 1),\n{entry_if('once')}\nSELECT count(*) FROM entry"  # noqa: S608  (all constant)
