"""The API of refunds. `request.user` is the business that signed the request."""

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.amount_warnings import with_warnings
from kit.api.operations import created, ok, operation, page
from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed
from kit.db import clock
from merchants.api.api_requests import ObjectKind, body_of, business_of, key_of, note_object, read_body
from payments.api.serializers import RefundSerializer
from payments.models import CardOperation
from payments.representation import payments as answers
from payments.services.payouts.controls.makers import Maker
from payments.services.refunds import refunds
from payments.views.payments import find_payment


class RefundsView(APIView):
    @operation(
        "createRefund",
        created(answers.REFUND, "Created. A refused refund is created too: see `status`."),
        RefundSerializer,
        problems=(
            "not_allowed_here destination_required not_supported amount_too_large "
            "duplicate_reference invalid_state not_refundable payment_disputed insufficient_funds "
            "payouts_frozen beneficiary_blocked rail_unavailable"
        ),
        tags=["Refunds"],
    )
    def post(self, request: Request, reference: str) -> Response:
        """Refund a payment.

        Refund a payment in whole or in parts, until nothing is left. A card payment is refunded to its card,
        a transfer payment to its sender's account. If the bank didn't name that account, `destination` is
        required; if it did, `destination` isn't allowed. The amount of a pending refund counts as refunded; a
        failed refund releases it. Where a payout to `destination` would wait for approval, the refund is refused:
        send a payout instead.

        Refunds of card payments follow the first table, those of transfer payments the second.
        """
        body = body_of(request)
        wanted = read_body(request, RefundSerializer)
        payment, maker = find_payment(request, reference), Maker.of_key(key_of(request))
        result = refunds.refund(transaction=payment, request=wanted, now=clock.now(), maker=maker)
        _note_refund(request, result.resource)
        return created_or_replayed(result, with_warnings(answers.represent_refund(result.resource), body))

    @operation("listRefunds", page(answers.REFUNDS_PAGE), tags=["Refunds"])
    def get(self, request: Request, reference: str) -> Response:
        """List a payment's refunds.

        Newest first, failed ones included.
        """
        made = CardOperation.objects.filter(
            transaction=find_payment(request, reference), kind=CardOperation.Kind.REFUND
        ).select_related("transaction")
        return Response(page_of(self, made, answers.represent_refund))


class RefundView(APIView):
    @operation("getRefund", ok(answers.REFUND, "The refund's current state."))
    def get(self, request: Request, reference: str) -> Response:
        """Look up a refund.

        By the refund's own reference, in its current state.
        """
        found = refunds.find_of(business_of(request), reference)
        if found is None:
            raise NotFound
        _note_refund(request, found)
        return Response(answers.represent_refund(found))


def _note_refund(request: Request, refund: CardOperation) -> None:
    note_object(request, ObjectKind.REFUND, refund.pk, refund.reference or "")
