"""Disputes in API responses and webhooks, declared field by field."""

from collections.abc import Callable
from typing import Any

from kit.api.fields.answer_fields import (
    COUNT,
    CURRENCY_FIELD,
    EMPTY,
    FLAG,
    MINOR_UNITS,
    MOMENT,
    NONE,
    REFERENCE,
    UUID,
    Answer,
    Field,
    ListOf,
    one_of,
    page_of,
    text,
    up_to,
)
from payments.rules.words.dispute_words import (
    LONGEST_CASE_NUMBER,
    LONGEST_TEXT,
    EvidenceKind,
    Reason,
    Stage,
    Status,
)

EVIDENCE = Answer(
    "DisputeEvidence",
    "A text or a file of your answer. A text has `text`, a file has `name`, `type`, `size` and `sha256`.",
    Field("id", UUID, "Our identifier of the item.", "01980a5e-b370-7c00-8000-000000000008", "pk"),
    Field("kind", one_of(EvidenceKind.values), "What it shows."),
    Field("text", up_to(LONGEST_TEXT), "The text.", "Handed over to Ada Obi on 3 February.", omit=EMPTY),
    Field("name", up_to(100), "The file's name.", "receipt.pdf", omit=EMPTY),
    Field("type", one_of(["application/pdf", "image/png", "image/jpeg"]), "The file's type, by its content.", omit=EMPTY),
    Field("size", COUNT, "Bytes of the file.", omit=EMPTY),
    Field("sha256", text("^[0-9a-f]{64}$", length=64), "SHA-256 of the file, hex.", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", omit=EMPTY),
    Field("created_at", MOMENT, "When it was added.", "2026-02-05T10:00:00.000Z"),
)  # fmt: skip
DISPUTE = Answer(
    "Dispute",
    "One stage of a case in which a cardholder's bank disputes a card payment. A later stage is another dispute.",
    Field("id", UUID, "Our identifier of the dispute.", "01980a5e-b370-7c00-8000-000000000007", "pk"),
    Field("case_number", up_to(LONGEST_CASE_NUMBER), "The acquirer's number of the case, the same in all stages.", "CB-2026-000417"),
    Field("stage", one_of(Stage.values), "`inquiry` is a question and moves no money.", "chargeback"),
    Field("status", one_of(Status.values), "`accepted`, `expired`, `won`, `lost` and `withdrawn` are final.", "needs_response"),
    Field("reason", one_of(Reason.values), "What the cardholder says."),
    Field("network_reason", up_to(100), "The card network's own code.", "10.4", omit=EMPTY),
    Field("amount", MINOR_UNITS, "The disputed amount, minor units. Held while the dispute is open, except in an inquiry.", 50_000),
    CURRENCY_FIELD,
    Field("fee", MINOR_UNITS, "What the dispute costs you, minor units.", 0),
    Field("payment_reference", REFERENCE, "Your reference of the payment.", "order-1042", "transaction.reference"),
    Field("payment_id", UUID, "Our identifier of the payment.", "01980a5e-7b00-7c00-8000-000000000001", "transaction_id"),
    Field("opened_at", MOMENT, "When the cardholder's bank opened it.", "2026-02-05T08:00:00.000Z"),
    Field("respond_by", MOMENT, "Answer before this time. Omitted if there is no deadline.", "2026-02-12T08:00:00.000Z", omit=NONE),
    Field("resolved_at", MOMENT, "When it ended. Once it is final.", "2026-02-20T08:00:00.000Z", omit=NONE),
    Field("outcome_amount", MINOR_UNITS, "What comes back to you, minor units. Once it is final.", 50_000, omit=NONE),
    Field("previous", UUID, "The dispute of the stage before.", "01980a5e-b370-7c00-8000-000000000006", "previous_id", NONE),
    Field("already_refunded", FLAG, "Refunds and other disputes of the payment had left less than the disputed amount.", False),
    Field("evidence", ListOf(EVIDENCE), "What you have added to your answer.", [], lambda dispute: dispute.evidence.all()),
    Field("created_at", MOMENT, "When we received it.", "2026-02-05T08:00:00.000Z"),
    Field("updated_at", MOMENT, "When it last changed.", "2026-02-05T08:00:00.000Z"),
)  # fmt: skip
DISPUTES_PAGE = page_of(DISPUTE, "A page of disputes, newest first.")

# Of the models of the disputes app, which is above this one.
represent_dispute: Callable[[Any], dict[str, Any]] = DISPUTE.represent
represent_evidence: Callable[[Any], dict[str, Any]] = EVIDENCE.represent
