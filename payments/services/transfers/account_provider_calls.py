"""Send messages to the account provider in separate threads, and repeat each until it is answered. Decision 0027.

A hanging provider only blocks its own slots. Other tasks and queries to other rails are not delayed.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError

from kit.db.clock import database_now
from kit.text.exception_summaries import summary_of
from payments.rails.protocol import RailBlocked
from payments.services.payouts import reversed_payouts
from payments.services.rails.rail_queries import parallel_calls, query_leases
from payments.services.rails.rail_queries.parallel_calls import CallGroup, RailCall, Reply
from payments.services.rails.rail_queries.query_leases import Lane
from payments.services.transfers import opened_accounts, provider_transfers
from virtual_accounts.models import ProviderMessage
from virtual_accounts.providers import number_provider
from virtual_accounts.services import account_openings, provider_messages
from virtual_accounts.services.provider_messages import Again

Kind = ProviderMessage.Kind

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
                calls.start(RailCall(message, LANE, _call(message)))
                started += 1
    finally:
        parallel_calls.slots.release(LANE, free - started)


def _call(message: ProviderMessage) -> Callable[[], Any]:
    """Return what sends a message. It needs no database."""
    if message.account is None and message.subject.startswith(reversed_payouts.PREFIX):
        return reversed_payouts.query_of(message.subject)
    if message.account is None:
        return partial(provider_transfers.ask, message.subject, provider_account=message.provider_account)
    if message.kind == Kind.OPEN:
        order = account_openings.order_of(message.account)
        return partial(account_openings.ask, order, provider_account=message.provider_account)
    return partial(_tell, message.kind, message.account.account_number)


def _tell(kind: str, number: str) -> None:
    provider = number_provider()
    send = provider.close if kind == Kind.CLOSE else provider.reopen
    send(number)


def _record_late(reply: Reply) -> None:
    _record(reply)


def _record(reply: Reply) -> bool:
    message: ProviderMessage = reply.call.subject
    if reply.error is not None:
        log.warning("account provider did not answer", id=message.pk, error=type(reply.error).__name__)
        is_answer = isinstance(reply.error, RailBlocked)
        error = type(reply.error).__name__
        provider_messages.record_failure(message, error, now=database_now(), is_answer=is_answer)
        return False
    try:
        again = _apply(message, reply.answer)
    except (OperationalError, InterfaceError):
        raise  # it is sent again once the lease has expired
    except Exception as error:  # noqa: BLE001  (a message that fails must not stop the others)
        log.error("answer of the account provider not applied", id=message.pk, **summary_of(error))  # noqa: TRY400  (it may quote a row)
        again = Again(type(error).__name__)
    if again is None:
        return provider_messages.record_answer(message, now=database_now())
    if again.at is not None:
        provider_messages.postpone(message, until=again.at)
        return True
    provider_messages.record_failure(message, again.why, now=database_now(), is_answer=again.is_answer)
    return False


def _apply(message: ProviderMessage, answer: Any) -> Again | None:
    """Apply an answer, and return whether the message has to be sent again. Idempotent."""
    if message.account is None and message.subject.startswith(reversed_payouts.PREFIX):
        reversed_payouts.apply(message.subject, answer)
        return None
    if message.account is None:
        return provider_transfers.apply(message.subject, answer, was_rejected=message.kind == Kind.REJECT)
    return opened_accounts.apply(message.account.pk, answer) if message.kind == Kind.OPEN else None
