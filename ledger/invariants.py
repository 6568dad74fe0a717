"""What must always hold, as data: each rule is one SELECT that finds the rows that break it.

Every statement sees one moment of the database, so the rules hold while money moves. Most rules compare rows that share
a key, so that they are checked in ranges of keys: each statement reads about `RANGE` rows of each table, however many
there are. Sums and sequences over whole tables are checked in one statement. Those here are the ledger's own.
`payments.invariants.registry` lists them together with those that tie the ledger to payments, as does
`docs/operations/invariants.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import UUIDField

from kit.db import postgresql
from ledger.models import BUSINESS_KINDS, HOUSE_KINDS, OPENED_AT_USE, Account, Entry, Posting

SHOWN = 20  # violating rows shown per rule
RANGE = 50_000  # rows of a rule's first table in one statement
# The planner would rather read a whole table than look up many rows of it, which takes longer for all ranges. Where no
# index helps, "off" is a huge cost, for which it would also compile the statement.
LOOKUPS = {"enable_seqscan": "off", "jit": "off"}
WHOLE_TABLES_LIMIT = "15min"  # for a statement that isn't divided; the limit of requests is shorter
LARGE = 8 * 1024 * 1024  # bytes of postings; smaller tables are fast with any query plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """A rule with a SELECT of one text column that names each violating row."""

    name: str
    rule: str
    sql: str
    on_sqlite: str = ""  # if SQLite needs different SQL
    # Tables that are read a range of keys at a time, as the SQL names them ("table alias"), with the column of the key.
    # A row that breaks the rule must follow from rows with the same key, and the columns must have indexes.
    keys: Mapping[str, str] = field(default_factory=dict)

    @property
    def statement(self) -> str:
        return self.on_sqlite if self.on_sqlite and connection.vendor == "sqlite" else self.sql

    def statement_within(self, keys: KeyRange) -> str:
        """Return the statement for the rows whose key is in a range."""
        statement = self.statement
        for source, column in self.keys.items():
            table, alias = source.split()
            statement = statement.replace(
                source, f"(SELECT * FROM {table} WHERE {keys.condition(column)}) {alias}"
            )
        return statement


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys after one and up to another, as SQL literals. "" is no bound; without both, a range includes rows without a key."""

    after: str
    until: str
    is_missing: bool = False  # only rows without a key

    def condition(self, column: str) -> str:
        if self.is_missing:
            return f"{column} IS NULL"
        if self.after and self.until:
            return f"{column} > {_unestimated(self.after)} AND {column} <= {_unestimated(self.until)}"
        if self.after:
            return f"{column} > {self.after}"
        return f"{column} <= {self.until}" if self.until else "TRUE"


def _unestimated(bound: str) -> str:
    """Return a bound whose value PostgreSQL's planner doesn't use: it assumes that a range has 0.5 % of the rows.

    From UUIDs, it would estimate one row for a range that is narrower than a bucket of its histogram, and compare each
    row of one table with each row of the other.
    """
    is_uuid = bound.startswith("'")
    return f"(SELECT CAST({bound} AS {UUIDField().db_type(connection)}))" if is_uuid else bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of checking a rule."""

    invariant: Invariant
    broken: list[str]  # the first SHOWN violating rows
    milliseconds: float

    @property
    def holds(self) -> bool:
        return not self.broken


def lacks_statistics() -> bool:
    """Return whether the postings table is large but has no planner statistics yet, as after a restore.

    Without statistics, checks that take seconds may take hours.
    """
    ask = "SELECT reltuples < 0 AND pg_relation_size(oid) > %s FROM pg_class WHERE oid = %s::regclass"
    return any(lacks for (lacks,) in postgresql.rows(ask, [LARGE, Posting._meta.db_table]))


def check(invariants: Iterable[Invariant]) -> Iterator[Checked]:
    """Check each rule for violating rows. Read-only."""
    ranges: dict[tuple[str, str], list[KeyRange]] = {}
    with connection.cursor() as cursor:
        for invariant in invariants:
            started = perf_counter()
            broken = (
                _broken_in_ranges(cursor, invariant, ranges) if invariant.keys else _broken(cursor, invariant)
            )
            milliseconds = (perf_counter() - started) * 1000
            yield Checked(invariant=invariant, broken=broken, milliseconds=milliseconds)


def _broken(cursor: CursorWrapper, invariant: Invariant) -> list[str]:
    return _rows(cursor, invariant.statement, SHOWN, statement_timeout=WHOLE_TABLES_LIMIT)


def _broken_in_ranges(
    cursor: CursorWrapper, invariant: Invariant, ranges: dict[tuple[str, str], list[KeyRange]]
) -> list[str]:
    """Return the violating rows of all ranges. `ranges` keeps the ranges of each table for the next rules."""
    source, column = next(iter(invariant.keys.items()))
    table = source.split()[0]
    if (table, column) not in ranges:
        ranges[table, column] = list(_key_ranges(cursor, table, column))
    settings = LOOKUPS if len(ranges[table, column]) > 1 else {}
    broken: list[str] = []
    for keys in ranges[table, column]:
        broken += _rows(cursor, invariant.statement_within(keys), SHOWN - len(broken), **settings)
        if len(broken) == SHOWN:
            break
    return broken


def _key_ranges(cursor: CursorWrapper, table: str, column: str) -> Iterator[KeyRange]:
    """Divide the keys of a table so that each range but the last has `RANGE` rows or a few more."""
    after = ""
    while True:
        following = f"WHERE {column} > {after}" if after else f"WHERE {column} IS NOT NULL"
        cursor.execute(
            f"SELECT {column} FROM {table} {following} ORDER BY {column} LIMIT 1 OFFSET {RANGE - 1}"
        )
        found = cursor.fetchone()
        if found is None:
            yield KeyRange(after, "")
            if after:  # apart, because a condition with OR reads the whole index
                yield KeyRange("", "", is_missing=True)
            return
        until = str(found[0]) if isinstance(found[0], int) else f"'{found[0]}'"
        yield KeyRange(after, until)
        after = until


def _rows(cursor: CursorWrapper, statement: str, limit: int, **settings: str) -> list[str]:
    """Return the first rows of a statement, run with other settings of PostgreSQL."""
    with postgresql.planning(**settings):
        cursor.execute(f"SELECT * FROM ({statement}) broken LIMIT {limit}")
        return [found for (found,) in cursor.fetchall()]


Kind = Account.Kind

# Accounts that an entry of each kind may post to. This lists all kinds.
MOVES: dict[Entry.Kind, tuple[Account.Kind, ...]] = {
    Entry.Kind.CARD: (Kind.ACQUIRER_RECEIVABLE, Kind.PENDING_SETTLEMENT, Kind.FEES, Kind.TAXES_PAYABLE),
    Entry.Kind.REFUND: (Kind.PENDING_SETTLEMENT, Kind.REFUNDS_PAYABLE, Kind.BANK_CLEARING),
    Entry.Kind.VIRTUAL_ACCOUNT: (
        Kind.BANK_CLEARING,
        Kind.PENDING_SETTLEMENT,
        Kind.FEES,
        Kind.TAXES_PAYABLE,
    ),
    Entry.Kind.PAYOUT_ACCEPTED: (Kind.WALLET, Kind.PAYOUTS_IN_FLIGHT),
    Entry.Kind.PAYOUT_SENT: (Kind.PAYOUTS_IN_FLIGHT, Kind.BANK_CLEARING, Kind.FEES, Kind.TAXES_PAYABLE),
    Entry.Kind.PAYOUT_FAILED: (Kind.PAYOUTS_IN_FLIGHT, Kind.WALLET, Kind.UNAPPLIED),
    Entry.Kind.PAYOUT_REVERSED: (Kind.BANK_CLEARING, Kind.WALLET, Kind.UNAPPLIED),
    Entry.Kind.SETTLEMENT_RELEASED: (Kind.PENDING_SETTLEMENT, Kind.WALLET),
    Entry.Kind.UNAPPLIED_IN: (Kind.BANK_CLEARING, Kind.UNAPPLIED),
    Entry.Kind.UNAPPLIED_OUT: (Kind.UNAPPLIED, Kind.BANK_CLEARING, Kind.WALLET),
    Entry.Kind.TAX: (Kind.WALLET, Kind.PAYOUTS_IN_FLIGHT),
    Entry.Kind.TOP_UP: (Kind.BANK_CLEARING, Kind.WALLET),
    Entry.Kind.SUSPENSE_IN: (Kind.BANK_CLEARING, Kind.ACQUIRER_RECEIVABLE, Kind.SUSPENSE),
    Entry.Kind.SUSPENSE_OUT: (Kind.SUSPENSE, Kind.BANK_CLEARING, Kind.ACQUIRER_RECEIVABLE, Kind.WRITE_OFFS),
    Entry.Kind.LATE_CHARGE_IN: (Kind.ACQUIRER_RECEIVABLE, Kind.LATE_CHARGES),
    Entry.Kind.LATE_CHARGE_OUT: (Kind.LATE_CHARGES, Kind.ACQUIRER_RECEIVABLE),
    Entry.Kind.DISPUTE_OPENED: (Kind.PENDING_SETTLEMENT, Kind.DISPUTES_HELD),
    Entry.Kind.DISPUTE_FEE: (Kind.PENDING_SETTLEMENT, Kind.FEES),
    Entry.Kind.DISPUTE_CLOSED: (
        Kind.DISPUTES_HELD,
        Kind.PENDING_SETTLEMENT,
        Kind.REFUNDS_PAYABLE,
        Kind.ACQUIRER_RECEIVABLE,
    ),
    Entry.Kind.DISPUTE_CORRECTED: (Kind.REFUNDS_PAYABLE, Kind.PENDING_SETTLEMENT, Kind.ACQUIRER_RECEIVABLE),
    Entry.Kind.RESERVE_HELD: (Kind.WALLET, Kind.RESERVE),
    Entry.Kind.RESERVE_RETURNED: (Kind.RESERVE, Kind.WALLET),
    Entry.Kind.CHARGEBACK_PAID: (Kind.REFUNDS_PAYABLE, Kind.ACQUIRER_RECEIVABLE),
    Entry.Kind.CHARGEBACK_IN: (Kind.CHARGEBACK_CLEARING, Kind.ACQUIRER_RECEIVABLE),
    Entry.Kind.CHARGEBACK_OUT: (Kind.CHARGEBACK_CLEARING, Kind.ACQUIRER_RECEIVABLE),
    Entry.Kind.STATEMENT_OPENED: (
        Kind.BANK,
        Kind.ACQUIRER,
        Kind.PROVIDER,
        Kind.BANK_CLEARING,
        Kind.ACQUIRER_RECEIVABLE,
    ),
    Entry.Kind.STATEMENT_MATCHED: (
        Kind.BANK,
        Kind.ACQUIRER,
        Kind.PROVIDER,
        Kind.BANK_CLEARING,
        Kind.ACQUIRER_RECEIVABLE,
        Kind.COSTS,
    ),
    Entry.Kind.JOURNAL: (
        Kind.WALLET,
        Kind.PENDING_SETTLEMENT,
        Kind.UNAPPLIED,
        Kind.ACQUIRER_RECEIVABLE,
        Kind.TAXES_PAYABLE,
        Kind.BANK_CLEARING,
    ),
    Entry.Kind.RESERVES_MIRRORED: (Kind.RESERVES, Kind.RESERVES_CONTRA),
    Entry.Kind.JOURNAL_HOUSE: (Kind.BANK_CLEARING, Kind.SUSPENSE, Kind.COSTS, Kind.WRITE_OFFS),
}
_MAY_MOVE = ", ".join(f"('{kind}', '{account}')" for kind, accounts in MOVES.items() for account in accounts)

INVARIANTS = (
    Invariant(
        name="entries_sum_to_zero",
        rule="The postings of an entry sum to zero.",
        sql="""
            SELECT 'entry ' || entry_id || ': ' || sum(amount)
            FROM ledger_posting posting GROUP BY entry_id HAVING sum(amount) <> 0
        """,
        keys={"ledger_posting posting": "entry_id"},
    ),
    Invariant(
        name="entries_have_postings",
        rule="An entry has postings.",
        sql="""
            SELECT 'entry ' || entry.id FROM ledger_entry entry
            WHERE NOT EXISTS (SELECT 1 FROM ledger_posting posting WHERE posting.entry_id = entry.id)
        """,
        keys={"ledger_posting posting": "entry_id", "ledger_entry entry": "id"},
    ),
    Invariant(
        name="postings_have_entries",
        rule="A posting belongs to an entry.",
        sql="""
            SELECT 'posting ' || posting.id FROM ledger_posting posting
            WHERE NOT EXISTS (SELECT 1 FROM ledger_entry entry WHERE entry.id = posting.entry_id)
        """,
        keys={"ledger_posting posting": "entry_id", "ledger_entry entry": "id"},
    ),
    Invariant(
        name="postings_have_accounts",
        rule="A posting belongs to an account.",
        sql="""
            SELECT 'posting ' || posting.id FROM ledger_posting posting
            WHERE NOT EXISTS (SELECT 1 FROM ledger_account WHERE id = account_id)
        """,
        keys={"ledger_posting posting": "id"},
    ),
    Invariant(
        name="balances_are_sums",
        rule="An account's balance is the sum of its postings, its sequence their number.",
        sql="""
            SELECT 'account ' || account.id || ': ' || balance || ' after ' || sequence || ', posted '
                || coalesce(posted, 0) || ' in ' || coalesce(postings, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT account_id, sum(amount) AS posted, count(*) AS postings
                FROM ledger_posting GROUP BY account_id
            ) summed ON account_id = account.id
            WHERE balance <> coalesce(posted, 0) OR sequence <> coalesce(postings, 0)
        """,
    ),
    Invariant(
        name="postings_are_chained",
        rule="A posting continues the previous one: sequence number, balance and hash.",
        sql="""
            SELECT 'posting ' || posting.id
            FROM ledger_posting posting LEFT JOIN ledger_posting previous
                ON previous.account_id = posting.account_id AND previous.sequence = posting.sequence - 1
            WHERE previous.id IS NULL AND (posting.sequence <> 1 OR length(posting.previous_hash) > 0)
                OR posting.balance_after <> coalesce(previous.balance_after, 0) + posting.amount
                OR posting.previous_hash <> previous.hash
        """,
        keys={"ledger_posting posting": "id"},
    ),
    Invariant(
        name="hashes_are_valid",
        rule="A posting's hash covers the values of the posting and its entry.",
        sql="""
            SELECT 'posting ' || posting.id
            FROM ledger_posting posting JOIN ledger_entry entry ON entry.id = entry_id
            WHERE hash <> sha256(convert_to(
                encode(previous_hash, 'hex') || '|' || account_id || '|' || sequence || '|' || amount || '|'
                || balance_after || '|' || kind || '|' || cause || '|'
                || (extract(epoch FROM at) * 1000000)::bigint || '|' || note, 'UTF8'))
        """,
        # Django's SHA256 of a text, in hexadecimal. Times have six decimals or none, which SQLite would round to
        # milliseconds, and UUIDs no hyphens.
        on_sqlite="""
            SELECT 'posting ' || posting.id
            FROM ledger_posting posting JOIN ledger_entry entry ON entry.id = entry_id
            WHERE lower(hex(hash)) <> sha256(
                lower(hex(previous_hash)) || '|' || account_id || '|' || sequence || '|' || amount || '|'
                || balance_after || '|' || kind || '|'
                || substr(cause, 1, 8) || '-' || substr(cause, 9, 4) || '-' || substr(cause, 13, 4) || '-'
                || substr(cause, 17, 4) || '-' || substr(cause, 21) || '|'
                || (strftime('%s', substr(at, 1, 19)) * 1000000 + substr(at || '.000000', 21, 6)) || '|' || note)
        """,
        keys={"ledger_posting posting": "entry_id", "ledger_entry entry": "id"},
    ),
    Invariant(
        name="account_hashes_match_their_last_posting",
        rule="An account's hash is that of its last posting.",
        sql="""
            SELECT 'account ' || account.id
            FROM ledger_account account LEFT JOIN ledger_posting last
                ON last.account_id = account.id AND last.sequence = account.sequence
            WHERE account.sequence > 0 AND (last.hash IS NULL OR last.hash <> account.hash)
        """,
    ),
    Invariant(
        name="entries_stay_in_one_business_and_currency",
        rule="All accounts that an entry posts to have its business and currency, or none is of a business.",
        sql="""
            SELECT 'posting ' || posting.id
            FROM ledger_posting posting
                JOIN ledger_entry entry ON entry.id = entry_id
                JOIN ledger_account account ON account.id = account_id
            WHERE account.business_id IS DISTINCT FROM entry.business_id OR account.currency <> entry.currency
        """,
        keys={"ledger_posting posting": "entry_id", "ledger_entry entry": "id"},
    ),
    Invariant(
        name="entries_post_to_accounts_of_their_kind",
        rule="An entry posts only to the accounts of its kind.",
        sql=f"""
            SELECT 'posting ' || posting.id || ': ' || entry.kind || ' on ' || account.kind
            FROM ledger_posting posting
                JOIN ledger_entry entry ON entry.id = entry_id
                JOIN ledger_account account ON account.id = account_id
            WHERE (entry.kind, account.kind) NOT IN (VALUES {_MAY_MOVE})
        """,
        keys={"ledger_posting posting": "entry_id", "ledger_entry entry": "id"},
    ),
    Invariant(
        name="accounts_sum_to_zero",
        rule="The accounts of a business in one currency sum to zero, and so do the house accounts.",
        sql="""
            SELECT coalesce('business ' || business_id, 'house') || ' ' || currency || ': ' || sum(balance)
            FROM ledger_account GROUP BY business_id, currency HAVING sum(balance) <> 0
        """,
    ),
    Invariant(
        name="accounts_are_complete",
        rule="A business, and the house, has all its kinds of accounts in a currency, or none. Accounts of banks are opened "
        "at first use.",
        sql=f"""
            SELECT coalesce('business ' || business_id, 'house') || ' ' || currency
            FROM ledger_account WHERE kind NOT IN {OPENED_AT_USE} GROUP BY business_id, currency
            HAVING count(*) <> CASE WHEN business_id IS NULL THEN {len(HOUSE_KINDS)} ELSE {len(BUSINESS_KINDS)} END
        """,
    ),
    Invariant(
        name="balances_have_the_right_sign",
        rule="Accounts of money in flight, unapplied, in suspense, charged late, held for disputes or in reserve, earned or payable are never negative, nor are a business's taxes; "
        "a business's receivable from the acquirer is never positive, nor is what the acquirer debited for open disputes.",
        sql="""
            SELECT 'account ' || id || ' ' || kind || ': ' || balance FROM ledger_account
            WHERE balance < 0 AND kind IN (
                    'payouts_in_flight', 'unapplied', 'suspense', 'late_charges', 'disputes_held', 'reserve', 'reserves',
                    'fees', 'refunds_payable')
                OR balance > 0 AND (
                    kind = 'acquirer_receivable' AND business_id IS NOT NULL OR kind = 'chargeback_clearing')
                OR balance < 0 AND kind = 'taxes_payable' AND business_id IS NOT NULL
        """,
    ),
    Invariant(
        name="covered_payouts_were_covered",
        rule="A payout that had to be covered debited at most the wallet's balance less the business's debt.",
        # The ids of postings ascend in the order in which the wallet and the pending account were locked.
        sql="""
            SELECT 'entry ' || entry_id || ': ' || wallet || ' in the wallet, pending ' || pending
            FROM (
                SELECT posting.entry_id, entry.is_covered, account.kind,
                    sum(CASE account.kind WHEN 'wallet' THEN posting.amount ELSE 0 END) OVER so_far AS wallet,
                    sum(CASE account.kind WHEN 'wallet' THEN 0 ELSE posting.amount END) OVER so_far AS pending
                FROM ledger_posting posting
                    JOIN ledger_entry entry ON entry.id = posting.entry_id
                    JOIN ledger_account account ON account.id = posting.account_id
                WHERE account.kind IN ('wallet', 'pending_settlement')
                WINDOW so_far AS (PARTITION BY account.business_id, account.currency ORDER BY posting.id)
            ) posting
            WHERE is_covered AND kind = 'wallet'
                AND wallet + CASE WHEN pending < 0 THEN pending ELSE 0 END < 0
        """,
    ),
    Invariant(
        name="top_ups_are_audited",
        rule="A top-up is in the audit trail, with the person and the reason.",
        sql="""
            SELECT 'entry ' || entry.id FROM ledger_entry entry
            WHERE kind = 'top_up' AND NOT EXISTS (
                SELECT 1 FROM merchants_auditentry audit
                WHERE action = 'wallet.topped_up' AND target = CAST(cause AS text)
                    AND audit.business_id = entry.business_id)
        """,
        on_sqlite="""
            SELECT 'entry ' || entry.id FROM ledger_entry entry
            WHERE kind = 'top_up' AND NOT EXISTS (
                SELECT 1 FROM merchants_auditentry audit
                WHERE action = 'wallet.topped_up' AND replace(target, '-', '') = cause
                    AND audit.business_id = entry.business_id)
        """,
    ),
)
