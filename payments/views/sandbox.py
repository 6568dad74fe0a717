"""The API of what only the sandbox does. `request.user` is the business that signed the request."""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils.module_loading import import_string
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
    AdvancePayoutBatchSerializer,
    AdvanceReserveSerializer,
    AdvanceSerializer,
)
from payments.models import SettlementBatch
from payments.representation.events import EVENT, represent_event
from payments.representation.payments import PAYMENT, SETTLEMENT, represent
from payments.sandbox.scenario_representation import SCENARIO, SCENARIOS, VERSION
from payments.sandbox.scenarios import scenarios
from payments.sandbox.simulated_transfers import require_sandbox
from payments.services.events.event_subjects import subjects_of
from payments.services.sandbox.sandbox_clock import Advanced, advance, advance_to_watch
from payments.services.sandbox.sandbox_days import DayState, close_day
from payments.services.sandbox.sandbox_events import advance_event
from payments.services.sandbox.sandbox_reserves import advance_reserve
from payments.services.sandbox.sandbox_settlement_accounts import pass_day, pass_waits, pay_out_to
from payments.services.transactions.intents import find_of
from webhooks.models import Delivery

# By name: payout batches are above this package.
PAYOUT_BATCH: Answer = import_string("payout_batches.representation.PAYOUT_BATCH")
ADVANCE_BODY = any_of(
    "Advance",
    AdvancePaymentSerializer,
    AdvancePayoutBatchSerializer,
    AdvanceEventSerializer,
    AdvanceDaySerializer,
    AdvanceReserveSerializer,
)

HAPPENED = Field("advanced", one_of(Advanced), "What happened.")
ADVANCED_PAYMENT = PAYMENT.extended(
    "AdvancedPayment", "The payment as it is now, and what happened.", HAPPENED
)
CLOSED_DAY = Answer(
    "ClosedDay",
    "What was settled or returned from the reserve, and your balances afterwards.",
    Field(
        "batches",
        ListOf(SETTLEMENT),
        "The new settlement batches, or the one of the reserve.",
        value=itemgetter("batches"),
    ),
    Field("balance", ListOf(BALANCE_OF_CURRENCY), "Every currency.", value=itemgetter("balance")),
)
ADVANCED = Union("AdvanceResult", "What was advanced.", ADVANCED_PAYMENT, PAYOUT_BATCH, EVENT, CLOSED_DAY)


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
        """Advance a payment, a payout batch, an event, the business day or a reserve (sandbox).

        Send exactly one of `payment`, `payout_batch`, `event`, `day` and `reserve`.

        **`payment`** makes the next event that the payment is waiting for happen now, with all its usual effects. The
        response is the payment, and `advanced` is the event:

        - `challenge`: the 3-D Secure page expired (20151)
        - `authorisation`: the authorisation expired (20068)
        - `session`: the session of the virtual account expired (20068)
        - `question`: the acquirer or bank was queried for a lost answer: of the payment, a capture, void, refund or reversal
        - `return`: the bank returned a successful payout to account `0000000096`
        - `approval`: the payout was not approved within 72 hours (20092)
        - `server`: your server was asked about the payout. Repeat the call until its attempts are used up (20092)
        - `dispute`: a successful card payment whose amount ends in 77 was disputed as `fraudulent`. Call it again, and the
          dispute expires; after you have submitted your answer, the last text of evidence that is exactly `win`, `lose` or
          `escalate` decides it
        - `watch`: with `until` only

        `payment` may also be our `id` of the payment, or the `id` or case number of one of its disputes: then that case is
        advanced. Otherwise the newest open dispute is.

        With `"until": "watch"`, a card payment that its acquirer doesn't know fails now (20030) instead of after 30 minutes,
        and is watched for 7 days. Repeat the call to have the acquirer queried again: a charge that it finds is voided or
        refunded. The sandbox's own acquirer always knows its payments, so this needs another one (`RAILS`).

        **`payout_batch`** has the accounts of a batch checked now, sends a scheduled one now, asks your server about it
        again, and ends the 72 hours for its approval and the 24 hours in which the rest waits for money. A batch that waits
        for nothing stays as it is. With `until: rejected`, another member rejects it instead. The response is the batch.

        **`event`** has the next attempt of a waiting delivery made now. Repeat the call to make all eight attempts; the
        event then ends `dead`. The response is the event after the attempt, and takes at least one second. If your
        endpoint takes longer, the event may be returned before the attempt ends.

        **`day`** puts every successful payment that has no settlement batch into batches of its business day, today
        included, and moves these batches to `pending`, `approved`, `released` or `rejected`. The response has the new
        batches and your balances. Call it again to settle later payments of the same day; without any, `batches` is empty.
        A change of your settlement account has then waited long enough. After `released`, your schedule pays out, whatever
        day it is: the batches have `payout_reference`. With `settlement_account`, your balance is paid out without a schedule,
        too. If you have no settlement account in its currency, this one becomes it at once.

        **`reserve`** returns what was held back of a released settlement, as if its days were over. The response has the
        settlement and your balances. While you owe, nothing is returned (409 `invalid_state`).

        Of simultaneous calls, one advances the payment or the event. If nothing can be advanced, the response is 409
        `invalid_state`.
        """
        require_sandbox()
        business = business_of(request)
        wanted = read_body(request, AdvanceSerializer)
        (kind,) = wanted.keys() & _ADVANCES.keys()
        return Response(_ADVANCES[kind](business, wanted, request))


def _advance_payment(business: Business, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    find_by_dispute = import_string("disputes.services.sandbox.find_payment")  # its app is above this one
    payment = find_of(business, wanted["payment"]) or find_by_dispute(business, wanted["payment"])
    if payment is None:
        raise NotFound
    note_object(request, payment.request_type, payment.pk, payment.reference)
    if "until" in wanted:
        advanced = advance_to_watch(payment, actor=key_acting(request))
    else:
        advanced = advance(payment, name=wanted["payment"], actor=key_acting(request))
    shown = find_of(business, payment.reference) or payment
    return represent(shown) | {HAPPENED.name: advanced.value}


def _advance_payout_batch(business: Business, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    verb = "reject" if "until" in wanted else "advance"
    move = import_string(f"payout_batches.services.sandbox.{verb}_by_reference")
    shown: dict[str, Any] = move(business, wanted["payout_batch"], actor=key_acting(request))
    return shown


def _advance_event(business: Business, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    event = get_object_or_404(Delivery, business=business, pk=wanted["event"])
    note_object(request, ObjectKind.EVENT, event.pk)
    event = advance_event(event, actor=key_acting(request))
    return represent_event(event, subjects_of([event]).get(event.pk))


def _close_day(business: Business, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    made = close_day(business, DayState(wanted["day"]), actor=key_acting(request))
    pass_waits(business, actor=key_acting(request))
    if wanted["day"] == DayState.RELEASED:
        pass_day(business)
    if "settlement_account" in wanted:
        pay_out_to(business, **wanted["settlement_account"], actor=key_acting(request))
    return CLOSED_DAY.represent({"batches": made, "balance": balances(business)})


def _return_reserve(business: Business, wanted: dict[str, Any], request: Request) -> dict[str, Any]:
    batch = get_object_or_404(SettlementBatch.objects.of(business), pk=wanted["reserve"])
    note_object(request, ObjectKind.SETTLEMENT, batch.pk)
    advance_reserve(batch, actor=key_acting(request))
    return CLOSED_DAY.represent({"batches": [batch], "balance": balances(business)})


_ADVANCES: dict[str, Callable[[Business, dict[str, Any], Request], dict[str, Any]]] = {
    "payment": _advance_payment,
    "payout_batch": _advance_payout_batch,
    "event": _advance_event,
    "day": _close_day,
    "reserve": _return_reserve,
}
