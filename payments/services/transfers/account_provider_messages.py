"""Send messages to the account provider in separate threads, and repeat each until it is answered. Decision 0027.

A hanging provider only blocks its own slots. Other tasks and queries to other rails are not delayed.
"""

import time
from functools import partial

import structlog

from kit.db.clock import database_now
from payments.services.rails.rail_queries import parallel_calls, query_leases
from payments.services.rails.rail_queries.parallel_calls import CallGroup, RailCall, Reply
from payments.services.rails.rail_queries.query_leases import Lane
from virtual_accounts.models import ProviderMessage
from virtual_accounts.providers import account_provider
from virtual_accounts.services import provider_messages

log = structlog.get_logger("sluice.account_messages")

LANE = Lane("account-provider", "")
RUN_TIME = 1.0  # seconds that a run collects answers; later ones are recorded by their threads


def send_due() -> int:
    """Send due messages until none is left or the run's time is over, and return the number of answers."""
    if not ProviderMessage.objects.unanswered().exists():
        return 0  # nearly always; a lease has several statements
    ends_at = time.monotonic() + RUN_TIME
    calls, answered = CallGroup(late=_record_late), 0
    try:
        _fill(calls)
        while calls.waiting_for:
            reply = calls.next(timeout=max(ends_at - time.monotonic(), 0))
            if reply is None:
                break
            answered += _record(reply)
            if time.monotonic() < ends_at:
                _fill(calls)
    finally:
        for reply in calls.close():
            answered += _record(reply)
    return answered


def _fill(calls: CallGroup) -> None:
    free = parallel_calls.slots.take(LANE)
    started = 0
    try:
        if free:
            now = database_now()
            for message in provider_messages.lease(limit=free, at=now, length=query_leases.length()):
                calls.start(
                    RailCall(message, LANE, partial(_send, message.kind, message.account.account_number))
                )
                started += 1
    finally:
        parallel_calls.slots.release(LANE, free - started)


def _send(kind: str, number: str) -> None:
    """Send one message. Needs no database."""
    provider = account_provider()
    send = provider.close if kind == ProviderMessage.Kind.CLOSE else provider.reopen
    send(number)


def _record_late(reply: Reply) -> None:
    _record(reply)


def _record(reply: Reply) -> bool:
    message: ProviderMessage = reply.call.subject
    now = database_now()
    if reply.error is None:
        return provider_messages.record_answer(message, now=now)
    log.warning("account provider did not answer", id=message.pk, error=type(reply.error).__name__)
    provider_messages.record_failure(message, type(reply.error).__name__, now=now)
    return False
