"""Start exams of receivers, and record their answers."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from rest_framework import status

from kit.api.errors import Problem
from merchants.models import Business
from merchants.people import attempt_limits, audit
from merchants.people.attempt_limits import Limit
from merchants.people.audit import Actor
from webhooks.exams.exam import Answers, has_passed, judge
from webhooks.exams.exam_records import KEPT, KEPT_DAYS, Exam
from webhooks.exams.exam_requests import Events, requests_of
from webhooks.exams.exam_standard_headers import with_standard_headers

EXAMS = Limit("exams", 10, timedelta(hours=1))  # per business: each sends its receiver about thirty requests
State, Target = Exam.State, Exam.Target


class WrongExamState(Problem):
    """The exam, or another exam of the business, is in a state that doesn't allow this."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "invalid_state"


def start(
    *,
    business: Business,
    endpoint_number: int = 0,
    listener: str = "",
    kinds: Sequence[str],
    hash_key: str,
    events: Events,
    actor: Actor,
    now: datetime,
) -> Exam:
    """Start an exam: of an endpoint by the service, or of a listener's receiver by the merchant's tool.

    :raises WrongExamState: another exam is running
    :raises LimitReached: the business has started too many exams
    """
    tag = secrets.token_hex(4)
    requests = requests_of(kinds=kinds, hash_key=hash_key, events=events, tag=tag, now=now)
    exam = Exam(
        business=business,
        target=Target.CLIENT if listener else Target.ENDPOINT,
        endpoint_number=endpoint_number,
        listener=listener,
        tag=tag,
        requests=[asdict(request) for request in requests],
        created_at=now,
        begun_at=now if listener else None,
    )
    with transaction.atomic():
        _give_up_overdue(business, now=now)
        _insert(exam)
        attempt_limits.take(EXAMS.of(business.pk), now=now)
        _drop_oldest(business)
        audit.record(
            action="webhook.exam_started",
            actor=actor,
            business=business,
            target=str(exam.pk),
            after={"target": exam.target},
            now=now,
        )
    return exam


def _insert(exam: Exam) -> None:
    try:
        with transaction.atomic():
            exam.save(force_insert=True)
    except IntegrityError:
        raise WrongExamState("Another exam is running. Wait until it has finished.") from None


def _drop_oldest(business: Business) -> None:
    newest = Exam.objects.filter(business=business).order_by("-created_at", "-pk")
    Exam.objects.filter(pk__in=list(newest.values_list("pk", flat=True)[KEPT:])).delete()


def _give_up_overdue(business: Business, *, now: datetime) -> None:
    for exam in Exam.objects.filter(business=business, state=State.RUNNING):
        give_up_if_overdue(exam, now=now)


def give_up_if_overdue(exam: Exam, *, now: datetime) -> Exam:
    """Finish an exam whose worker or tool has stopped. Return the exam as it is then."""
    if exam.is_running and now >= exam.ends_at():
        finish(exam.pk, exam.all_answers, now=now)
        exam.refresh_from_db()
    return exam


def add_standard_headers(exam: Exam, *, hash_key: str, now: datetime) -> None:
    """Add the headers of Standard Webhooks to the requests of an exam that begins."""
    requests = with_standard_headers(exam.all_requests, hash_key=hash_key, now=now)
    exam.requests = [asdict(request) for request in requests]
    exam.save(update_fields=["requests"])


def record_progress(exam_id: UUID, answers: Answers) -> bool:
    """Store the answers so far. Return False if the exam has ended."""
    return bool(_running(exam_id).update(answers=_stored(answers)))


def finish(exam_id: UUID, answers: Answers, *, now: datetime) -> bool:
    """Judge a running exam by all its answers. Return False if it has ended already."""
    exam = _running(exam_id).first()
    if exam is None:
        return False
    passed = has_passed(judge(exam.all_requests, answers, is_over=True))
    finished = _running(exam_id).update(
        answers=_stored(answers), state=State.PASSED if passed else State.FAILED, finished_at=now
    )
    return bool(finished)


def report(exam: Exam, answers: Answers, *, now: datetime) -> None:
    """Finish an exam by the answers that the merchant's tool reports. The same report again changes nothing.

    :raises WrongExamState: the service sends its requests, or it has ended with other answers
    """
    if exam.target != Target.CLIENT:
        raise WrongExamState("The service sends the requests of this exam.")
    if finish(exam.pk, answers, now=now):
        return
    exam.refresh_from_db()
    if exam.answers != _stored(answers):
        raise WrongExamState("The exam has ended.")


def note_acted(exam: Exam, acted: str) -> None:
    """Store how often the merchant's system acted upon the duplicate. It doesn't change the result.

    :raises WrongExamState: the exam is running
    """
    if not Exam.objects.filter(pk=exam.pk).exclude(state=State.RUNNING).update(acted=acted):
        raise WrongExamState("The exam is running. Answer when it has finished.")


def _running(exam_id: UUID) -> QuerySet[Exam]:
    return Exam.objects.filter(pk=exam_id, state=State.RUNNING)


def _stored(answers: Answers) -> dict[str, list[object]]:
    return {
        str(number): [answer.status, answer.error, round(answer.ms, 1)] for number, answer in answers.items()
    }


def old_exams(*, now: datetime) -> QuerySet[Exam]:
    """Return the exams past their retention period."""
    return Exam.objects.filter(created_at__lt=now - timedelta(days=KEPT_DAYS))
