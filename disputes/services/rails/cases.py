"""Query providers about cases, and apply their answers. A webhook is only a hint: it makes a query due."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

import structlog
from django.core.exceptions import ImproperlyConfigured

from disputes import rails
from disputes.models import CaseQuery, Dispute
from disputes.rails.protocol import Case, DisputeRail, NoSuchCase, UnreadableCase
from disputes.services.rails import case_queries
from disputes.services.reports import intake
from disputes.services.reports.reports import ReportedCase
from kit.connectors.connectors import RailUnavailable, make
from kit.db.clock import database_now
from kit.text.exception_summaries import summary_of
from payments.rails import ACQUIRERS
from payments.rails.protocol import AnswerLost, CardAcquirer, RailBlocked, RateLimited
from payments.rules.words.dispute_words import OPEN
from payments.services.rails import rail_choices

log = structlog.get_logger("sluice.disputes")

MOST_QUERIES = 50  # of a run
NOT_ANSWERED = (AnswerLost, RateLimited, RailBlocked, RailUnavailable)


def query_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Query what is due, and return the number of queries."""
    _list_cases_of_acquirers(now=clock())
    made = 0
    while made < MOST_QUERIES and (query := case_queries.lease_next(now=clock())):
        _query(query, clock=clock)
        made += 1
    return made


def _list_cases_of_acquirers(*, now: datetime) -> None:
    """Have the open cases of the acquirers listed that businesses use. Those of earlier ones are listed as long as they are configured."""
    for name in filter(rails.is_queried, rail_choices.acquirers_in_use()):
        if account := _account_at(name):
            case_queries.start_listing(connector=name, account=account, now=now)


def _account_at(name: str) -> str:
    """Return the account that an acquirer is configured for, or an empty string. This is asked every second, so nothing is logged."""
    try:
        return cast("CardAcquirer", make(ACQUIRERS[name], protocol=CardAcquirer)).account
    except ImproperlyConfigured:
        return ""


def _query(query: CaseQuery, *, clock: Callable[[], datetime]) -> None:
    try:
        again_after = _answer(query, clock=clock)
    except NOT_ANSWERED as reason:
        case_queries.record_failure(query, type(reason).__name__, now=clock())
    except Exception as error:  # noqa: BLE001  (a query that fails must not stop the others)
        log.error("case not queried", case=query.case_number, **summary_of(error))  # noqa: TRY400  (may quote an answer)
        case_queries.record_failure(query, type(error).__name__, now=clock())
    else:
        case_queries.record_answer(query, again_after=again_after, now=clock())


def _answer(query: CaseQuery, *, clock: Callable[[], datetime]) -> timedelta | None:
    """Make a query, apply its answer, and return after which time it is repeated, or None."""
    rail = rails.dispute_rail(query.connector, account=query.account)
    if not query.case_number:
        numbers = rail.open_cases()
        case_queries.query_new_cases(numbers, connector=rail.name, account=rail.account, now=clock())
        return case_queries.OF_THE_LIST
    case = take_case(rail, query.case_number, clock=clock)
    return case_queries.WHILE_OPEN if case is not None and case.reported.status in OPEN else None


def take_case(rail: DisputeRail, number: str, *, clock: Callable[[], datetime]) -> Case | None:
    """Query a case and apply it. Return it, or None if it isn't ours or can't be understood.

    :raises AnswerLost: there is no readable answer
    """
    try:
        case = rail.case(number)
    except NoSuchCase:
        return None
    except UnreadableCase as problem:
        intake.take_unreadable(
            [number, str(problem)],
            connector=rail.name,
            account=rail.account,
            source=rail.name,
            line=None,
            detail=str(problem),
            now=clock(),
        )
        return None
    intake.take(_over_the_whole_amount(case), now=clock())
    return case


def _over_the_whole_amount(case: Case) -> ReportedCase:
    """Return the reported case, with the disputed amount that is known here where the provider reports another one or none."""
    if case.tells_amount and case.conceded is None:
        return case.reported
    known: Dispute | None = intake.case_of(case.reported).filter(stage=case.reported.stage).first()
    if known is None:
        return case.reported
    if case.conceded is None:
        return replace(case.reported, amount=known.amount)
    if case.conceded > known.amount:
        return case.reported
    return replace(case.reported, amount=known.amount, outcome_amount=known.amount - case.conceded)
