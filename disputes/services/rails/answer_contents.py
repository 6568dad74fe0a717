"""What is sent to a provider as the answer to a case: the evidence, and a document with all of its texts and the packet."""

from collections.abc import Iterator
from typing import Any

from disputes.models import Dispute, DisputeEvidence
from disputes.rails.protocol import Answer, File
from disputes.rules import packet_words
from disputes.services.answers.packet import packet_of
from kit.files.text_pdf import text_pdf
from kit.money.money import money
from payments.rules.words.dispute_words import Reason


def answer_of(dispute: Dispute) -> Answer:
    """Return the answer that a business gave to a dispute."""
    accepted = (dispute.answer or {}).get("accept")
    items = [] if accepted else list(dispute.evidence.order_by("id"))
    lines = list(_acceptance(dispute, accepted["amount"]) if accepted else _defence(dispute, items))
    payment = dispute.transaction
    checkout = payment.checkout
    return Answer(
        dispute=dispute.pk,
        case_number=dispute.case_number,
        conceded=accepted["amount"] if accepted else None,
        is_fraud=dispute.reason == Reason.FRAUDULENT,
        texts=[(item.kind, item.text) for item in items if not item.is_file],
        files=lambda: _files(items),
        lines=lines,
        document=text_pdf(lines),
        customer_name=payment.customer_name,
        customer_email=payment.customer_email,
        customer_phone=checkout.phone if checkout else "",
    )


def _files(items: list[DisputeEvidence]) -> Iterator[File]:
    """Yield the files, each read when it is its turn."""
    for item in items:
        if item.is_file:
            yield File(item.kind, item.name, item.type, bytes(item.file.content))
            del item._state.fields_cache["file"]  # frees the memory of its content


def _acceptance(dispute: Dispute, amount: int) -> Iterator[str]:
    yield f"Case {dispute.case_number}: the merchant accepts {money(amount, dispute.currency)}."


def _defence(dispute: Dispute, items: list[DisputeEvidence]) -> Iterator[str]:
    yield f"Case {dispute.case_number}: the merchant defends {money(dispute.amount, dispute.currency)}."
    for item in items:
        yield ""
        yield f"{item.get_kind_display()}:"
        yield from [f"file {item.name}"] if item.is_file else item.text.splitlines()
    for name, facts in packet_of(dispute).items():
        yield ""
        yield f"{packet_words.PARTS[name]}:"
        for each in facts if isinstance(facts, list) else [facts]:
            yield from _lines(each, dispute.currency)


def _lines(facts: dict[str, Any], currency: str) -> Iterator[str]:
    shown_in = facts.get("currency", currency)
    for label, name, value in packet_words.labelled(facts):
        yield f"  {label}: {packet_words.fact_text(name, value, shown_in)}"
