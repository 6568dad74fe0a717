"""The capabilities API. `request.user` is the business that signed the request."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.answer_fields import (
    COUNT,
    CURRENCY_FIELD,
    FLAG,
    MINOR_UNITS,
    NONE,
    POSITION,
    Answer,
    Field,
    ListOf,
    open_list,
)
from kit.api.fields.strict_fields import MAX_AMOUNT
from kit.api.operations import ok, operation
from merchants.api.api_requests import business_of
from payments.api.serializers import SESSION_AT_LEAST, SESSION_AT_MOST
from payments.rails.protocol import ThreeDSecureSupport
from payments.services.rails.capabilities import CapabilityFlow, FlowCapability, capabilities_of
from virtual_accounts.providers.protocol import AccountCapabilities

CARDS = (CapabilityFlow.CARD_PAYMENT,)
TRANSFERS = (CapabilityFlow.VIRTUAL_ACCOUNT_PAYMENT,)
WITH_AMOUNTS = (*CARDS, *TRANSFERS, CapabilityFlow.PAYOUT)


def _of_connector(name: str) -> Callable[[FlowCapability], Any]:
    """Return the function that reads a capability. None without a connector."""
    return lambda shown: getattr(shown.can, name, None)


def _minimum_amount(shown: FlowCapability) -> int | None:
    return None if shown.can is None else shown.can.minimum_amount.get(shown.currency, 1)


def _maximum_amount(shown: FlowCapability) -> int | None:
    if shown.can is None:
        return None
    return MAX_AMOUNT if shown.can.maximum_amount is None else shown.can.maximum_amount


def _multiple(shown: FlowCapability) -> int | None:
    return None if shown.can is None else shown.can.multiple_in(shown.currency)


def _expiry_duration(shown: FlowCapability) -> dict[str, int] | None:
    can = shown.can
    if not isinstance(can, AccountCapabilities):
        return None
    return {
        "minimum": can.shortest_session or SESSION_AT_LEAST,
        "maximum": can.longest_session or SESSION_AT_MOST,
    }


EXPIRY_DURATION = Answer(
    "ExpiryDurationRange",
    "How long the account number of a payment can accept the transfer.",
    Field("minimum", COUNT, "Seconds.", 900, itemgetter("minimum")),
    Field("maximum", COUNT, "Seconds.", 28_800, itemgetter("maximum")),
)  # fmt: skip
CAPABILITY = Answer(
    "Capability",
    "What can be done in one currency. Without a configured connector, only `flow`, `currency` and `available`.",
    Field("flow", open_list(CapabilityFlow), "The kind of request.", "card_payment"),
    CURRENCY_FIELD,
    Field("available", FLAG, "Whether requests of this flow and currency can be processed at the moment.", True, "is_available"),
    Field("hosted_only", FLAG, "Whether payers enter their card on the provider's own page only: by payment link, not with `source`.", False, _of_connector("hosted_only"), NONE, CARDS),
    Field("captures_later", FLAG, "Whether `capture` may be `false`.", True, _of_connector("captures_later"), NONE, CARDS),
    Field("voids", FLAG, "Whether an authorised payment can be voided.", True, _of_connector("voids"), NONE, CARDS),
    Field("partial_refunds", FLAG, "Whether a part of a payment can be refunded.", True, _of_connector("partial_refunds"), NONE, CARDS),
    Field("three_d_secure", open_list(ThreeDSecureSupport), "`on_request`: with `3ds.enabled`. `never`: not available. `provider_decides`: it can't be requested; `3ds.enabled` is refused unless an owner accepts that in Settings.", "on_request", _of_connector("three_d_secure"), NONE, CARDS),
    Field("expiry_duration", EXPIRY_DURATION, "The range of `expiry_duration`.", EXPIRY_DURATION.example(), _expiry_duration, omit=NONE, kinds=TRANSFERS),
    Field("minimum_amount", MINOR_UNITS, "The smallest `amount`. An owner can set a larger one in Settings.", 5_000, _minimum_amount, NONE, WITH_AMOUNTS),
    Field("maximum_amount", MINOR_UNITS, "The largest `amount`.", 999_999_999, _maximum_amount, NONE, WITH_AMOUNTS),
    Field("amount_multiple_of", POSITION, "`amount` must be a multiple of this.", 1, _multiple, NONE, WITH_AMOUNTS),
    kind_of=lambda shown: shown.flow,
)  # fmt: skip
CAPABILITIES = Answer(
    "CapabilityList", "Every flow and currency.", Field("data", ListOf(CAPABILITY), "By flow, then by currency.")
)  # fmt: skip


class CapabilitiesView(APIView):
    @operation("listCapabilities", ok(CAPABILITIES, "Every flow and currency."))
    def get(self, request: Request) -> Response:
        """List what can be done.

        What the acquirer and the banks that your operator connected can do, for each kind of request in each of
        your currencies. A request for anything else is refused with 400 `not_supported`.
        """
        found = capabilities_of(business_of(request))
        return Response({"data": [CAPABILITY.represent(each) for each in found]})
