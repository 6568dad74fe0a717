"""SQL about ledger entries that several invariants use."""

# One row for each posting to an account by an entry of one kind, with the entry's cause.
_MOVED = """
    SELECT entry.cause, entry.currency, entry.business_id, posting.amount
    FROM ledger_entry entry
        JOIN ledger_posting posting ON posting.entry_id = entry.id
        JOIN ledger_account account ON account.id = posting.account_id
    WHERE entry.kind = '{kind}' AND account.kind = '{account}'
"""


# The entries of one kind whose cause isn't a row with the condition.
_WITHOUT_CAUSE = """
    SELECT 'entry ' || entry.id
    FROM ledger_entry entry LEFT JOIN {table} {alias}
        ON {alias}.id = entry.cause AND {condition}
    WHERE entry.kind = '{kind}' AND {alias}.id IS NULL
"""


# One row for each leg of a journal, of one kind of account.
_LEGS_OF_JOURNALS = """
    SELECT {columns} FROM payments_journalleg leg JOIN payments_journal journal ON journal.id = leg.journal_id
    WHERE leg.kind = '{account}'
"""


def legs_of_journals(account: str, columns: str = "journal.currency, leg.amount") -> str:
    return _LEGS_OF_JOURNALS.format(account=account, columns=columns)


def moved(kind: str, account: str) -> str:
    return _MOVED.format(kind=kind, account=account)


def without_cause(kind: str, *, table: str, alias: str, condition: str) -> str:
    return _WITHOUT_CAUSE.format(kind=kind, table=table, alias=alias, condition=condition)
