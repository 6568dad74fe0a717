"""What convinces a cardholder's bank, by the reason of a dispute."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from payments.rules.words.dispute_words import EvidenceKind, Reason

Kind = EvidenceKind
SENTENCES = {
    Reason.FRAUDULENT: "The cardholder's bank has to see that the cardholder made or approved this payment.",
    Reason.UNRECOGNISED: "The cardholder's bank has to see what was bought, and that the cardholder took part in it.",
    Reason.DUPLICATE: "The cardholder's bank has to see that each payment was for an order of its own.",
    Reason.PRODUCT_NOT_RECEIVED: "The cardholder's bank has to see when and where the order was handed over, and to whom.",
    Reason.PRODUCT_UNACCEPTABLE: "The cardholder's bank has to see that what was sent is what you promised, and how you answered the complaint.",
    Reason.CREDIT_NOT_PROCESSED: "The cardholder's bank has to see the refund, or the policy under which none is due.",
    Reason.SUBSCRIPTION_CANCELLED: "The cardholder's bank has to see that the subscription wasn't cancelled before the payment, or that it was used after it.",
    Reason.AMOUNT_DIFFERS: "The cardholder's bank has to see that the cardholder agreed to this amount.",
    Reason.GENERAL: "The cardholder's bank has to see what was agreed, what you delivered, and what the customer said about it.",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proof:
    """Something that convinces: a part of the packet, or evidence of one of these kinds."""

    text: str
    part: str = ""
    kinds: tuple[Kind, ...] = ()


_SECURE = Proof("3-D Secure: the bank authenticated the cardholder.", part="three_d_secure")
_EARLIER = Proof(
    "Earlier payments of the same customer, above all those that were not disputed.", part="other_payments"
)
_RECEIPT = Proof("A receipt or an invoice that says what was bought.", kinds=(Kind.RECEIPT,))
_DELIVERY = Proof("Proof of delivery with name, address and date.", kinds=(Kind.DELIVERY,))
_SERVICE = Proof("Proof that the service was provided or used.", kinds=(Kind.SERVICE,))
_MESSAGES = Proof(
    "Messages from the customer, on WhatsApp or by email.", kinds=(Kind.CUSTOMER_COMMUNICATION,)
)
_REFUND = Proof("The refund of this payment.", part="refunds")
_POLICY = Proof("Your policy for refunds, as the customer accepted it.", kinds=(Kind.REFUND_POLICY,))
_ANSWERS = Proof("What the payer entered on your payment link.", part="payment_link")
_OTHER_ORDER = Proof(
    "Why the payments are for different orders.", kinds=(Kind.DUPLICATE_EXPLANATION, Kind.RECEIPT)
)

PROOFS: dict[Reason, tuple[Proof, ...]] = {
    Reason.FRAUDULENT: (_SECURE, _EARLIER, _DELIVERY, _MESSAGES),
    Reason.UNRECOGNISED: (_SECURE, _EARLIER, _RECEIPT, _MESSAGES),
    Reason.DUPLICATE: (_OTHER_ORDER, _REFUND),
    Reason.PRODUCT_NOT_RECEIVED: (_DELIVERY, _SERVICE, _MESSAGES),
    Reason.PRODUCT_UNACCEPTABLE: (_RECEIPT, _MESSAGES, _POLICY),
    Reason.CREDIT_NOT_PROCESSED: (_REFUND, _POLICY, _MESSAGES),
    Reason.SUBSCRIPTION_CANCELLED: (_SERVICE, _MESSAGES, _POLICY),
    Reason.AMOUNT_DIFFERS: (_RECEIPT, _ANSWERS, _MESSAGES),
    Reason.GENERAL: (_RECEIPT, _DELIVERY, _MESSAGES),
}


@dataclass(frozen=True, slots=True)
class Tip:
    """A proof as the page lists it, with where it stands."""

    text: str
    place: str
    is_missing: bool = False


def tips_for(reason: str, *, parts: Collection[str], kinds: Collection[str]) -> Sequence[Tip]:
    """Return what convinces. Parts that the payment doesn't have can't be added, so they are left out."""
    proofs = PROOFS[Reason(reason)]
    return [
        *(Tip(each.text, "In the packet.") for each in proofs if each.part in parts),
        *(_added(each, kinds) for each in proofs if each.kinds),
    ]


def _added(proof: Proof, kinds: Collection[str]) -> Tip:
    is_missing = not any(kind in kinds for kind in proof.kinds)
    return Tip(proof.text, "Not added yet." if is_missing else "Added.", is_missing)
