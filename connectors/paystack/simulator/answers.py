"""Requests and answers of Paystack's API: their envelope, errors and lists."""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, NamedTuple

from connectors.paystack.simulator.tables import ERRORS, Error

Document = dict[str, Any]
ADVICE = "Ensure that the value(s) you're passing are valid."
PER_PAGE, MOST_PER_PAGE = 50, 1_000  # [D10]
WHOLE = re.compile(r"[0-9]{1,15}")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    authorization: str
    raw: bytes
    body: Document = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)  # of the path

    def text(self, name: str) -> str:
        """Return a member of the body as text. It is empty if the member is absent or null."""
        value = self.body.get(name)
        return "" if value is None else str(value)

    def section(self, name: str) -> Document:
        """Return an object in the body. It is empty if the member is anything else."""
        value = self.body.get(name)
        return value if isinstance(value, dict) else {}

    def need(self, *names: str) -> None:
        """Refuse a body that lacks one of the members."""
        if not all(self.text(name) for name in names):
            raise Refused("missing")


class Refused(Exception):
    """Paystack refuses the request."""

    def __init__(self, name: str, *, headers: dict[str, str] | None = None, **changes: Any) -> None:
        super().__init__(name)
        self.error: Error = replace(ERRORS[name], **changes)
        self.headers = headers or {}

    def answer(self) -> Answer:
        error = self.error
        document: Document = {"status": False, "message": error.message}
        if error.code:
            # Their type and advice decide nothing: "Try again later" accompanies definite errors too (samples).
            is_ours = error.status >= HTTPStatus.NOT_FOUND
            kind, advice = ("api_error", "Try again later") if is_ours else ("validation_error", ADVICE)
            document |= {"meta": {"nextStep": advice}, "type": kind, "code": error.code}
        return as_json(error.status, document, self.headers)


def as_json(status: int, document: Document, headers: dict[str, str] | None = None) -> Answer:
    known = {"Content-Type": "application/json; charset=utf-8"}
    return Answer(int(status), known | (headers or {}), compact(document))


def compact(document: Document) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def ok(
    message: str, data: Any = None, *, meta: Document | None = None, status: int = HTTPStatus.OK
) -> Answer:
    document: Document = {"status": True, "message": message}
    if data is not None:
        document["data"] = data
    if meta is not None:
        document["meta"] = meta
    return as_json(status, document)


def read_body(raw: bytes) -> Document:
    """Parse a JSON body.

    :raises Refused: it is no JSON object
    """
    try:
        document = json.loads(raw or b"{}")
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise Refused("missing")
    return document


def whole_amount(value: Any) -> int:
    """Return an amount in subunits, sent as a number or a text.

    :raises Refused: it is no whole number, or zero
    """
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not WHOLE.fullmatch(text):
        raise Refused("amount")
    if int(text) == 0:
        raise Refused("amount_zero")
    return int(text)


def page(
    rows: Sequence[Any], query: dict[str, str], *, volume: int | None = None
) -> tuple[list[Any], Document]:
    """Return one page of a list and its `meta`: by cursor if the query says `use_cursor=true`, else by number [D10]."""
    size = min(_number(query.get("perPage") or query.get("per_page"), PER_PAGE) or PER_PAGE, MOST_PER_PAGE)
    if query.get("use_cursor") == "true":
        start = _offset(query.get("next") or query.get("previous"))
        return list(rows[start : start + size]), {
            "next": _cursor(start + size) if start + size < len(rows) else None,
            "previous": _cursor(max(start - size, 0)) if start else None,
            "perPage": size,
        }
    number = max(_number(query.get("page"), 1), 1)
    start = (number - 1) * size
    counts: Document = {"total": len(rows)} | ({} if volume is None else {"total_volume": volume})
    return list(rows[start : start + size]), counts | {
        "skipped": start,
        "perPage": size,
        "page": number,
        "pageCount": -(-len(rows) // size),
    }


def _number(text: str | None, default: int) -> int:
    return int(text) if text and WHOLE.fullmatch(text) else default


def _cursor(offset: int) -> str:
    return base64.b64encode(f"offset:{offset}".encode()).decode()


def _offset(cursor: str | None) -> int:
    if not cursor:
        return 0
    try:
        return int(base64.b64decode(cursor).decode().removeprefix("offset:"))
    except ValueError:
        return 0


def timestamp(at: datetime | None) -> str | None:
    """Write a time as Paystack does: UTC with milliseconds."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z" if at else None


def dates(created_at: datetime, updated_at: datetime | None = None) -> Document:
    return {"createdAt": timestamp(created_at), "updatedAt": timestamp(updated_at or created_at)}


def within(at: datetime, query: dict[str, str]) -> bool:
    """Say whether a time lies between the query's `from` and `to`, each a day or a time."""
    start, end = query.get("from"), query.get("to")
    return not ((start and at < _read_time(start)) or (end and at > _read_time(end)))


def _read_time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Refused("date") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
