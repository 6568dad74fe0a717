"""Run the exams that the service sends itself, with the sender of deliveries. No delivery rows are written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from ipaddress import ip_network

import structlog
from django.conf import settings

from kit.db.clock import database_now
from webhooks.exams import exams
from webhooks.exams.exam import (
    SECONDS,
    Answers,
    ExamAnswer,
    ExamRequest,
    Manner,
    is_given_up,
    is_needless,
    steps_of,
)
from webhooks.exams.exam_manners import post_and_hang_up, post_in_pieces
from webhooks.exams.exam_records import GRACE, Exam
from webhooks.models import Endpoint
from webhooks.sending.sender import Sender

log = structlog.get_logger("sluice.webhooks")

LOST_PAUSE = 1.0  # seconds after a closed connection: the receiver may still handle that event
AT_ONCE = 2  # exams that run at the same time, over all businesses: each occupies a thread of a worker


def run_waiting(*, clock: Callable[[], datetime] = database_now) -> int:
    """Run the exams that wait for a worker, one after the other. Return their number."""
    count = 0
    while settings.SANDBOX and (exam := _begin_next(now=clock())) is not None:
        run(exam, clock=clock)
        count += 1
    return count


def _begin_next(*, now: datetime) -> Exam | None:
    """Return the exam that waits longest, now begun by this worker, or None if enough are running."""
    begun_since = now - timedelta(seconds=SECONDS) - GRACE
    mine = Exam.objects.filter(state=Exam.State.RUNNING, target=Exam.Target.ENDPOINT)
    for exam in mine.filter(begun_at=None).order_by("created_at"):
        if mine.filter(begun_at__gt=begun_since).count() >= AT_ONCE:
            return None
        if Exam.objects.filter(pk=exam.pk, begun_at=None).update(begun_at=now):
            exam.begun_at = now
            return exam
    return None


def run(exam: Exam, *, clock: Callable[[], datetime] = database_now) -> None:
    """Send the requests of an exam to its endpoint, and record the answers. A deleted one gets none."""
    live = Endpoint.objects.live().filter(business=exam.business_id, number=exam.endpoint_number)
    endpoint = live.first()
    answers: dict[int, ExamAnswer] = {}
    if endpoint is not None:
        if endpoint.standard_webhooks:
            exams.add_standard_headers(exam, hash_key=endpoint.hash_key, now=clock())
        progress = partial(exams.record_progress, exam.pk)
        try:
            send(exam.all_requests, endpoint.url, answers, progress=progress)
        except Exception:  # what was answered still counts
            log.exception("an exam failed", exam=str(exam.pk))
    exams.finish(exam.pk, answers, now=clock())


def send(
    requests: Sequence[ExamRequest],
    url: str,
    answers: dict[int, ExamAnswer],
    *,
    progress: Callable[[Answers], object],
    seconds: float = SECONDS,
) -> None:
    """Send all steps within this time and add their answers. `progress` gets the answers after each step."""
    ends_at = time.monotonic() + seconds
    allowed = [ip_network(network) for network in settings.WEBHOOK_ALLOW_CIDRS]
    sender = Sender(timeout=settings.WEBHOOK_TIMEOUT, allowed=allowed)
    with asyncio.Runner() as loop:
        loop.run(sender.__aenter__())
        try:
            for step in steps_of(requests):
                if is_given_up(answers) or time.monotonic() >= ends_at:
                    return
                if not is_needless(step[0], requests, answers):
                    loop.run(_send_step(sender, url, step, answers, ends_at=ends_at))
                    progress(answers)
        finally:
            loop.run(sender.__aexit__(None, None, None))


async def _send_step(
    sender: Sender, url: str, step: list[ExamRequest], answers: dict[int, ExamAnswer], *, ends_at: float
) -> None:
    """Send the requests of a step at the same time. At the end of the exam, those without an answer don't count."""
    with suppress(TimeoutError):
        async with asyncio.timeout(ends_at - time.monotonic()):
            posts = [_post(sender, url, request) for request in step]
            found = await asyncio.gather(*posts)
            answers.update({request.number: answer for request, answer in zip(step, found, strict=True)})
            if step[0].manner is Manner.HANG_UP:
                await asyncio.sleep(LOST_PAUSE)


async def _post(sender: Sender, url: str, request: ExamRequest) -> ExamAnswer:
    post = {
        Manner.WHOLE: Sender.post,
        Manner.IN_PIECES: post_in_pieces,
        Manner.HANG_UP: post_and_hang_up,
    }[request.manner]
    exchange = await post(sender, url, body=request.body.encode(), headers=request.headers)
    return ExamAnswer(exchange.status, "" if exchange.status else exchange.error, exchange.total_ms)
