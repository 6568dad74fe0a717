"""Choose the serializer and service of a POST /api/payments by request_type and payment_method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from kit.api.fields.field_errors import Errors, InvalidFields, error
from kit.api.fields.strict_fields import RequestSerializer, read_request
from kit.api.replays import IdempotentResult
from kit.connectors.connectors import NotSupported
from kit.db.card_number_fields import MISPLACED, misplaced
from merchants.businesses.minimum_amounts import below_smallest_payment
from merchants.models import Business
from payments.api.serializers import (
    CardCheckSerializer,
    CardPaymentSerializer,
    PayoutSerializer,
    UnknownKindSerializer,
    UnknownMethodSerializer,
    VirtualAccountPaymentSerializer,
)
from payments.fingerprints import fingerprint
from payments.models import Transaction
from payments.rails import RailUnavailable
from payments.rules.cards import Card
from payments.services.cards import card_checks, card_payments
from payments.services.payouts import payouts
from payments.services.payouts.beneficiaries import UnknownReference
from payments.services.payouts.controls.makers import NO_MAKER, Maker
from payments.services.replays import idempotency, reserved_references
from payments.services.transactions.intents import find_of
from payments.services.transfers import virtual_account_payments

StartFunction: TypeAlias = Callable[..., IdempotentResult[Transaction]]


class SmallPayment(InvalidFields):
    """A payment is below the business's smallest."""


@dataclass(frozen=True, slots=True)
class RequestType:
    """The serializer and the service of a request type."""

    serializer: RequestSerializer
    begin: StartFunction
    has_maker: bool = False  # the service takes the maker

    def start(
        self, data: Mapping[str, Any], *, business: Business, now: datetime, maker: Maker = NO_MAKER
    ) -> IdempotentResult[Transaction]:
        """Validate the request, run its service and return the transaction.

        :raises ValidationError: the request is invalid; nothing was stored
        :raises DuplicateReference: the reference was already used for a different request
        :raises DuplicateReference: a payout of a batch has, or will have, the reference
        :raises SmallPayment: the request is new and its amount below the business's smallest payment
        :raises UnknownReference: the request is new and names no beneficiary of the business
        :raises BeneficiaryBlocked: the request is new and its account is blocked; nothing was stored
        :raises NotSupported: the request is new and its connector can never do this; nothing was stored
        :raises RailUnavailable: the request is new and no connector is available; nothing was stored
        :raises PayoutLimitReached: the payout is new and over a limit of the business; nothing was stored
        :raises PayoutsFrozen: the payout is new and staff have frozen the business's; nothing was stored
        """
        request = read_request(self.serializer, data, currencies=business.currencies)
        _refuse_misplaced_number(data, request)
        mark = fingerprint(request)
        if request["request_type"] == Transaction.RequestType.PAYOUT:  # the INSERT of others checks it
            reserved_references.require_free(business, request["reference"])
        try:
            _refuse_small_payment(request, business)
            made = {"maker": maker} if self.has_maker else {}
            result = self.begin(business=business, request=request, fingerprint=mark, now=now, **made)
        except (RailUnavailable, NotSupported, SmallPayment, UnknownReference):
            # Only then look up the reference: a repeated request needs no connector, and was accepted before.
            reserved_references.require_free(business, request.get("reference"))
            existing = find_of(business, request["reference"]) if "reference" in request else None
            if existing is None:
                raise
            result = IdempotentResult(existing, is_replay=True)
        return (
            idempotency.replay_or_raise(result.resource, request=request, fingerprint=mark, now=now)
            if result.is_replay
            else result
        )


def _refuse_small_payment(request: Mapping[str, Any], business: Business) -> None:
    """Reject a payment, not a payout or a check, below the business's smallest.

    :raises SmallPayment: it is below
    """
    if request["request_type"] != "payment":
        return
    errors = below_smallest_payment(business, request["amount"], request["currency"])
    if errors:
        raise SmallPayment({"amount": errors})


def _refuse_misplaced_number(data: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Reject a request that has the card number in a field other than `source.pan`.

    :raises ValidationError: some fields contain it; the error names each
    """
    card = request.get("source")
    if not isinstance(card, Card):
        return
    elsewhere = {**data, "source": {name: value for name, value in data["source"].items() if name != "pan"}}
    errors: Errors = {}
    for path in misplaced(elsewhere, card.secret.reveal_number()):
        place = errors
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = error("This field may not hold the card's number.", MISPLACED)
    if errors:
        raise InvalidFields(errors)


REQUEST_TYPES: dict[tuple[str, str | None], RequestType] = {
    ("payment", "card"): RequestType(CardPaymentSerializer(), card_payments.start),
    ("payment", "virtual_account"): RequestType(
        VirtualAccountPaymentSerializer(), virtual_account_payments.start
    ),
    ("payout", None): RequestType(PayoutSerializer(), payouts.start, has_maker=True),
    ("card_check", None): RequestType(CardCheckSerializer(), card_checks.start),
}


def _no_service(**_: Any) -> IdempotentResult[Transaction]:
    raise AssertionError("The serializer of an unknown kind rejects every request.")


UNKNOWN_KIND = RequestType(UnknownKindSerializer(), _no_service)
UNKNOWN_METHOD = RequestType(UnknownMethodSerializer(), _no_service)


def choose(data: Mapping[str, Any]) -> RequestType:
    """Return the type of a request.

    If request_type, or the payment_method of a payment, is missing or unknown, returns a type whose serializer
    rejects the request and reports every error in the common fields.
    """
    request_type, method = data.get("request_type"), data.get("payment_method")
    if request_type == "payment":
        return (REQUEST_TYPES.get(("payment", method)) if isinstance(method, str) else None) or UNKNOWN_METHOD
    return (
        REQUEST_TYPES.get((request_type, None)) if isinstance(request_type, str) else None
    ) or UNKNOWN_KIND
