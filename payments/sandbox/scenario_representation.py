"""Sandbox scenarios as the API returns them."""

from kit.api.fields.answer_fields import (
    EMPTY,
    NONE,
    TEXT,
    WHOLE_NUMBER,
    Answer,
    Field,
    ListOf,
    Type,
    one_of,
    open_list,
)
from payments.models import Transaction
from payments.representation.payments import RESPONSE_CODE
from webhooks.models import Event

VERSION = 1
NAMED_TYPES = Type({"type": "object", "additionalProperties": TEXT.schema}, dict)
BODY = Type({"type": "object"}, dict)

EXPECTED = Answer(
    "ExpectedAnswer",
    "What the answer to a step has.",
    Field("http_status", WHOLE_NUMBER, "The HTTP status.", 201),
    Field("status", one_of(Transaction.Status.values), "Its `status`, if it is about one transaction or refund.", omit=EMPTY),
    Field("response_code", RESPONSE_CODE, "Its `response_code`, as well.", omit=EMPTY),
)  # fmt: skip
STEP = Answer(
    "ScenarioStep",
    "A signed call, or the payer's answer to a 3-D Secure page.",
    Field("id", TEXT, "Name of the step. Later steps use it to refer to the answer.", "pay"),
    Field("method", one_of(["GET", "POST"]), "Method of a signed call.", "POST", omit=EMPTY),
    Field("payer", one_of(["approve", "decline"]), "Instead of `method`: the payer's answer. Post `body` as a form, without a signature and without following the redirect.", omit=EMPTY),
    Field("path", TEXT, "Path and query; the address of the page for a payer's answer.", "/api/payments"),
    Field("body", BODY, "JSON body; the fields of the form for a payer's answer.", {"reference": "{{new}}", "amount": 250_000}, omit=NONE),
    Field("expect", EXPECTED, "What the answer has."),
)  # fmt: skip
END = Answer(
    "ScenarioEnd",
    "The outcome, as the answer to `step` shows it.",
    Field("step", TEXT, "Name of a step.", "pay"),
    Field("status", one_of(Transaction.Status.values), "Its `status`."),
    Field("response_code", RESPONSE_CODE, "Its `response_code`.", "10000", "outcome.code"),
    Field("response_summary", TEXT, "Its `response_summary`.", "Payment completed", "outcome.summary"),
    Field("gateway_code", TEXT, "Its `gateway_code`.", "00", "outcome.gateway_code", EMPTY),
)  # fmt: skip
SCENARIO = Answer(
    "Scenario",
    "A sequence of calls with a known end.",
    Field("name", TEXT, "Its name.", "payment.success"),
    Field("title", TEXT, "What happens.", "Card payment succeeds"),
    Field("flow", open_list(["card", "virtual_account", "refund", "payout", "card_check", "dispute"]), "What it is about.", "card"),
    Field("event", one_of(Event.labels), "The last event that it causes; null if it causes none.", "payment.success", lambda scenario: scenario.event.label if scenario.event else None, is_nullable=True),
    Field("changes", NAMED_TYPES, "Fields of the bodies that may be changed without changing the end, as `step.path`, and their JSON types.", {"pay.amount": "integer"}),
    Field("steps", ListOf(STEP), "The calls, in their order. In paths and bodies, `{{new}}` is a new reference and `{{step.path}}` a value of an earlier answer."),
    Field("ends", END, "The outcome."),
)  # fmt: skip
SCENARIOS = Answer(
    "ScenarioList",
    "All scenarios, the most usual of each event first.",
    Field("version", WHOLE_NUMBER, "Version of this form. It changes when a client must change.", VERSION),
    Field("data", ListOf(SCENARIO), "The scenarios."),
)
