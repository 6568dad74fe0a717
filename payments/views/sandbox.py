"""The API to advance sandbox payments. `request.user` is the business that signed the request."""

from typing import Any, cast

from django.conf import settings
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.answers import Field, one_of
from kit.api.strict_fields import read_request
from merchants.models import Business
from merchants.request_actors import key_acting
from payments.representation import PAYMENT, represent
from payments.serializers import AdvanceSerializer
from payments.services.intents import find_of
from payments.services.sandbox_clock import Advanced, advance
from payments.simulated_transfers import SandboxOnly

ADVANCE = AdvanceSerializer()

ADVANCED = Field("advanced", one_of(Advanced), "What happened.")
ADVANCED_PAYMENT = PAYMENT.extended(
    "AdvancedPayment", "The payment as it is now, and what happened.", ADVANCED
)


class AdvanceView(APIView):
    """Trigger the event that a sandbox payment waits for."""

    def post(self, request: Request) -> Response:
        if not settings.SANDBOX:
            raise SandboxOnly
        business = cast("Business", request.user)
        wanted = read_request(
            ADVANCE, cast("dict[str, Any]", request.data or {}), currencies=business.currencies
        )
        return Response(_advance_payment(business, wanted["payment"], request))


def _advance_payment(business: Business, reference: str, request: Request) -> dict[str, Any]:
    payment = find_of(business, reference)
    if payment is None:
        raise NotFound
    advanced = advance(payment, actor=key_acting(request))
    shown = find_of(business, reference) or payment
    return represent(shown) | {ADVANCED.name: advanced.value}
