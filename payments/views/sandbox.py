"""The API of what only the sandbox does. `request.user` is the business that signed the request."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.answer_fields import Answer, Field, ListOf, Union, one_of
from kit.api.fields.field_errors import InvalidFields, unknown_fields
from kit.api.open_view import OpenView
from kit.api.operations import any_of, ok, operation
from ledger.representation import BALANCE_OF_CURRENCY
from ledger.services import balances
from merchants.api.api_requests import ObjectKind, business_of, note_object, read_body
from merchants.models import Business
from merchants.people.request_actors import key_acting
from payments.api.serializers import (
    AdvanceDaySerializer,
    AdvanceEventSerializer,
    AdvancePaymentSerializer,
    AdvanceSerializer,
)
from payments.event_representation import EVENT, represent_event
from payments.representation import PAYMENT, SETTLEMENT, represent
from payments.sandbox.scenario_representation import SCENARIO, SCENARIOS, VERSION
from payments.sandbox.scenarios import scenarios
from payments.sandbox.simulated_transfers import require_sandbox
from payments.services.events.event_subjects import subjects_of
from payments.services.intents import find_of
from payments.services.sandbox.sandbox_clock import Advanced, advance, advance_to_watch
from payments.services.sandbox.sandbox_days import DayState, close_day
from payments.services.sandbox.sandbox_events import advance_event
from webhooks.models import Delivery

ADVANCE_BODY = any_of("Advance", AdvancePaymentSerializer, AdvanceEventSerializer, AdvanceDaySerializer)

HAPPENED = Field("advanced", one_of(Advanced), "What happened.")
ADVANCED_PAYMENT = PAYMENT.extended(
    "AdvancedPayment", "The payment as it is now, and what happened.", HAPPENED
)
CLOSED_DAY = Answer(
    "ClosedDay",
    "What was settled, and your balances afterwards.",
    Field("batches", ListOf(SETTLEMENT), "The new settlement batches.", value=itemgetter("batches")),
    Field("balance", ListOf(BALANCE_OF_CURRENCY), "Every currency.", value=itemgetter("balance")),
)
ADVANCED = Union("AdvanceResult", "What was advanced.", ADVANCED_PAYMENT, EVENT, CLOSED_DAY)


class ScenariosView(OpenView):
    @operation("listScenarios", ok(SCENARIOS, "Every scenario."))
    def get(self, request: Request) -> Response:
        """List scenarios (sandbox).

        Everything that can be made to happen in the sandbox, each as a sequence of calls with a known end. Needs no
        signature. The dashboard, the guides, the clients and our own tests play these scenarios.
        """
        require_sandbox()
        if wrong := unknown_fields(request.query_params, known=frozenset()):
            raise InvalidFields(wrong)
        return Response({"version": VERSION, "data": [SCENARIO.represent(each) for each in scenarios()]})


class AdvanceView(APIView):
    @operation(
        "advanceSandbox", ok(ADVANCED, "What was advanced."), ADVANCE_BODY, problems="not_found invalid_state"
    )
    def post(self, request: Request) -> Response:
        """Advance a payment, an event or the business day (sandbox).

        Send exactly one of `payment`, `event` and `day`.

        **`payment`** makes the next event that the payment is waiting for happen now, with all its usual effects. The
        response is the payment, and `advanced` is the event:

        - `challenge`: the 3-D Secure page expired (20151)
        - `authorisation`: the authorisation expired (20068)
        - `session`: the session of the virtual account expired (20068)
        - `question`: the acquirer or bank was queried for a lost answer: of the payment, a capture, void, refund or reversal
        - `return`: the bank returned a successful payout to account `0000000096`
        - `watch`: with `until` only

        With `"until": "watch"`, a card payment that its acquirer doesn't know fails now (20030) instead of after 30 minutes,
        and is watched for 7 days. Repeat the call to have the acquirer queried again: a charge that it finds is voided or
        refunded. The sandbox's own acquirer always knows its payments, so this needs another one (`RAILS`).

        **`event`** has the next attempt of a waiting delivery made now. Repeat the call to make all eight attempts; the
        event then ends `dead`. The response is the event after the attempt, and takes at least one second. If your
        endpoint takes longer, the event may be returned before the attempt ends.

        **`day`** puts every successful payment that has no settlement batch into batches of its business day, today
        included, and moves these batches to `pending`, `approved`, `released` or `rejected`. The response has the new
        batches and your balances. Call it again to settle later payments of the same day; without any, `batches` is empty.

        Of simultaneous calls, one advances the payment or the event. If nothing can be advanced, the response is 409
        `invalid_state`.
        """
        require_sandbox()
        business = business_of(request)
        wanted = read_body(request, AdvanceSerializer)
        (kind,) = wanted.keys() & _ADVANCES.keys()
        return Response(_ADVANCES[kind](business, wanted, request))


def _advance_payment(business: Business, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    payment = find_of(business, wanted["payment"])
    if payment is None:
        raise NotFound
    note_object(request, payment.request_type, payment.pk, payment.reference)
    move = advance_to_watch if "until" in wanted else advance
    advanced = move(payment, actor=key_acting(request))
    shown = find_of(business, payment.reference) or payment
    return represent(shown) | {HAPPENED.name: advanced.value}


def _advance_event(business: Business, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    event: Delivery | None = Delivery.objects.filter(business=business, pk=wanted["event"]).first()
    if event is None:
        raise NotFound
    note_object(request, ObjectKind.EVENT, event.pk)
    event = advance_event(event, actor=key_acting(request))
    return represent_event(event, subjects_of([event]).get(event.pk))


def _close_day(business: Business, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    made = close_day(business, DayState(wanted["day"]), actor=key_acting(request))
    return CLOSED_DAY.represent({"batches": made, "balance": balances(business)})


_ADVANCES: dict[str, Callable[[Business, dict[str, Any], Request], dict[str, Any]]] = {
    "payment": _advance_payment,
    "event": _advance_event,
    "day": _close_day,
}
