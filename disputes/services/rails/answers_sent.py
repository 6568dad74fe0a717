"""Send the answers of businesses to their providers: once, and a lost answer is queried, never sent twice."""

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from disputes import rails
from disputes.models import AnswerSending, Dispute
from disputes.rails.protocol import AnswerRefused, DisputeRail
from disputes.services.rails import case_queries, outbox
from disputes.services.rails.answer_contents import answer_of
from disputes.services.rails.cases import NOT_ANSWERED, take_case
from kit.db.clock import database_now
from kit.text.exception_summaries import summary_of
from payments.rails.protocol import RateLimited
from payments.rules.words.dispute_words import Status

log = structlog.get_logger("sluice.disputes")

Result = AnswerSending.Result
MOST_ANSWERS = 20  # of a run
# A final call that wasn't answered may still be carried out in this time. Before that, only a query shows whether it was.
SETTLES_IN = timedelta(minutes=2)


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Send what is due, and return the number of answers that were tried."""
    made = 0
    while made < MOST_ANSWERS and (sending := outbox.lease_next(now=clock())):
        _send(sending, clock=clock)
        made += 1
    return made


def _send(sending: AnswerSending, *, clock: Callable[[], datetime]) -> None:
    dispute = Dispute.objects.select_related("transaction__checkout__link").get(pk=sending.dispute_id)
    sending.dispute = dispute
    try:
        result = _result(sending, dispute, clock=clock)
    except NOT_ANSWERED as reason:
        outbox.record_failure(sending, type(reason).__name__, now=clock())
    except AnswerRefused as reason:
        log.warning("answer to a dispute refused", id=str(dispute.pk), reason=str(reason))
        outbox.record_failure(sending, str(reason), now=clock())
    except Exception as error:  # noqa: BLE001  (an answer that fails must not stop the others)
        log.error("answer to a dispute not sent", id=str(dispute.pk), **summary_of(error))  # noqa: TRY400  (may quote it)
        outbox.record_failure(sending, type(error).__name__, now=clock())
    else:
        _record(sending, dispute, result, clock=clock)


def _record(
    sending: AnswerSending, dispute: Dispute, result: Result | None, *, clock: Callable[[], datetime]
) -> None:
    if result is None:
        outbox.record_failure(sending, "not confirmed yet", now=clock())
        return
    outbox.record_end(sending, result, now=clock())
    if result == Result.NOT_SENT:
        log.error("answer to a dispute came too late", id=str(dispute.pk), case=dispute.case_number)
    where = {"connector": dispute.connector, "account": dispute.account}
    case_queries.make_due(dispute.case_number, **where, now=clock())


def _result(sending: AnswerSending, dispute: Dispute, *, clock: Callable[[], datetime]) -> Result | None:
    """Send an answer, unless a query shows that it has arrived. None: nothing shows yet whether it has.

    :raises AnswerRefused: the provider refuses it
    :raises AnswerLost: it may or may not have arrived
    """
    rail = rails.dispute_rail(dispute.connector, account=dispute.account)
    case = take_case(rail, dispute.case_number, clock=clock)
    if case is None:
        raise AnswerRefused("The provider doesn't show this case.")
    reported = case.reported
    if reported.status != Status.NEEDS_RESPONSE or reported.stage != dispute.stage:
        is_there = sending.sent_at and reported.status != Status.EXPIRED  # those expire that weren't answered
        return Result.DELIVERED if is_there else Result.NOT_SENT
    if sending.sent_at and not (case.is_status_clear and clock() - sending.sent_at >= SETTLES_IN):
        return None
    return _sent(rail, sending, dispute, clock=clock)


def _sent(
    rail: DisputeRail, sending: AnswerSending, dispute: Dispute, *, clock: Callable[[], datetime]
) -> Result | None:
    answer = answer_of(dispute)
    prepared = rail.prepare(answer)
    if not outbox.begin_final_call(sending, now=clock()):
        return None  # another worker goes on
    try:
        rail.finish(answer, prepared)
    except (AnswerRefused, RateLimited):  # neither has an effect
        outbox.undo_final_call(sending)
        raise
    return Result.DELIVERED
