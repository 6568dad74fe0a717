"""SQL of the amounts that ledger entries posted to an account, for invariants to join with."""

# One row for each posting to an account by an entry of one kind, with the entry's cause.
_MOVED = """
    SELECT entry.cause, entry.currency, entry.business_id, posting.amount
    FROM ledger_entry entry
        JOIN ledger_posting posting ON posting.entry_id = entry.id
        JOIN ledger_account account ON account.id = posting.account_id
    WHERE entry.kind = '{kind}' AND account.kind = '{account}'
"""


def moved(kind: str, account: str) -> str:
    return _MOVED.format(kind=kind, account=account)
