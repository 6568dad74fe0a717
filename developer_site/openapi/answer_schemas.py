"""What the document says about answers beside the declarations of the apps: problems, headers, components."""

from config.errors.error_codes import ERROR_CODES
from developer_site.openapi.problem_examples import (
    EXAMPLE_LIMIT,
    EXAMPLE_MISTAKE,
    EXISTING_ID,
    REQUEST_ID,
    SERVER_TIME,
    STRING_TO_SIGN,
    WRONG_CARD_NUMBER,
    problem_example,
)
from kit.api.fields.answer_fields import (
    EMPTY,
    MANY,
    MINOR_UNITS,
    MOMENT,
    TEXT,
    UUID,
    WHOLE_NUMBER,
    Answer,
    Field,
    ListOf,
    Schema,
    Type,
    always,
    one_of,
    open_list,
    up_to,
)
from payments.models import Transaction
from payments.services.payouts.controls import payout_limits
from virtual_accounts.models import VirtualAccount
from virtual_accounts.services.transfer_matching import UnknownAccount

_NOT_FOUND = ERROR_CODES["not_found"]
FIELD_ERROR = Answer(
    "FieldError",
    "What is wrong with one field.",
    Field("field", TEXT, "Dotted path.", "source.pan"),
    Field("code", TEXT, "Error code of the field.", "invalid_card_number"),
    Field("message", TEXT, "Description of the error.", WRONG_CARD_NUMBER),
    Field("suggestion", TEXT, "`unknown_field`: the field of this object whose name is closest, if one is close.", "amount", omit=EMPTY),
)  # fmt: skip
EXISTING = Answer(
    "Existing",
    "The resource of the first request with this reference.",
    Field("id", UUID, "Its identifier.", EXISTING_ID),
    Field("status", one_of([*Transaction.Status.values, *VirtualAccount.Status.values]), "Its current status."),
)  # fmt: skip
EXISTING_ENDPOINT = Answer(
    "ExistingEndpoint",
    "The webhook endpoint that has the URL.",
    Field("id", UUID, "Its identifier.", EXISTING_ID),
)
MISTAKE = Answer(
    "Mistake",
    "The known mistake that leads to a signature.",
    Field("code", TEXT, "Name of the mistake.", EXAMPLE_MISTAKE["code"]),
    Field("message", TEXT, "What you signed, and what to sign.", EXAMPLE_MISTAKE["message"]),
)
PAYOUT_LIMIT = Answer(
    "PayoutLimit",
    "The limit that a payout would be over. Amounts are minor units; of `number_per_day`, numbers of payouts.",
    Field("name", one_of(payout_limits.NAMES), "Its name.", EXAMPLE_LIMIT["name"]),
    Field("amount", MINOR_UNITS, "The limit.", EXAMPLE_LIMIT["amount"]),
    Field("used", MINOR_UNITS, "Used by payouts that have not failed.", EXAMPLE_LIMIT["used"]),
    Field("left", MINOR_UNITS, "Left of it.", EXAMPLE_LIMIT["left"]),
    Field(
        "ends_at",
        MOMENT,
        "When it is free again; null for `per_payout`.",
        EXAMPLE_LIMIT["ends_at"],
        is_nullable=True,
    ),
)
# `config.errors.problems` builds it.
PROBLEM = Answer(
    "Problem",
    "RFC 9457 problem details.",
    Field("type", TEXT, "URL of the page about this code.", "https://pay.example/docs/errors/not_found"),
    Field("title", TEXT, "What the code means.", _NOT_FOUND.title),
    Field("status", WHOLE_NUMBER, "The HTTP status.", 404),
    Field("detail", TEXT, "What to do about it. Never repeats a value that was sent.", _NOT_FOUND.help),
    Field("code", open_list(ERROR_CODES), "Decide by this.", "not_found"),
    Field("request_id", TEXT, "The response's `X-Request-Id`. Quote it to support.", REQUEST_ID),
    Field("errors", ListOf(FIELD_ERROR), "For invalid requests: every wrong field at once.", omit=EMPTY),
    Field("server_time", WHOLE_NUMBER, "`timestamp_out_of_range`: our clock, in Unix seconds.", SERVER_TIME, omit=EMPTY),
    Field("string_to_sign", up_to(65_536), "`invalid_signature`, in the sandbox: the text that the server built and signed.", STRING_TO_SIGN, omit=EMPTY),
    Field("mistake", MISTAKE, "`invalid_signature`, in the sandbox: the known mistake that leads to your signature, if there is one.", omit=EMPTY),
    Field("limit", PAYOUT_LIMIT, "`payout_limit_reached`: the limit that the payout would be over.", omit=EMPTY),
    Field(
        "differs",
        Type({"type": "array", "maxItems": MANY, "items": up_to(255).schema}),
        "409 for a request that repeats another one with other fields: names of the top-level fields that differ from the first; a card is `source`. It is always among them once the card is no longer compared. References of the bank: left out.",
        ["amount"],
        omit=EMPTY,
    ),
    Field("success", always(False), "Errors of the simulation: always `false`.", omit=EMPTY),
    Field("message", TEXT, "Errors of the simulation: the same as `detail`.", UnknownAccount.default_detail, omit=EMPTY),
)  # fmt: skip
_OF_EVERY_CONFLICT = [
    field for field in PROBLEM.fields if field.name not in ("code", "errors", "mistake", "limit")
]
DUPLICATE_REFERENCE = Answer(
    "DuplicateReference",
    "The reference belongs to another request.",
    *_OF_EVERY_CONFLICT,
    Field("code", one_of(["duplicate_reference"]), "Always `duplicate_reference`."),
    Field("existing", EXISTING, EXISTING.meaning),
)
URL_TAKEN = Answer(
    "UrlTaken",
    "Another endpoint has the URL.",
    *_OF_EVERY_CONFLICT,
    Field("code", one_of(["url_taken"]), "Always `url_taken`."),
    Field("existing", EXISTING_ENDPOINT, EXISTING_ENDPOINT.meaning),
)
# By code: the problems that name what exists.
NAMING_WHAT_EXISTS = {"duplicate_reference": DUPLICATE_REFERENCE, "url_taken": URL_TAKEN}
# Generators take the first that fits, so the narrower one comes first.
CONFLICT = {
    "description": "Why a request conflicts with what exists.",
    "anyOf": [DUPLICATE_REFERENCE.reference, PROBLEM.reference],
}
URL_CONFLICT = {
    "description": "Why a webhook endpoint conflicts with what exists.",
    "anyOf": [URL_TAKEN.reference, PROBLEM.reference],
}

HEADERS: Schema = {
    "X-Request-Id": (
        "Names this exchange; yours is kept, if it is a sane one.",
        {"type": "string", "maxLength": 255},
    ),
    "Location": ("Path of the resource.", {"type": "string", "format": "uri-reference", "maxLength": 255}),
    "Idempotent-Replayed": (
        "The reference was seen before; nothing was done.",
        {"type": "string", "enum": ["true"]},
    ),
    "ETag": ("Send it back in `If-None-Match`.", {"type": "string", "maxLength": 255}),
    "Retry-After": ("Seconds to wait.", {"type": "integer", "minimum": 1, "maximum": 86_400}),
    "RateLimit": ("What is left of the limit, and until when.", {"type": "string", "maxLength": 255}),
    "RateLimit-Policy": (
        "The limit: calls (`q`) a window of seconds (`w`).",
        {"type": "string", "maxLength": 255},
    ),
    "WWW-Authenticate": ("The scheme.", {"type": "string", "enum": ["Sluice-HMAC-SHA256"]}),
}


def components() -> dict[str, Schema]:
    """Return what problems and headers refer to by name."""
    return {
        "schemas": {
            each.name: each.schema()
            for answer in (PROBLEM, *NAMING_WHAT_EXISTS.values())
            for each in answer.within()
        }
        | {"Conflict": CONFLICT, "UrlConflict": URL_CONFLICT},
        "headers": {name: {"description": words, "schema": form} for name, (words, form) in HEADERS.items()},
        "examples": {
            code: {"summary": ERROR_CODES[code].title, "value": problem_example(code)}
            for code in ERROR_CODES
            if code != "method_not_allowed"  # no operation refers to it
        },
    }


def members_of(code: str) -> list[Field]:
    """Return the members that the problem of a code has beside those of every problem."""
    answer = NAMING_WHAT_EXISTS.get(code, PROBLEM)
    declared = {field.name: field for field in answer.fields}
    return [
        declared[name]
        for name in problem_example(code)
        if not declared[name].is_required or name == "existing"
    ]
