"""The queue of queries about cases.

An open case is queried again and again, so that a lost webhook only costs time. A query without a case number asks which
cases are open, so that a new case is found without any webhook.
"""

from datetime import datetime, timedelta

from disputes.models import CaseQuery
from disputes.services.rails import due_rows
from disputes.services.rails.due_rows import held, next_try

LEASE = timedelta(minutes=2)
WHILE_OPEN = timedelta(minutes=20)  # between two queries of an open case
OF_THE_LIST = timedelta(minutes=10)


def make_due(case_number: str, *, connector: str, account: str, now: datetime) -> CaseQuery:
    """Make the query about a case due now."""
    query, is_new = CaseQuery.objects.get_or_create(
        connector=connector, account=account, case_number=case_number, defaults={"next_at": now}
    )
    if not is_new:
        CaseQuery.objects.filter(pk=query.pk).update(next_at=now, attempts=0)
    return query


def query_new_cases(numbers: list[str], *, connector: str, account: str, now: datetime) -> None:
    """Have cases queried that are listed as open and aren't queried already."""
    queried = CaseQuery.objects.filter(
        connector=connector, account=account, case_number__in=numbers, next_at__isnull=False
    )
    for number in sorted(set(numbers) - set(queried.values_list("case_number", flat=True))):
        make_due(number, connector=connector, account=account, now=now)


def start_listing(*, connector: str, account: str, now: datetime) -> None:
    """Have an account's open cases listed from now on."""
    CaseQuery.objects.get_or_create(
        connector=connector, account=account, case_number="", defaults={"next_at": now}
    )


def lease_next(*, now: datetime) -> CaseQuery | None:
    """Lease the query that has been due for longest, or return None if none is."""
    return due_rows.lease_next(CaseQuery, LEASE, now=now)


def record_answer(query: CaseQuery, *, again_after: timedelta | None, now: datetime) -> None:
    """Record that a query was answered. If it became due meanwhile, such as by a webhook, it stays due."""
    next_at = None if again_after is None else now + again_after
    held(query).update(next_at=next_at)
    CaseQuery.objects.filter(pk=query.pk).update(answered_at=now, attempts=0, last_error="")


def record_failure(query: CaseQuery, error: str, *, now: datetime) -> None:
    """Record that a query wasn't answered. It is repeated."""
    held(query).update(next_at=next_try(query, now=now))
    CaseQuery.objects.filter(pk=query.pk).update(attempts=query.attempts + 1, last_error=error[:60])


def is_answered(*, connector: str, account: str, case_number: str, since: datetime) -> bool:
    """Return whether a query about a case was answered since a time."""
    queries = CaseQuery.objects.filter(connector=connector, account=account, case_number=case_number)
    return bool(queries.filter(answered_at__gte=since).exists())
