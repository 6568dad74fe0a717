"""Exams in API responses, declared field by field."""

import uuid
from typing import Any

from django.conf import settings

from kit.api.fields.answer_fields import (
    MANY,
    MOMENT,
    NONE,
    POSITION,
    TEXT,
    URL,
    UUID,
    WHOLE_NUMBER,
    Answer,
    Field,
    ListOf,
    Type,
    one_of,
    open_list,
    up_to,
)
from webhooks.exams.exam import PROBES, ExamRequest, Manner, ProbeResult, Verdict
from webhooks.exams.exam_records import Exam
from webhooks.models import endpoint_id

NUMBER = Type({"type": "number", "minimum": 0})
HEADERS = Type({"type": "object", "additionalProperties": TEXT.schema})
_HEADERS = {
    "Content-Type": "application/json",
    "X-Service-Event": "payment.success",
    "X-Service-Attempt": "1",
}
_BODY = '{"event":"payment.success"}'

EXAM_DELIVERY = Answer(
    "ExamDelivery",
    "A request that your tool sends. Send it byte for byte.",
    Field("number", POSITION, "From 1, in the order of sending.", 1),
    Field("step", POSITION, "Requests of one step are sent at the same time.", 1),
    Field("probe", open_list(probe.name for probe in PROBES), "The probe that it belongs to."),
    Field(
        "needs",
        Type({"type": "array", "items": TEXT.schema, "maxItems": MANY}, example=["genuine"]),
        "Probes. Send the request only if all their requests so far, except those of `hang_up`, had a 2xx answer.",
    ),
    Field(
        "manner",
        one_of(manner.value for manner in Manner),
        "`whole`; `in_pieces`: the body in three TCP segments, one second apart; `hang_up`: close the connection "
        "after the body, before the answer, and wait one second.",
    ),
    Field("headers", HEADERS, "Its headers.", _HEADERS),
    Field("body", up_to(65_536), "Its body.", _BODY),
)  # fmt: skip


def _of_request(name: str) -> Any:
    """Return the function that reads an attribute of a result's request, or None without one."""
    return lambda result: getattr(result.request, name, None)


def _of_answer(name: str) -> Any:
    return lambda result: getattr(result.answer, name, None)


def _to_send(exam: Exam) -> list[ExamRequest] | None:
    return exam.all_requests if exam.is_running and exam.target == Exam.Target.CLIENT else None


def _endpoint_of(exam: Exam) -> uuid.UUID | None:
    is_sent_by_us = exam.target == Exam.Target.ENDPOINT
    return endpoint_id(exam.business_id, exam.endpoint_number) if is_sent_by_us else None


def guide_of(result: ProbeResult) -> str:
    return f"{settings.PUBLIC_URL}/docs/webhooks#{result.probe.section}"


EXAM_RESULT = Answer(
    "ExamResult",
    "The result of a probe, with the request and the answer that decided it.",
    Field("probe", open_list(probe.name for probe in PROBES), "What was sent.", value="probe.name"),
    Field(
        "result",
        one_of(verdict.value for verdict in Verdict),
        "`advice` if it works but would better be otherwise; `not_run` if it wasn't sent.",
        value="verdict",
    ),
    Field("cause", TEXT, "The reason, in one sentence.", "Your receiver answered 204."),
    Field("guide", URL, "The section of the guide that explains it.", "https://pay.example/docs/webhooks#the-request", guide_of),
    Field("status", WHOLE_NUMBER, "The HTTP status of your answer; null without one.", 204, _of_answer("status"), is_nullable=True),
    Field("ms", NUMBER, "Milliseconds until the end of your answer's headers, without the pauses of `in_pieces`; null without a request.", 12.5, _of_answer("ms"), is_nullable=True),
    Field("headers", HEADERS, "The request's headers; null without one.", _HEADERS, _of_request("headers"), is_nullable=True),
    Field("body", up_to(65_536), "The request's body; null without one.", _BODY, _of_request("body"), is_nullable=True),
)  # fmt: skip
EXAM = Answer(
    "Exam",
    "An exam of your webhook receiver. It is `passed` if no probe `failed`.",
    Field("id", UUID, "Our identifier of the exam.", "0b8f6a54-7d39-4f1c-9b2e-6c1f0e5a7d21", "pk"),
    Field("target", one_of(Exam.Target.values), "`endpoint`: the service sends the requests; `client`: your tool does."),
    Field("endpoint_id", UUID, "`endpoint`: the webhook endpoint that is examined.", "7a1f2b7e-0c5c-5d0a-9f5e-2d9b6b1d6c11", _endpoint_of, omit=NONE),
    Field("listener", TEXT, "`client`: the listener whose key signs the requests.", "laptop", omit=("",)),
    Field("state", one_of(Exam.State.values), "`running` until all answers are there."),
    Field("created_at", MOMENT, "When it was started.", "2026-01-31T08:00:00.000Z"),
    Field("finished_at", MOMENT, "When it ended; null while it is running.", "2026-01-31T08:00:06.000Z", is_nullable=True),
    Field("results", ListOf(EXAM_RESULT), "The result of every probe."),
    Field("question", TEXT, "What the exam can't see.", "How often did your system act upon exam-5f2c81d0-duplicate?"),
    Field("acted", Type({"type": "string", "enum": Exam.Acted.values}), "Your answer to the question; null without one. It doesn't change the result.", "1", lambda exam: exam.acted or None, is_nullable=True),
    Field("requests", ListOf(EXAM_DELIVERY), "`client`, while it is running: what to send.", value=_to_send, omit=NONE),
)  # fmt: skip


def represent_exam(exam: Exam) -> dict[str, Any]:
    """Return an exam with the results so far."""
    return EXAM.represent(exam)
