"""The API of exams of webhook receivers. `request.user` is the business that signed the request."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from rest_framework import status
from rest_framework.exceptions import NotFound, Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.operations import Success, ok, operation
from kit.db import clock
from merchants.api.api_requests import business_of, read_body
from merchants.models import Business
from merchants.people.access import Limit
from merchants.people.attempt_limits import LimitReached
from merchants.people.request_actors import key_acting
from payments.api.exam_serializers import ExamAnswersSerializer, ExamSerializer
from payments.sandbox.simulated_transfers import require_sandbox
from payments.services.events.receiver_exams import examine_endpoint, examine_listener
from webhooks.endpoints import endpoint_changes
from webhooks.exams import exams
from webhooks.exams.exam import ExamAnswer
from webhooks.exams.exam_records import Exam
from webhooks.exams.exam_representation import EXAM, represent_exam
from webhooks.models import Endpoint


class ExamsView(APIView):
    limits = (Limit.EXAM,)

    @operation(
        "createExam",
        {201: Success(EXAM, "Started.")},
        ExamSerializer,
        problems="not_found not_allowed_here card_number_misplaced invalid_state",
    )
    def post(self, request: Request) -> Response:
        """Examine a webhook receiver (sandbox).

        Sends your receiver about thirty requests: genuine events, forgeries, and events that are unusual but legal.
        With the target `endpoint`, the service sends them to a webhook endpoint, by default your first one. With `client`, the answer has the
        `requests`, signed with the key of one of your listeners: send them from your own machine, and report the
        answers within two minutes.

        The payments in these events don't exist; their references begin with `exam-`. One exam of a business can run
        at a time (409 `invalid_state`), and ten can be started in an hour (429 `rate_limited`).
        """
        require_sandbox()
        wanted = read_body(request, ExamSerializer)
        business, now = business_of(request), clock.now()
        try:
            if wanted["target"] == Exam.Target.CLIENT:
                exam = examine_listener(business, wanted["listener"], actor=key_acting(request), now=now)
            else:
                number = _number_of(business, wanted.get("endpoint_id"))
                exam = examine_endpoint(business, number=number, actor=key_acting(request), now=now)
        except LimitReached as limit:
            detail = f"A business can start {limit.limit.slots} exams an hour."
            raise Throttled(limit.retry_after_seconds(now), detail) from None
        return Response(represent_exam(exam), status=status.HTTP_201_CREATED)


class ExamView(APIView):
    @operation("getExam", ok(EXAM, "The exam with the results so far."))
    def get(self, request: Request, exam_id: UUID) -> Response:
        """Get an exam with its results (sandbox).

        Poll it until `state` is final: results are added as your receiver answers.
        """
        require_sandbox()
        return Response(represent_exam(_find(request, exam_id)))


class ExamAnswersView(APIView):
    @operation("reportExamAnswers", ok(EXAM, "The exam."), ExamAnswersSerializer, problems="invalid_state")
    def post(self, request: Request, exam_id: UUID) -> Response:
        """Report the answers of an exam (sandbox).

        With `answers`, ends an exam of a client and returns its results. With `acted`, stores your answer to the
        exam's `question`. The same call again changes nothing; other answers to an exam that has ended are 409
        `invalid_state`.
        """
        require_sandbox()
        exam = _find(request, exam_id)
        reported = read_body(request, ExamAnswersSerializer)
        if "answers" in reported:
            exams.report(exam, _answers(reported["answers"]), now=clock.now())
        if "acted" in reported:
            exams.note_acted(exam, reported["acted"])
        return Response(represent_exam(_find(request, exam_id)))


def _number_of(business: Business, endpoint_id: str | None) -> int:
    """Return the number of the endpoint with this id, by default the first one's."""
    if endpoint_id is None:
        return Endpoint.FIRST
    found = endpoint_changes.find(business, UUID(endpoint_id))
    if found is None:
        raise NotFound
    return found.number


def _answers(reported: list[dict[str, Any]]) -> dict[int, ExamAnswer]:
    return {
        each["request"]: ExamAnswer(each.get("status"), "" if "status" in each else each["error"], each["ms"])
        for each in reported
    }


def _find(request: Request, exam_id: UUID) -> Exam:
    exam = get_object_or_404(Exam, business=business_of(request), pk=exam_id)
    return exams.give_up_if_overdue(exam, now=clock.now())
