"""Hash chain of an account's postings: each hash covers the posting and the hash of the previous one.

Editing, removing or inserting a past posting would require rewriting every later one and the account's row.
`check_ledger` recomputes all hashes. `posting` and `invariants` implement the same rule in SQL.

>>> from datetime import UTC, datetime
>>> from uuid import UUID
>>> about = entry_text(kind="card", cause=UUID(int=7), at=datetime(2026, 1, 1, tzinfo=UTC), note="")
>>> about
'card|00000000-0000-0000-0000-000000000007|1767225600000000|'
>>> posting_text(FIRST, account_id=3, sequence=1, amount=985, balance=985, entry=about)
'|3|1|985|985|card|00000000-0000-0000-0000-000000000007|1767225600000000|'
>>> link(FIRST, account_id=3, sequence=1, amount=985, balance=985, entry=about).hex()[:16]
'584af00069d26897'
"""

import hashlib
from datetime import UTC, datetime, timedelta
from uuid import UUID

FIRST = b""  # previous hash of an account's first posting

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def entry_text(*, kind: str, cause: UUID, at: datetime, note: str) -> str:
    """Return the hashed text of an entry. The note comes last, because it may contain any character."""
    return f"{kind}|{cause}|{(at - EPOCH) // MICROSECOND}|{note}"


def posting_text(
    previous: bytes, *, account_id: int, sequence: int, amount: int, balance: int, entry: str
) -> str:
    """Return the hashed text of a posting. `balance` is the account's balance after it."""
    return f"{previous.hex()}|{account_id}|{sequence}|{amount}|{balance}|{entry}"


def link(previous: bytes, *, account_id: int, sequence: int, amount: int, balance: int, entry: str) -> bytes:
    """Return the hash of a posting. `previous` is the hash of the previous one."""
    text = posting_text(
        previous, account_id=account_id, sequence=sequence, amount=amount, balance=balance, entry=entry
    )
    return hashlib.sha256(text.encode()).digest()
