"""Disputes at Paystack: what a case means here, and how its answer is sent.

A case is read whole each time, and a webhook only says when. Its payment is known by our reference.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from uuid import UUID

from connectors.paystack.api.client import PaystackConnector, Refused
from disputes.rails.protocol import Answer, AnswerRefused, Case, File, FileLimits, NoSuchCase, UnreadableCase
from disputes.services.reports.reports import ReportedCase
from kit.text.display_names import identifier_text
from kit.time.timestamps import parsed_moment
from payments.rails.protocol import AnswerLost
from payments.rules.words.dispute_words import Reason, Stage, Status

Document = dict[str, Any]

CASE_NUMBER = re.compile(r"[0-9]{1,18}\Z", re.ASCII)
OWN_REFERENCE = re.compile(r"[0-9a-f]{32}\Z", re.ASCII)
# Not explained anywhere. It may precede or follow the merchant's answer; in the latter case Paystack refuses another one.
UNCLEAR = "pending"
STATUSES = {
    "awaiting-merchant-feedback": Status.NEEDS_RESPONSE,
    UNCLEAR: Status.NEEDS_RESPONSE,
    "awaiting-bank-feedback": Status.UNDER_REVIEW,
}
OPEN = tuple(STATUSES)
RESOLVED = frozenset({"resolved", "archived"})
ACCEPTED = "merchant-accepted"
RESOLUTIONS = {"declined": Status.WON, ACCEPTED: Status.ACCEPTED, "auto-accepted": Status.EXPIRED}
REASONS = {"fraud": Reason.FRAUDULENT}
TIME_TO_ANSWER = timedelta(hours=16)  # in Nigeria, where `dueAt` is missing
LONGEST_MESSAGE = 3_000  # characters: theirs isn't published
LISTED = 20  # cases of a page: each has its whole history
MOST_PAGES = 40


class PaystackDisputes(PaystackConnector):
    """Disputes of one integration."""

    file_limits = FileLimits(1, frozenset({"application/pdf", "image/jpeg"}))
    accepts_parts = True

    def case(self, number: str) -> Case:
        if not CASE_NUMBER.match(number):
            raise NoSuchCase
        try:
            found = self._client.get(
                f"/dispute/{number}", endpoint="/dispute/{id}", until=self._client.deadline()
            )
        except Refused as refused:
            raise (NoSuchCase if refused.status == HTTPStatus.NOT_FOUND else AnswerLost) from None
        return _case(self._client.own(found.data), number=number, account=self.account)

    def open_cases(self) -> list[str]:
        return [number for status in OPEN for number in self._with_status(status)]

    def prepare(self, answer: Answer) -> Document:
        prepared: Document = {"uploaded_filename": self._uploaded(answer)}
        is_complete = answer.customer_name and answer.customer_email and answer.customer_phone
        if answer.is_fraud and answer.conceded is None and is_complete:
            prepared["evidence"] = self._evidence(answer)
        return prepared

    def finish(self, answer: Answer, prepared: Document) -> None:
        resolution = {
            "resolution": "declined" if answer.conceded is None else ACCEPTED,
            "message": _message(answer),
            "refund_amount": answer.conceded or 0,
        }
        path, endpoint = f"/dispute/{answer.case_number}/resolve", "/dispute/{id}/resolve"
        with _refusals():
            self._client.put(path, resolution | prepared, until=self._client.deadline(), endpoint=endpoint)

    def _uploaded(self, answer: Answer) -> str:
        """Upload the business's file, else the document, and return Paystack's name of it. An answer has exactly one."""
        document = File("", "answer.pdf", "application/pdf", answer.document)
        file = next(answer.files(), document)
        name = f"{answer.dispute.hex}.{file.name.rpartition('.')[2]}"
        path, endpoint = f"/dispute/{answer.case_number}/upload_url", "/dispute/{id}/upload_url"
        with _refusals():
            given = self._client.get(
                path, query={"upload_filename": name}, endpoint=endpoint, until=self._client.deadline()
            ).data
        if not isinstance(given, dict) or not isinstance(given.get("signedUrl"), str):
            raise AnswerLost
        self._client.upload(
            given["signedUrl"], file.content, content_type=file.type, until=self._client.deadline()
        )
        return str(given.get("fileName"))

    def _evidence(self, answer: Answer) -> int:
        """Send what Paystack asks for about fraud, and return its id."""
        document = {
            "customer_email": answer.customer_email,
            "customer_name": answer.customer_name,
            "customer_phone": answer.customer_phone,
            "service_details": _message(answer),
        }
        path, endpoint = f"/dispute/{answer.case_number}/evidence", "/dispute/{id}/evidence"
        with _refusals():
            made = self._client.post(path, document, until=self._client.deadline(), endpoint=endpoint).data
        if not isinstance(made, dict) or not isinstance(made.get("id"), int):
            raise AnswerLost
        number: int = made["id"]
        return number

    def _with_status(self, status: str) -> list[str]:
        numbers: list[str] = []
        for page in range(1, MOST_PAGES + 1):
            asked = {"status": status, "perPage": str(LISTED), "page": str(page)}
            try:
                rows = self._client.get("/dispute", query=asked, until=self._client.deadline()).data
            except Refused:
                raise AnswerLost from None
            if not isinstance(rows, list):
                raise AnswerLost
            numbers += [identifier_text(self._client.own(each).get("id"), length=18) for each in rows]
            if len(rows) < LISTED:
                break
        return [each for each in numbers if CASE_NUMBER.match(each)]


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the client says of a refusal into what the core understands."""
    try:
        yield
    except Refused as refused:
        raise AnswerRefused(f"Paystack refuses it: {refused.message}") from None


def _message(answer: Answer) -> str:
    return "\n".join(answer.lines)[:LONGEST_MESSAGE]


def _case(case: Document, *, number: str, account: str) -> Case:
    """Return a case in our words.

    :raises NoSuchCase: it is about a payment of another system
    :raises UnreadableCase: its status or amount isn't known
    """
    named = case.get("transaction")
    payment: Document = named if isinstance(named, dict) else {}
    reference = str(payment.get("reference"))
    if not OWN_REFERENCE.match(reference):
        raise NoSuchCase
    # Our `declined` says 0, which may replace what was disputed.
    tells_amount = bool(case.get("refund_amount"))
    amount = case.get("refund_amount") if tells_amount else payment.get("amount")
    if not isinstance(amount, int) or amount <= 0:
        raise UnreadableCase("Its amount isn't above 0.")
    opened_at = parsed_moment(case.get("createdAt"))
    reported = ReportedCase(
        connector=PaystackDisputes.name,
        account=account,
        case_number=number,
        stage=Stage.CHARGEBACK,
        status=_status(case),
        amount=amount,
        currency=identifier_text(case.get("currency") or payment.get("currency"), length=3),
        reason=REASONS.get(str(case.get("category")), Reason.GENERAL),
        network_reason=identifier_text(case.get("category"), length=40),
        payment=UUID(reference),
        opened_at=opened_at,
        respond_by=parsed_moment(case.get("dueAt")) or (opened_at and opened_at + TIME_TO_ANSWER),
        source=PaystackDisputes.name,
    )
    return Case(
        reported,
        conceded=amount if tells_amount and case.get("resolution") == ACCEPTED else None,
        tells_amount=tells_amount,
        is_status_clear=case.get("status") != UNCLEAR,
    )


def _status(case: Document) -> Status:
    """Return our status of a case.

    :raises UnreadableCase: theirs isn't known, or it ended and doesn't say how
    """
    status, resolution = (identifier_text(case.get(name), length=40) for name in ("status", "resolution"))
    if status in RESOLVED and resolution in RESOLUTIONS:
        return RESOLUTIONS[resolution]
    if status in STATUSES:
        return STATUSES[status]
    raise UnreadableCase(f"Its status isn't known: {status}, {resolution}")
