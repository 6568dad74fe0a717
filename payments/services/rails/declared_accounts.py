"""Accounts at connectors: which are declared to be the same, and which orders wait for another one."""

from collections import Counter
from threading import Lock

from cachetools import TTLCache, cached
from django.db.models import Count

from payments import rails
from payments.models import AccountDeclaration, CardOperation, Transaction
from payments.rails import SentTo

CACHED_FOR = 5.0  # seconds


@cached(TTLCache(maxsize=1, ttl=CACHED_FOR), lock=Lock())
def cached_declarations() -> list[tuple[str, str, str]]:
    """Return connector, former and present account of each declaration, as read within the last seconds."""
    return list(AccountDeclaration.objects.values_list("connector", "former", "present"))


def sent_to(connector: str, account: str) -> SentTo:
    """Return where an order was sent, with the accounts that are declared to be the same.

    Until 0.2, orders stored no account. They belong to the one that their connector is configured for.
    """
    same = {account} - {""}
    pairs = [{former, present} for name, former, present in cached_declarations() if name == connector]
    for _ in pairs:  # each pass may link a further pair
        same.update(*(pair for pair in pairs if pair & same))
    return SentTo(connector, frozenset(same))


def same_as(connector: str, account: str) -> frozenset[str]:
    """Return an account with those that are declared to be the same."""
    return sent_to(connector, account).accounts | {account}


def waits(subject: Transaction | CardOperation) -> bool:
    """Return whether a transaction, or a refund by bank transfer, was sent to another account than the configured one."""
    where = sent_to(subject.connector, subject.account)
    return bool(where.accounts) and not where.accounts & rails.accounts(subject.connector)


def waiting() -> dict[tuple[str, str], int]:
    """Return the number of unanswered orders that wait for another account, by connector and account."""
    operations = CardOperation.objects.unanswered()
    found: Counter[tuple[str, str]] = Counter()
    for rows, prefix in (
        (Transaction.objects.unanswered(), ""),
        (operations.exclude(connector=""), ""),
        (operations.filter(connector=""), "transaction__"),
    ):
        grouped = rows.order_by().values_list(f"{prefix}connector", f"{prefix}account")
        for name, account, count in grouped.annotate(Count("pk")):
            found[name, account] += count
    return {
        (name, account): count
        for (name, account), count in sorted(found.items())
        if account and not sent_to(name, account).accounts & rails.accounts(name)
    }
