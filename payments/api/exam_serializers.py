"""Request serializers of exams."""

from collections.abc import Mapping
from typing import Any, ClassVar

from kit.api.fields.field_errors import Errors, error
from kit.api.fields.strict_fields import REQUIRED, UUID, Choice, Items, RequestSerializer, WholeNumber
from webhooks.exams.exam import FAILURES, MOST_REQUESTS
from webhooks.exams.exam_records import Exam
from webhooks.listeners.listener_serializers import ListenerName

MOST_MS = 600_000
HUNG_UP = "hung_up"


class ExamSerializer(RequestSerializer):
    """What to examine."""

    target = Choice(
        Exam.Target.values,
        help_text="`endpoint`: the service sends the requests to your webhook endpoint. `client`: your tool sends them.",
        example="client",
    )
    listener = ListenerName(
        required=False, help_text="`client`: the live listener whose key signs the requests."
    )
    endpoint_id = UUID(
        required=False, help_text="`endpoint`: the webhook endpoint to examine. By default your first one."
    )
    conditions: ClassVar[Any] = {
        "if": {"properties": {"target": {"const": "client"}}, "required": ["target"]},
        "then": {"required": ["listener"], "properties": {"endpoint_id": False}},
        "else": {"properties": {"listener": False}},
    }

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        is_client = data.get("target") == Exam.Target.CLIENT
        if is_client and "listener" not in data:
            return {"listener": error(REQUIRED, "required")}
        if is_client and "endpoint_id" in data:
            return {"endpoint_id": error("This field belongs to exams of an endpoint.", "not_allowed_here")}
        if data.get("target") == Exam.Target.ENDPOINT and "listener" in data:
            return {"listener": error("This field belongs to exams of a client.", "not_allowed_here")}
        return {}


class ExamAnswerSerializer(RequestSerializer):
    """The answer to one request."""

    request = WholeNumber(minimum=1, maximum=MOST_REQUESTS, help_text="Its `number`.", example=1)
    status = WholeNumber(
        minimum=100,
        maximum=999,
        required=False,
        help_text="The HTTP status. Absent without an answer.",
        example=204,
    )
    error = Choice(
        [*FAILURES, HUNG_UP],
        required=False,
        help_text="Why there was no answer. Required without a `status`. `hung_up` for requests of that manner.",
        example="timeout",
    )
    ms = WholeNumber(
        minimum=0,
        maximum=MOST_MS,
        help_text="Milliseconds until the end of the headers, without the pauses of `in_pieces`.",
        example=12,
    )
    conditions: ClassVar[Any] = {"if": {"not": {"required": ["status"]}}, "then": {"required": ["error"]}}

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        return {} if "status" in data or "error" in data else {"status": error(REQUIRED, "required")}


class ExamAnswersSerializer(RequestSerializer):
    """The answers of your receiver, or your answer to the question."""

    answers = Items(
        ExamAnswerSerializer(),
        required=False,
        maximum=MOST_REQUESTS,
        help_text="All answers. Leave out requests that you didn't send.",
        example=[{"request": 1, "status": 204, "ms": 12}],
    )
    acted = Choice(
        Exam.Acted.values,
        required=False,
        help_text="Your answer to `question`, once the exam has ended. It doesn't change the result.",
        example="1",
    )
    conditions: ClassVar[Any] = {"if": {"not": {"required": ["answers"]}}, "then": {"required": ["acted"]}}

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        return {} if "answers" in data or "acted" in data else {"answers": error(REQUIRED, "required")}
