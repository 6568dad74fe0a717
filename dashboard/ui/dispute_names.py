"""How pages and e-mails name the stages, statuses and reasons of disputes. The API's names are the values."""

from payments.rules.words.dispute_words import EvidenceKind, Reason, Stage, Status

STAGE_NAMES = {
    Stage.INQUIRY: "Inquiry",
    Stage.CHARGEBACK: "Chargeback",
    Stage.PRE_ARBITRATION: "Pre-arbitration",
    Stage.ARBITRATION: "Arbitration",
}
DISPUTE_NAMES = {
    Status.NEEDS_RESPONSE: "Needs response",
    Status.UNDER_REVIEW: "Under review",
    Status.WON: "Won",
    Status.LOST: "Lost",
    Status.ACCEPTED: "Accepted",
    Status.EXPIRED: "Expired",
    Status.WITHDRAWN: "Withdrawn",
}
REASON_NAMES = {
    Reason.FRAUDULENT: "Fraudulent",
    Reason.DUPLICATE: "Duplicate",
    Reason.PRODUCT_NOT_RECEIVED: "Product not received",
    Reason.PRODUCT_UNACCEPTABLE: "Product unacceptable",
    Reason.CREDIT_NOT_PROCESSED: "Refund not processed",
    Reason.SUBSCRIPTION_CANCELLED: "Subscription cancelled",
    Reason.UNRECOGNISED: "Not recognised",
    Reason.AMOUNT_DIFFERS: "Amount differs",
    Reason.GENERAL: "Other reason",
}
KIND_NAMES = {
    EvidenceKind.RECEIPT: "Receipt or invoice",
    EvidenceKind.CUSTOMER_COMMUNICATION: "Messages with the customer",
    EvidenceKind.DELIVERY: "Delivery",
    EvidenceKind.SERVICE: "Service that was provided",
    EvidenceKind.REFUND_POLICY: "Refund policy",
    EvidenceKind.DUPLICATE_EXPLANATION: "Why it isn't a duplicate",
    EvidenceKind.OTHER: "Something else",
}
# Which statuses those of disputes look like.
DISPUTE_STYLES = {
    Status.NEEDS_RESPONSE: "pending",
    Status.UNDER_REVIEW: "open",
    Status.WON: "success",
    Status.WITHDRAWN: "success",
    Status.LOST: "failed",
    Status.EXPIRED: "failed",
    Status.ACCEPTED: "reversed",
}


def dispute_name(status: str) -> str:
    """Return the name of a dispute's status."""
    return DISPUTE_NAMES[Status(status)]


def dispute_style(status: str) -> str:
    """Return the style of a dispute's status."""
    return DISPUTE_STYLES[Status(status)]


def stage_name(stage: str) -> str:
    return STAGE_NAMES[Stage(stage)]


def dispute_reason(reason: str) -> str:
    return REASON_NAMES[Reason(reason)]


def evidence_kind(kind: str) -> str:
    return KIND_NAMES[EvidenceKind(kind)]
