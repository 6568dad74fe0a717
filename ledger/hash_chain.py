"""The chain that an account's postings form: each one's hash covers it and the hash of the one before.

Whoever edits, removes or inserts a posting of the past would have to write every later one anew, and the
account's own row too; `check_ledger` recomputes them all. `bookings` has the same rule in SQL.

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

FIRST = b""  # what the first posting of an account follows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def entry_text(*, kind: str, cause: UUID, at: datetime, note: str) -> str:
    """Return what a posting's hash covers of its entry. The note comes last: it may hold any character."""
    return f"{kind}|{cause}|{(at - EPOCH) // MICROSECOND}|{note}"


def posting_text(
    previous: bytes, *, account_id: int, sequence: int, amount: int, balance: int, entry: str
) -> str:
    """Return what is hashed; `balance` is the account's after the posting."""
    return f"{previous.hex()}|{account_id}|{sequence}|{amount}|{balance}|{entry}"


def link(previous: bytes, *, account_id: int, sequence: int, amount: int, balance: int, entry: str) -> bytes:
    """Return the hash of a posting that follows the one whose hash is `previous`."""
    text = posting_text(
        previous, account_id=account_id, sequence=sequence, amount=amount, balance=balance, entry=entry
    )
    return hashlib.sha256(text.encode()).digest()
