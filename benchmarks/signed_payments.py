"""Card payments as signed requests, prepared before they are sent."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from benchmarks.load import http_request
from tests import orders
from tests.clients import Credentials, signed_headers


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
    body = json.dumps(order).encode()
    headers = signed_headers(merchant, "POST", "/api/payments", body) | {"Content-Type": "application/json"}
    return SignedPayment(order["reference"], http_request("POST", "/api/payments", body, headers))
