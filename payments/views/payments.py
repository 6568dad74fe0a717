"""The payment API. Each view parses, calls one service and responds. `request.user` is the business that signed."""

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.amount_warnings import with_warnings
from kit.api.operations import any_of, created, done, ok, operation
from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed, done_or_replayed
from kit.db import clock
from merchants.api.api_requests import (
    body_of,
    business_of,
    key_of,
    note_object,
    read_body,
)
from merchants.people.access import Limit
from payments.api import request_types
from payments.api.filters import FilterSerializer, filtered
from payments.api.serializers import CancelSerializer, CaptureSerializer, VoidSerializer
from payments.models import Transaction
from payments.representation import payments as answers
from payments.services.cards import captures
from payments.services.payouts.controls.makers import Maker
from payments.services.transactions import cancellations
from payments.services.transactions.intents import find_of

CREATE_PAYMENT = any_of(
    "CreatePayment", *(type(each.serializer) for each in request_types.REQUEST_TYPES.values())
)


class PaymentsView(APIView):
    limits = (Limit.CARD_NUMBER,)

    @operation(
        "createPayment",
        created(answers.PAYMENT, "Created. A declined payment is created too: see `status`.", "Location"),
        CREATE_PAYMENT,
        problems=(
            "not_allowed_here reserved_reference card_number_misplaced unsupported_currency "
            "amount_too_small no_price not_supported invalid_payment_method "
            "duplicate_reference beneficiary_blocked payout_limit_reached payouts_frozen invalid_state "
            "rail_unavailable"
        ),
    )
    def post(self, request: Request) -> Response:
        """Create a payment, a payout or a card check.

        `request_type` (and, for payments, `payment_method`) determines which fields the request has.

        A card payment that needs 3-D Secure is `pending` with a `redirect_link`: redirect the payer to it.
        The payer returns to your `redirect_url` with `reference`, `id` and `status` in the query. The query
        is no proof of payment, so look up the payment. A payment to a virtual account is `pending`, with the
        account number for the payer's transfer in `virtual_account_details`. With `capture: false`, the
        amount is only authorised, and the payment stays `pending` until you capture or void it, or 7 days
        have passed. A payout with `awaiting_approval: true` is sent once other members of your business
        approve it.
        """
        body = body_of(request)
        intent = request_types.choose(body).start(
            body, business=business_of(request), now=clock.now(), maker=Maker.of_key(key_of(request))
        )
        transaction = intent.resource
        _note(request, transaction)
        return created_or_replayed(
            intent,
            with_warnings(answers.represent(transaction), body),
            location=f"/api/payments/{transaction.reference}",
        )

    @operation("listPayments", ok(answers.PAYMENTS_PAGE, "A page."), filters=FilterSerializer)
    def get(self, request: Request) -> Response:
        """List payments, payouts and card checks.

        Newest first, in pages that stay stable while transactions arrive.
        """
        transactions = Transaction.objects.of(business_of(request)).for_representation()
        return Response(page_of(self, filtered(transactions, request.query_params), answers.represent))


class PaymentView(APIView):
    @operation("getPayment", ok(answers.PAYMENT, "The transaction's current state."))
    def get(self, request: Request, reference: str) -> Response:
        """Look up a payment, a payout or a card check.

        By your reference, in its current state: the way to learn an outcome that you are not sure of.
        """
        return Response(answers.represent(find_payment(request, reference)))


class CaptureView(APIView):
    @operation(
        "capturePayment",
        done(answers.PAYMENT, "The payment."),
        CaptureSerializer,
        problems="amount_too_large not_supported invalid_state rail_unavailable",
    )
    def post(self, request: Request, reference: str) -> Response:
        """Capture an authorised card payment.

        In whole or in part; the rest is released. A payment is captured once: repeating the same capture
        returns 200 and the payment's current state, a capture of a different amount 409.
        """
        wanted = read_body(request, CaptureSerializer)
        result = captures.capture(
            transaction_id=find_payment(request, reference).pk, amount=wanted.get("amount"), now=clock.now()
        )
        return done_or_replayed(result, answers.represent(result.resource))


class VoidView(APIView):
    @operation(
        "voidPayment",
        done(answers.PAYMENT, "The payment."),
        VoidSerializer,
        problems="not_supported invalid_state rail_unavailable",
    )
    def post(self, request: Request, reference: str) -> Response:
        """Release an authorised card payment.

        The payment fails with 20090. Repeating the void returns 200 and the payment's current state.
        """
        read_body(request, VoidSerializer)
        result = captures.void(transaction_id=find_payment(request, reference).pk, now=clock.now())
        return done_or_replayed(result, answers.represent(result.resource))


class CancelView(APIView):
    @operation(
        "cancelPayment", done(answers.PAYMENT, "The payment."), CancelSerializer, problems="invalid_state"
    )
    def post(self, request: Request, reference: str) -> Response:
        """Cancel a payment that is waiting for its payer, or a payout that is waiting for approval.

        A payment with an open 3-D Secure page or transfer session fails with 20091, and so does a payout
        that waits for approval or for your server. Repeating the cancellation returns 200 and the payment's
        current state.
        """
        read_body(request, CancelSerializer)
        result = cancellations.cancel(transaction_id=find_payment(request, reference).pk)
        return done_or_replayed(result, answers.represent(result.resource))


def find_payment(request: Request, reference: str) -> Transaction:
    """Return the caller's transaction. Returns 404 for transactions of other businesses."""
    transaction = find_of(business_of(request), reference)
    if transaction is None:
        raise NotFound
    _note(request, transaction)
    return transaction


def _note(request: Request, transaction: Transaction) -> None:
    note_object(request, transaction.request_type, transaction.pk, transaction.reference)
