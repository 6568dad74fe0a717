"""Disputes: opened by the issuer, answered once, decided by the scheme.

The evidence text `win`, `lose` or `escalate` decides what the scheme says, as in the sandbox; any other text wins.
"""

from email import message_from_bytes
from functools import partial

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.api.responses import Refused
from connectors.checkout.simulator.money import Books
from connectors.checkout.simulator.state import (
    Account,
    Dispute,
    Document,
    Payment,
    Upload,
    timestamp,
    without_empty,
)
from connectors.checkout.simulator.webhooks import Outbox

EVIDENCE = (
    "proof_of_delivery_or_service",
    "invoice_or_receipt",
    "invoice_showing_distinct_transactions",
    "customer_communication",
    "refund_or_cancellation_policy",
    "recurring_transaction_agreement",
    "additional_evidence",
    "proof_of_delivery_or_service_date",
)
LONGEST_TEXT = 500
MERCHANTS_WIN = frozenset({"won", "arbitration_won", "canceled"})
OPEN = frozenset({"evidence_required", "evidence_under_review", "arbitration_under_review"})
DECISIONS = {"win": ("won",), "lose": ("lost",), "escalate": ("won", "arbitration_under_review")}
ARBITRATION_DECISIONS = {"win": ("arbitration_won",), "lose": ("arbitration_lost",)}
REASON_CODES = {"fraudulent": "10.4"}  # Visa's; others: 13.1


class DisputeDesk:
    """Opens, answers and decides disputes."""

    def __init__(self, account: Account, books: Books, outbox: Outbox) -> None:
        self._account, self._books, self._outbox = account, books, outbox

    def open(self, payment: Payment, *, amount: int | None = None, category: str = "fraudulent") -> Dispute:
        """Open a dispute over a captured amount. A payment that was refunded before is defended by Checkout.com."""
        clock, time_to_answer = self._account.clock, self._account.delays.dispute_answer
        dispute = Dispute(
            id=self._account.new_id("dsp", 22),
            payment=payment.id,
            action=self._account.new_id("act"),
            amount=amount or payment.captured,
            category=category,
            reason_code=REASON_CODES.get(category, "13.1"),
            received_on=clock.now(),
            due=clock.after(time_to_answer),
        )
        self._account.disputes[dispute.id] = dispute
        self._tell(dispute, "dispute_received")
        if not payment.refundable:
            dispute.resolved_reason = "already_refunded"
            self._set_status(dispute, "resolved")
            return dispute
        self._books.book_dispute(payment, dispute)
        self._set_status(dispute, "evidence_required")
        self._account.schedule.add(time_to_answer, partial(self._expire, dispute))
        return dispute

    def _expire(self, dispute: Dispute) -> None:
        if dispute.status == "evidence_required":
            self._set_status(dispute, "expired")

    def decide(self, dispute: Dispute, status: str) -> None:
        """Give a dispute a status that the scheme decided, and return its amount if the merchant won."""
        if status in MERCHANTS_WIN and dispute.status in OPEN:
            self._books.book_dispute(self._account.payments[dispute.payment], dispute, is_reversal=True)
        elif status == "arbitration_under_review" and dispute.status in MERCHANTS_WIN:
            self._books.book_dispute(self._account.payments[dispute.payment], dispute)
        self._set_status(dispute, status)

    def accept(self, dispute: Dispute) -> None:
        """Concede a dispute.

        :raises Refused: it has ended, or its evidence was submitted (the codes are guesses)
        """
        if dispute.status != "evidence_required":
            raise Refused(422, "dispute_not_open")
        self._set_status(dispute, "accepted")

    def add_evidence(self, dispute: Dispute, given: Document) -> None:
        """Store evidence, which replaces the same parts of it.

        :raises Refused: there is none, a text is too long, a file is unknown, or it was submitted
        """
        known = {f"{name}_{kind}": kind for name in EVIDENCE for kind in ("file", "text")}
        parts = {name: str(value) for name, value in given.items() if name in known and value}
        if not parts:
            raise Refused(422, "evidence_required")
        if any(len(text) > LONGEST_TEXT for name, text in parts.items() if known[name] == "text"):
            raise Refused(422, "evidence_text_too_long")
        if any(text not in self._account.uploads for name, text in parts.items() if known[name] == "file"):
            raise Refused(422, "file_not_found")
        if dispute.is_submitted or dispute.status not in OPEN:
            raise Refused(422, "dispute_not_open")
        dispute.evidence |= parts

    def submit(self, dispute: Dispute, *, is_arbitration: bool = False) -> None:
        """Submit the evidence, finally.

        :raises Refused: there is none, or it was submitted
        """
        expected = "arbitration_under_review" if is_arbitration else "evidence_required"
        if dispute.status != expected or dispute.is_submitted:
            raise Refused(422, "dispute_not_open")
        if not dispute.evidence:
            raise Refused(422, "evidence_required")
        dispute.is_submitted = True
        if is_arbitration:
            self._tell(dispute, "dispute_arbitration_evidence_submitted")
        else:
            self._set_status(dispute, "evidence_under_review")
        decide = partial(self._decide_by_evidence, dispute)
        self._account.schedule.add(self._account.delays.dispute_decision, decide)

    def _decide_by_evidence(self, dispute: Dispute) -> None:
        table = ARBITRATION_DECISIONS if dispute.status == "arbitration_under_review" else DECISIONS
        word = next((text for text in reversed(dispute.evidence.values()) if text in table), "win")
        if dispute.status in OPEN:
            for status in table[word]:
                self.decide(dispute, status)
            dispute.is_submitted = dispute.status not in OPEN

    def _set_status(self, dispute: Dispute, status: str) -> None:
        dispute.status, dispute.last_update = status, self._account.clock.now()
        self._tell(dispute, tables.EVENT_OF_DISPUTE[status])

    def _tell(self, dispute: Dispute, event: str) -> None:
        payment = self._account.payments[dispute.payment]
        data = without_empty(
            {
                "id": dispute.id,
                "date": timestamp(self._account.clock.now()),
                "category": dispute.category,
                "amount": dispute.amount,
                "currency": payment.currency,
                "reason_code": dispute.reason_code,
                "resolved_reason": dispute.resolved_reason,
                "evidence_required_by": timestamp(dispute.due)
                if dispute.status == "evidence_required"
                else None,
                "payment_id": payment.id,
                "payment_action_id": dispute.action,
                "payment_reference": payment.reference,
                "payment_method": payment.card.scheme,
            }
        )
        self._outbox.publish(event, subject=dispute.id, data=data)


def dispute_summary(account: Account, dispute: Dispute) -> Document:
    payment = account.payments[dispute.payment]
    return _common(account, dispute) | {
        "payment_id": payment.id,
        "payment_action_id": dispute.action,
        "payment_reference": payment.reference,
        "payment_arn": _arn(payment),
        "payment_mcc": "5399",
        "payment_method": payment.card.scheme.upper(),
    }


def dispute_details(account: Account, dispute: Dispute) -> Document:
    payment = account.payments[dispute.payment]
    common = _common(account, dispute)
    common["_links"]["evidence"] = account.link("disputes", dispute.id, "evidence")
    return common | {
        "relevant_evidence": ["proof_of_delivery_or_service", "invoice_or_receipt", "customer_communication"],
        "payment": {
            "id": payment.id,
            "action_id": dispute.action,
            "processing_channel_id": account.identity.channel,
            "amount": payment.captured,
            "currency": payment.currency,
            "method": payment.card.scheme.upper(),
            "arn": _arn(payment),
            "mcc": "5399",
            "has_refund": payment.refunded > 0,
            "processed_on": timestamp(payment.requested_on),
        },
    }


def _common(account: Account, dispute: Dispute) -> Document:
    is_waiting = dispute.status == "evidence_required"
    return without_empty(
        {
            "id": dispute.id,
            "entity_id": account.identity.entity,
            "category": dispute.category,
            "status": dispute.status,
            "amount": dispute.amount,
            "currency": account.payments[dispute.payment].currency,
            "reason_code": dispute.reason_code,
            "resolved_reason": dispute.resolved_reason,
            "evidence_required_by": timestamp(dispute.due) if is_waiting else None,
            "received_on": timestamp(dispute.received_on),
            "last_update": timestamp(dispute.last_update or dispute.received_on),
            "_links": {"self": account.link("disputes", dispute.id)},
        }
    )


def _arn(payment: Payment) -> str:
    return next((one.arn for one in reversed(payment.actions) if one.type == "Capture"), "")


def upload(account: Account, content_type: str, body: bytes) -> Upload:
    """Store a file of a multipart form.

    :raises Refused: it isn't one, or has another purpose
    """
    form = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    parts = form.get_payload() if form.is_multipart() else []
    found = {str(part.get_param("name", header="content-disposition")): part for part in parts}  # type: ignore[union-attr]
    purpose, file = found.get("purpose"), found.get("file")
    if file is None or purpose is None or purpose.get_payload().strip() != "dispute_evidence":  # type: ignore[union-attr]
        raise Refused(422, "file_purpose_invalid")
    content = file.get_payload(decode=True)  # type: ignore[union-attr]
    name = file.get_filename() or "file"  # type: ignore[union-attr]
    made = Upload(account.new_id("file"), name, content if isinstance(content, bytes) else b"")
    account.uploads[made.id] = made
    return made
