"""Closed lists of values that several schemas have. Each is a schema of its own, so that a generated client has one type.

A list that stands in one place only stays there. `manage.py check_project` reports one that stands in several places
and is missing here.
"""

from collections.abc import Collection
from typing import Any, TypeAlias

from payments.api.serializers import PAYMENT_METHODS
from payments.links.link_rules import ASKED
from payments.models import PaymentLink, Transaction
from payments.representation.beneficiaries import STATUSES as BENEFICIARY_STATUSES
from payments.representation.events import EVENT_STATES
from payments.rules.words.dispute_words import EvidenceKind, Stage
from payments.rules.words.dispute_words import Status as DisputeStatus
from payout_batches.models import PayoutBatch
from virtual_accounts.models import UnappliedMoney, VirtualAccount
from webhooks.exams.exam_records import Exam
from webhooks.models import SUBSCRIPTIONS, Event

Schema: TypeAlias = dict[str, Any]

NAMED: dict[str, tuple[str, Collection[str]]] = {
    "TransactionStatus": ("Status of a transaction. `success` and `failed` are final.", Transaction.Status.values),
    "RefundStatus": ("Whether and how far a payment is refunded.", Transaction.RefundStatus.values),
    "SettleStatus": ("Status of a settlement batch and of its payments.", Transaction.SettleStatus.values),
    "RequestType": ("The kind of transaction.", Transaction.RequestType.values),
    "PaymentMethod": ("How the payer pays.", PAYMENT_METHODS),
    "EventName": ("What happened.", Event.labels),
    "EventSubscription": ("What an endpoint receives: a category, or a single event.", SUBSCRIPTIONS),
    "EventState": ("State of an event's delivery.", tuple(EVENT_STATES.values())),
    "VirtualAccountStatus": ("Status of a virtual account.", VirtualAccount.Status.values),
    "UnappliedTransferState": ("State of an unapplied transfer.", UnappliedMoney.State.values),
    "PaymentLinkStatus": ("Status of a payment link.", PaymentLink.Status.values),
    "BeneficiaryStatus": ("Status of a beneficiary.", BENEFICIARY_STATUSES),
    "PayoutBatchStatus": ("Status of a payout batch.", PayoutBatch.Status.values),
    "PayoutPurpose": ("What a payout is for.", Transaction.Purpose.values),
    "ExamTarget": ("Who sends the requests of an exam.", Exam.Target.values),
    "ExamActed": ("How often a system acted upon an event.", Exam.Acted.values),
    "DisputeStage": ("Stage of a case.", Stage.values),
    "DisputeStatus": ("Status of a dispute.", DisputeStatus.values),
    "EvidenceKind": ("What an item of evidence shows.", EvidenceKind.values),
    "Asked": ("Whether payers are asked for a detail.", ASKED),
}  # fmt: skip


def schemas() -> dict[str, Schema]:
    """Return the components of all named lists."""
    return {
        name: {
            "type": "string",
            "description": meaning,
            "enum": list(values),
            "examples": [next(iter(values))],
        }
        for name, (meaning, values) in NAMED.items()
    }


def refer(node: Any) -> Any:
    """Return a part of the document in which each of the named lists is a reference."""
    if isinstance(node, list):
        return [refer(each) for each in node]
    if not isinstance(node, dict):
        return node
    parts = {key: refer(value) for key, value in node.items()}
    values = parts.get("enum")
    if not isinstance(values, list):
        return parts
    for name, (_, named) in NAMED.items():
        if [value for value in values if value is not None] == list(named):
            return _reference(name, parts, is_nullable=None in values)
    return parts


def _reference(name: str, schema: Schema, *, is_nullable: bool) -> Schema:
    reference = {"$ref": f"#/components/schemas/{name}"}
    kept = {key: value for key, value in schema.items() if key not in ("type", "enum")}
    return ({"oneOf": [reference, {"type": "null"}]} if is_nullable else reference) | kept
