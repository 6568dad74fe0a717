"""The API of what only the sandbox does. `request.user` is the business that signed the request."""

from typing import Any, cast

from django.conf import settings
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.answer_fields import Field, one_of
from kit.api.field_errors import InvalidFields, unknown_fields
from kit.api.open_view import OpenView
from kit.api.strict_fields import read_request
from merchants.api_requests import note_object
from merchants.models import Business
from merchants.request_actors import key_acting
from payments.representation import PAYMENT, represent
from payments.scenario_representation import SCENARIO, VERSION
from payments.scenarios import scenarios
from payments.serializers import AdvanceSerializer
from payments.services.intents import find_of
from payments.services.sandbox_clock import Advanced, advance
from payments.simulated_transfers import SandboxOnly

ADVANCE = AdvanceSerializer()

ADVANCED = Field("advanced", one_of(Advanced), "What happened.")
ADVANCED_PAYMENT = PAYMENT.extended(
    "AdvancedPayment", "The payment as it is now, and what happened.", ADVANCED
)


class ScenariosView(OpenView):
    def get(self, request: Request) -> Response:
        """List scenarios (sandbox).

        Everything that can be made to happen in the sandbox, each as a sequence of calls with a known end. Needs no
        signature. The dashboard, the guides, the clients and our own tests play these scenarios.
        """
        if not settings.SANDBOX:
            raise SandboxOnly
        if wrong := unknown_fields(request.query_params, known=frozenset()):
            raise InvalidFields(wrong)
        return Response({"version": VERSION, "data": [SCENARIO.represent(each) for each in scenarios()]})


class AdvanceView(APIView):
    def post(self, request: Request) -> Response:
        """Advance a payment (sandbox).

        Makes the next event that the payment is waiting for happen now, with all its usual effects.
        `advanced` is the event:

        - `challenge`: the 3-D Secure page expired (20151)
        - `authorisation`: the authorisation expired (20068)
        - `session`: the session of the virtual account expired (20068)
        - `question`: the acquirer or bank was queried for a lost answer: of the payment, a capture, void, refund or reversal
        - `return`: the bank returned a successful payout to account `0000000096`

        Of simultaneous calls, one advances the payment. If nothing can be advanced, the response is 409
        `invalid_state`.
        """
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
    note_object(request, payment.request_type, payment.pk, payment.reference)
    advanced = advance(payment, actor=key_acting(request))
    shown = find_of(business, reference) or payment
    return represent(shown) | {ADVANCED.name: advanced.value}
