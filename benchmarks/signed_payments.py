"""Card payments as signed requests, prepared before they are sent."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from benchmarks.api import signed
from tests import orders
from tests.clients import Credentials


@dataclass(frozen=True)
class SignedPayment:
    """A payment that one merchant makes."""

    reference: str
    request: bytes


def signed_payments(merchants: Sequence[Credentials], count: int) -> list[SignedPayment]:
    """Return payments of these merchants in turns. Their signatures are valid for some minutes."""
    return [_signed_payment(merchant) for merchant in islice(cycle(merchants), count)]


def _signed_payment(merchant: Credentials) -> SignedPayment:
    order = orders.card_payment()
    request = signed(merchant, "POST", "/api/payments", json.dumps(order).encode())
    return SignedPayment(order["reference"], request)
