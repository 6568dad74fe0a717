"""Row locks: the order in which they are taken, and the errors raised when one can't be acquired.

Every database transaction locks rows in this order, and rows of one table by ascending id:

1. proposal of staff; then the journal that it reverses, and bank accounts of ours
2. virtual account (shared by transfers and new sessions)
3. hosted checkout
4. session of a virtual account; unapplied money; settlement batch (then those whose debts it brings forward); debt of a
   business
5. settlement account, then its change
6. controls of a business's payouts
7. transaction, with its operations, refunds, reversals and disputes; then the unapplied money whose return this payout
   was, or the report of the dispute
8. approval of a payout, or question to a business's server
9. payment link
10. ledger accounts

The import of a statement, and matching, lock the account of ours that it is of after a proposal, and before all others: a
line of a dispute's debit then locks the payment.

Ledger accounts come last and are locked together. One entry locks its own accounts by id, in one statement
(`ledger.booking.posting`). A database transaction that books more than one entry passes all of them to
`ledger.services.book_all`, which locks the accounts of all entries first. `book` locks the wallet, the
pending account and the accounts of an entry that must be covered. Two bookings in one database transaction without
that can deadlock: the second waits for a lower id than the first one holds. `tests/payments/test_lock_order.py`
stops every action at each account in turn.
"""

from django.db import OperationalError

NOT_AVAILABLE = "55P03"  # lock_timeout has passed
DEADLOCK = "40P01"


def code_of(error: Exception) -> str:
    """Return PostgreSQL's code of a database error, or "" for any other error."""
    return getattr(error.__cause__, "sqlstate", None) or ""


def is_lock_timeout(error: Exception) -> bool:
    """Return whether waiting for a lock timed out because another transaction holds it."""
    return isinstance(error, OperationalError) and code_of(error) == NOT_AVAILABLE


def is_lock_error(error: Exception) -> bool:
    """Return whether only the rows were locked, while the database is available."""
    return isinstance(error, OperationalError) and code_of(error) in {NOT_AVAILABLE, DEADLOCK}
