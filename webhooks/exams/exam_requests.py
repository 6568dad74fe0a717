"""The requests of an exam: genuine events, forgeries, and events that are unusual but legal."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

from webhooks.exams.exam import OTHER_LAYOUT, ExamRequest, Manner
from webhooks.sending.request_headers import USER_AGENT, request_headers
from webhooks.signing import sign

KINDS = ("payment.success", "payment.failed", "payment.mismatch", "payout.success", "payout.failed")
UNKNOWN_KIND = "payment.reversed"
LARGE = 64 * 1024  # bytes
OLD = timedelta(days=8)
STEP = timedelta(milliseconds=200)  # between the times of two events
RECENT = timedelta(seconds=5)  # before now, at the first event
MISPLACED = timedelta(seconds=2)  # by which an event is older than the one before


class Events(Protocol):
    """The source of events that don't exist. Each call returns the document of a new event with its own ids."""

    def of_kind(self, kind: str, *, reference: str, at: datetime) -> dict[str, Any]: ...

    def into_static_account(self, *, reference: str, at: datetime) -> dict[str, Any]: ...


def reference_of(tag: str, name: str) -> str:
    """Return the payment reference of an event.

    >>> reference_of("5f2c81d0", "lost_acknowledgement")
    'exam-5f2c81d0-lost-acknowledgement'
    """
    return f"exam-{tag}-{name}".replace("_", "-").replace(".", "-")


def requests_of(
    *, kinds: Sequence[str], hash_key: str, events: Events, tag: str, now: datetime
) -> list[ExamRequest]:
    """Return all requests of an exam, in the order in which they are sent."""
    return _Writer(kinds=kinds, hash_key=hash_key, events=events, tag=tag, at=now - RECENT).write()


@dataclass(slots=True, kw_only=True)
class _Writer:
    """Writes the requests. Each new event is later than the one before, but for the probes of order and age."""

    kinds: Sequence[str]
    hash_key: str
    events: Events
    tag: str
    at: datetime
    written: list[ExamRequest] = field(default_factory=list)
    step: int = 0

    def write(self) -> list[ExamRequest]:
        first = self._event("duplicate")
        genuine = [first, *(self._event(kind, kind) for kind in self.kinds[1:])]
        for event in genuine:
            self._send("genuine", event)
        self._forgeries()
        for write in (*ENCODERS, _in_unusual_layout):
            self._send(OTHER_LAYOUT, event := self._event(OTHER_LAYOUT), body=write(event))
        self._send("duplicate", first, attempt=2)
        self._send("at_once", event := self._event("at_once"))
        self._send("at_once", event, is_same_step=True)
        self._send(
            "lost_acknowledgement", event := self._event("lost_acknowledgement"), manner=Manner.HANG_UP
        )
        self._send("lost_acknowledgement", event, attempt=2)
        older = self._event("out_of_order_1", before=MISPLACED)
        self._send("out_of_order", self._event("out_of_order_2"))
        self._send("out_of_order", older)
        self._send("old", self._event("old", before=OLD))
        self._send(
            "stranger", self.events.into_static_account(reference=self._reference("stranger"), at=self.at)
        )
        self._send("unknown_field", _with_unknown_fields(self._event("unknown_field")))
        self._send("unicode", _with_all_of_unicode(self._event("unicode")))
        self._send("in_pieces", self._event("in_pieces"), manner=Manner.IN_PIECES)
        self._send("large", _enlarged(self._event("large")))
        self._send("unknown_event", self._event("unknown_event") | {"event": UNKNOWN_KIND})
        return self.written

    def _forgeries(self) -> None:
        self._send("no_signature", self._event("no_signature"), signature=None)
        self._send("empty_signature", self._event("empty_signature"), signature="")
        event = self._event("wrong_key")
        self._send(
            "wrong_key", event, signature=sign(f"whk_{secrets.token_urlsafe(32)}", _text(event).encode())
        )
        event = self._event("altered_body")
        self._send("altered_body", event, signature=self._sign(_text(event)), body=_text(_altered(event)))
        event = self._event("odd_signatures")
        right = self._sign(_text(event))
        for odd in (right[:32], right[:63], (right * 4)[:200], "z" * len(right)):
            self._send("odd_signatures", event, signature=odd)

    def _event(self, name: str, kind: str = "", *, before: timedelta = timedelta()) -> dict[str, Any]:
        reference = self._reference(name)
        return self.events.of_kind(kind or self.kinds[0], reference=reference, at=self.at - before)

    def _reference(self, name: str) -> str:
        self.at += STEP
        return reference_of(self.tag, name)

    def _sign(self, body: str) -> str:
        return sign(self.hash_key, body.encode())

    def _send(
        self,
        probe: str,
        event: Mapping[str, Any],
        *,
        attempt: int = 1,
        body: str = "",
        signature: str | None = "right",
        manner: Manner = Manner.WHOLE,
        is_same_step: bool = False,
    ) -> None:
        body = body or _text(event)
        self.step += not is_same_step
        headers = request_headers(
            signature=self._sign(body) if signature == "right" else signature or "",
            event_id=event["event_id"],
            event=event["event"],
            attempt=attempt,
        ) | {"User-Agent": f"{USER_AGENT} (exam)"}
        if signature is None:
            del headers["X-Service-Signature"]
        self.written.append(
            ExamRequest(
                number=len(self.written) + 1,
                step=self.step,
                probe=probe,
                headers=headers,
                body=body,
                manner=manner,
            )
        )


def _text(event: Mapping[str, Any]) -> str:
    """Return the body of an event, laid out as a delivery's."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=True)


def _altered(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event with another first digit of its amount.

    >>> _altered({"data": {"amount": 250000}})
    {'data': {'amount': 350000}}
    """
    amount = str(event["data"]["amount"])
    return {**event, "data": event["data"] | {"amount": int(str(int(amount[0]) % 9 + 1) + amount[1:])}}


# Python's encoder, Go's of a map, and Python's with sorted keys.
ENCODERS: tuple[Callable[[Mapping[str, Any]], str], ...] = (
    json.dumps,
    partial(json.dumps, separators=(",", ":"), sort_keys=True),
    partial(json.dumps, sort_keys=True),
)


def _in_unusual_layout(event: Mapping[str, Any]) -> str:
    r"""Return the same document, written otherwise.

    >>> _in_unusual_layout({"b": {"reference": "exam-1"}, "a": 1})
    '{\n  "a" : 1,\n  "b" : {\n    "reference" : "\\u0065xam-1"\n  }\n}'
    """
    laid_out = json.dumps(event, indent=2, separators=(",", " : "), sort_keys=True)
    return laid_out.replace('"exam-', r'"\u0065xam-')


def _with_unknown_fields(event: Mapping[str, Any]) -> dict[str, Any]:
    new = {"new_field": {"list": [1, None, "three"], "flag": True}}
    data = dict(event["data"]) | new
    for name in ("source", "customer"):
        if name in data:
            data[name] = data[name] | new
    return {**event, "data": data, **new}


def _with_all_of_unicode(event: Mapping[str, Any]) -> dict[str, Any]:
    customer = event["data"].get("customer", {}) | {"name": "Adé́bọ̀lá Ọ̀ṣúnlékè 👩🏾\u200d🌾 علي بن محمد"}
    narration = "שלום \u202bمرحبا\u202c, e\u0301\u0323 🎉 𝒳"  # noqa: RUF001
    return {**event, "data": event["data"] | {"customer": customer, "narration": narration}}


def _enlarged(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event with a new field, so that its body has exactly `LARGE` bytes."""
    large = {**event, "new_field": ""}
    return large | {"new_field": "x" * (LARGE - len(_text(large)))}
