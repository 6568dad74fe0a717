"""What a payer entered at a payment link, and the other attempts to pay it."""

from collections.abc import Sequence
from dataclasses import dataclass

from payments.models import Transaction
from payments.services.checkouts import checkouts


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutDetails:
    """The checkout that a payment of a link came from."""

    quantity: int
    phone: str
    answers: Sequence[tuple[str, str]]  # questions as payers read them, and the answers
    is_erased: bool  # the payer's answers were deleted
    attempt: int  # the payment's position among the attempts, from 1
    attempts: int
    others: Sequence[Transaction]  # newest first


def details_of_checkout(payment: Transaction) -> CheckoutDetails | None:
    """Return the checkout of a payment; None if it came from no link."""
    checkout, link = payment.checkout, payment.payment_link
    if checkout is None or link is None:
        return None
    attempts = checkouts.attempts_of(checkout)
    labels = {each["key"]: each["label"] for each in link.custom_fields}
    return CheckoutDetails(
        quantity=checkout.quantity,
        phone=checkout.phone,
        answers=[(labels.get(key, key), answer) for key, answer in checkout.answers.items()],
        is_erased=checkout.is_erased,
        attempt=[each.pk for each in attempts].index(payment.pk) + 1,
        attempts=len(attempts),
        others=[each for each in reversed(attempts) if each.pk != payment.pk],
    )
