"""Disputes at Checkout.com: what a case means here, and how its answer is sent.

A case is read whole each time, and a webhook only says when. Its payment is known by our reference, which the payment has.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast
from uuid import uuid4

from connectors.checkout import payments
from connectors.checkout.api.answers import payment_id
from connectors.checkout.api.client import NotFound, Refused
from connectors.checkout.api.references import id_of
from connectors.checkout.cards import CheckoutAcquirer
from disputes.rails.protocol import Answer, AnswerRefused, Case, File, FileLimits, NoSuchCase, UnreadableCase
from disputes.services.reports.reports import ReportedCase
from kit.connectors.provider_client import Deadline
from kit.text.display_names import identifier_text
from kit.time.timestamps import parsed_moment
from payments.rails import configured_acquirer
from payments.rails.protocol import AnswerLost
from payments.rules.words.dispute_words import Reason, Stage, Status
from payments.services.rails.declared_accounts import same_as

Document = dict[str, Any]

CASE_NUMBER = re.compile(r"dsp_[0-9a-z]{20,30}\Z", re.ASCII)
STATUSES = {
    "evidence_required": (Stage.CHARGEBACK, Status.NEEDS_RESPONSE),
    "evidence_under_review": (Stage.CHARGEBACK, Status.UNDER_REVIEW),
    "won": (Stage.CHARGEBACK, Status.WON),
    "lost": (Stage.CHARGEBACK, Status.LOST),
    "accepted": (Stage.CHARGEBACK, Status.ACCEPTED),
    "expired": (Stage.CHARGEBACK, Status.EXPIRED),
    "canceled": (Stage.CHARGEBACK, Status.WITHDRAWN),
    "resolved": (
        Stage.CHARGEBACK,
        Status.WITHDRAWN,
    ),  # Checkout.com defended it, such as because it was refunded
    # The scheme decides. Further evidence is given in Checkout.com's dashboard.
    "arbitration_under_review": (Stage.ARBITRATION, Status.UNDER_REVIEW),
    "arbitration_won": (Stage.ARBITRATION, Status.WON),
    "arbitration_lost": (Stage.ARBITRATION, Status.LOST),
}
OPEN = "evidence_required,evidence_under_review,arbitration_under_review"
REASONS = {
    "fraudulent": Reason.FRAUDULENT,
    "unrecognized": Reason.UNRECOGNISED,
    "canceled_recurring": Reason.SUBSCRIPTION_CANCELLED,
    "product_service_not_received": Reason.PRODUCT_NOT_RECEIVED,
    "not_as_described": Reason.PRODUCT_UNACCEPTABLE,
    "credit_not_issued": Reason.CREDIT_NOT_PROCESSED,
    "duplicate": Reason.DUPLICATE,
    "incorrect_amount": Reason.AMOUNT_DIFFERS,
}
# Ours ends this long before the network's deadline, so that an answer can be sent, and sent again. Of a short time, a part.
BEFORE_DEADLINE, LARGEST_PART = timedelta(hours=24), 4
# Each part of the evidence takes a text and a file. The document with everything is additional evidence.
PARTS = {
    "receipt": "invoice_or_receipt",
    "customer_communication": "customer_communication",
    "delivery": "proof_of_delivery_or_service",
    "service": "proof_of_delivery_or_service_date",
    "refund_policy": "refund_or_cancellation_policy",
    "duplicate_explanation": "invoice_showing_distinct_transactions",
    "other": "recurring_transaction_agreement",
}
DOCUMENT = "additional_evidence"
LONGEST_TEXT, CONTINUED = 500, " … (continued in the attached document)"
FILE_ID = re.compile(r"file_[0-9a-z]{10,40}\Z", re.ASCII)
LISTED = 50  # cases of a page
MOST_PAGES = 40


class CheckoutDisputes:
    """Disputes of one processing channel."""

    name = "checkout"
    file_limits = FileLimits(len(PARTS), frozenset({"application/pdf", "image/png", "image/jpeg"}))
    accepts_parts = False

    def __init__(self) -> None:
        self._client = cast("CheckoutAcquirer", configured_acquirer(self.name)).client

    @cached_property
    def account(self) -> str:
        return configured_acquirer(self.name).account

    def case(self, number: str) -> Case:
        if not CASE_NUMBER.match(number):
            raise NoSuchCase
        deadline = self._client.deadline(of_query=True)
        found = self._found(f"/disputes/{number}", deadline)
        payment = self._payment_of(found, deadline)
        return Case(_reported_case(found, payment, number=number, account=self.account))

    def open_cases(self) -> list[str]:
        numbers: list[str] = []
        for page in range(MOST_PAGES):
            listed = self._listed(page)
            numbers += [str(each.get("id")) for each in listed]
            if len(listed) < LISTED:
                break
        return [each for each in numbers if CASE_NUMBER.match(each)]

    def prepare(self, answer: Answer) -> None:
        if answer.conceded is not None:
            return
        evidence = texts_of(answer) | self._files_of(answer)
        self._order("PUT", answer, "evidence", evidence)

    def finish(self, answer: Answer, prepared: None) -> None:
        self._order("POST", answer, "evidence" if answer.conceded is None else "accept")

    def _order(self, method: str, answer: Answer, call: str, document: Document | None = None) -> None:
        path = f"/disputes/{answer.case_number}/{call}"
        with _refusals():
            self._client.order(method, path, document, deadline=self._client.deadline())

    def _files_of(self, answer: Answer) -> Document:
        """Upload all files, and return their ids, each in the part of its kind or else in a free one."""
        document = File(DOCUMENT, "answer.pdf", "application/pdf", answer.document)
        placed = {f"{DOCUMENT}_file": self._uploaded(document)}
        free = list(PARTS.values())
        for file in answer.files():
            part = PARTS[file.kind] if PARTS[file.kind] in free else free[0]
            free.remove(part)
            placed[f"{part}_file"] = self._uploaded(file)
        return placed

    def _uploaded(self, file: File) -> str:
        form, content_type = multipart_form(file)
        with _refusals():
            made = self._client.upload(
                "/files", form, content_type=content_type, deadline=self._client.deadline()
            )
        number = str(made.get("id")) if isinstance(made, dict) else ""
        if not FILE_ID.match(number):
            raise AnswerLost
        return number

    def _listed(self, page: int) -> list[Document]:
        path = f"/disputes?statuses={OPEN}&this_channel_only=true&limit={LISTED}&skip={page * LISTED}"
        rows = self._found(path, self._client.deadline(of_query=True)).get("data")
        if not isinstance(rows, list):
            raise AnswerLost
        return [each for each in rows if isinstance(each, dict)]

    def _found(self, path: str, deadline: Deadline) -> Document:
        try:
            found = self._client.get(path, deadline=deadline)
        except NotFound:
            raise NoSuchCase from None
        if not isinstance(found, dict):
            raise AnswerLost
        return found

    def _payment_of(self, case: Document, deadline: Deadline) -> Document:
        """Return the payment of a case, if it was made at our channel and with a reference of ours.

        :raises NoSuchCase: it is another system's
        """
        named = case.get("payment")
        payment = named if isinstance(named, dict) else {}
        channel = payment.get("processing_channel_id")
        if channel is not None and f"{self.name}:{channel}" not in same_as(self.name, self.account):
            raise NoSuchCase
        if not payment_id(payment):
            raise UnreadableCase("It names no payment.")
        found = payments.with_id(self._client, payment_id(payment), deadline=deadline)
        if id_of(found.get("reference")) is None:
            raise NoSuchCase
        return found


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the client says of a refusal into what the core understands."""
    try:
        yield
    except Refused as refused:
        reason = " ".join(refused.error_codes) or f"status {refused.status}"
        raise AnswerRefused(f"Checkout.com refuses it: {reason}") from None


def texts_of(answer: Answer) -> Document:
    """Return the texts, those of a part together. What is too long is whole in the document."""
    texts: dict[str, str] = {}
    for kind, text in answer.texts:
        name = f"{PARTS[kind]}_text"
        texts[name] = f"{texts[name]}\n\n{text}" if name in texts else text
    return {name: shorten(text) for name, text in texts.items()}


def shorten(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT - len(CONTINUED)]}{CONTINUED}"


def multipart_form(file: File) -> tuple[bytes, str]:
    """Return a form with a file, and its content type. The name is plain, because the real one may be anything."""
    boundary = uuid4().hex
    name = f"evidence.{file.name.rpartition('.')[2]}"
    form = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\ndispute_evidence\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {file.type}\r\n\r\n"
    ).encode()
    return (
        form + file.content + f"\r\n--{boundary}--\r\n".encode(),
        f"multipart/form-data; boundary={boundary}",
    )


def _reported_case(case: Document, payment: Document, *, number: str, account: str) -> ReportedCase:
    """Return a case in our words.

    :raises UnreadableCase: its status or amount isn't known
    """
    status, amount = identifier_text(case.get("status"), length=40), case.get("amount")
    if status not in STATUSES:
        raise UnreadableCase(f"Its status isn't known: {status}")
    if not isinstance(amount, int | float) or amount != int(amount) or amount <= 0:
        raise UnreadableCase(f"It is {status}, and its amount isn't above 0.")
    stage, ours = STATUSES[status]
    received, required_by = (
        parsed_moment(case.get(name)) for name in ("received_on", "evidence_required_by")
    )
    return ReportedCase(
        connector=CheckoutDisputes.name,
        account=account,
        case_number=number,
        stage=stage,
        status=ours,
        amount=int(amount),
        currency=identifier_text(case.get("currency"), length=3),
        reason=REASONS.get(str(case.get("category")), Reason.GENERAL),
        network_reason=identifier_text(case.get("reason_code"), length=20),
        payment=id_of(payment.get("reference")),
        acquirer_payment=payment_id(payment),
        opened_at=received,
        respond_by=_respond_by(required_by, received),
        network_due_at=required_by,
        source=CheckoutDisputes.name,
    )


def _respond_by(required_by: datetime | None, received: datetime | None) -> datetime | None:
    """Return our deadline. It depends on the reported times only, so that it doesn't change with each query."""
    if required_by is None or received is None or required_by <= received:
        return required_by
    return required_by - min(BEFORE_DEADLINE, (required_by - received) / LARGEST_PART)
