"""What a request to POST /api/payments starts, chosen by request_type and payment_method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from rest_framework.exceptions import ValidationError

from merchants.models import Business
from merchants.strict_fields import REQUIRED, RequestSerializer, error, read_request
from payments.idempotency import fingerprint
from payments.serializers import (
    CardCheckSerializer,
    CardPaymentSerializer,
    PayoutSerializer,
    VirtualAccountPaymentSerializer,
)
from payments.services import card_checks, card_payments, payouts, virtual_account_payments
from payments.services.intents import Intent

StartFunction: TypeAlias = Callable[..., Intent]


@dataclass(frozen=True, slots=True)
class Flow:
    """How one kind of request is read, and what it starts."""

    serializer: RequestSerializer
    begin: StartFunction

    def start(self, data: Mapping[str, Any], *, business: Business, now: datetime) -> Intent:
        """Read the request, do what it asks, and return the transaction as it is then.

        :raises ValidationError: the request is wrong; nothing was stored
        :raises DuplicateReference: its reference belongs to a different request
        :raises RailUnavailable: nobody is configured to do it; nothing was stored
        """
        request = read_request(self.serializer, data, business=business)
        return self.begin(business=business, request=request, fingerprint=fingerprint(request), now=now)


FLOWS: dict[tuple[str, str | None], Flow] = {
    ("payment", "card"): Flow(CardPaymentSerializer(), card_payments.start),
    ("payment", "virtual_account"): Flow(VirtualAccountPaymentSerializer(), virtual_account_payments.start),
    ("payout", None): Flow(PayoutSerializer(), payouts.start),
    ("card_check", None): Flow(CardCheckSerializer(), card_checks.start),
}
REQUEST_TYPES = tuple(dict.fromkeys(request_type for request_type, _ in FLOWS))
PAYMENT_METHODS = tuple(method for _, method in FLOWS if method)


def choose(data: Mapping[str, Any]) -> Flow:
    """Return the flow of a request.

    :raises ValidationError: request_type, or the payment_method of a payment, is none that exists
    """
    request_type = _one_of(data, "request_type", REQUEST_TYPES)
    if request_type != "payment":
        return FLOWS[request_type, None]
    return FLOWS["payment", _one_of(data, "payment_method", PAYMENT_METHODS)]


def _one_of(data: Mapping[str, Any], name: str, options: tuple[str, ...]) -> str:
    if name not in data:
        raise ValidationError({name: error(REQUIRED, "required")})
    value = data[name]
    if not isinstance(value, str) or value not in options:
        raise ValidationError({name: error(f"This field must be {' or '.join(options)}.", "invalid_choice")})
    return value
