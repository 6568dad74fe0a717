"""The unapplied transfers API. `request.user` is the business that signed the request."""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.strict_fields import RequestSerializer, read_request
from kit.api.pagination import page_of
from kit.api.replays import IdempotentResult, done_or_replayed
from kit.db import clock
from merchants.api.api_requests import ObjectKind, note_object
from merchants.models import Business
from merchants.people.request_actors import key_acting
from payments.api.filters import filtered_unapplied
from payments.api.serializers import CreditUnappliedSerializer, ReturnUnappliedSerializer
from payments.representation import represent_unapplied_transfer
from payments.services.transfers import api_decisions
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_queries

CREDIT, RETURN = CreditUnappliedSerializer(), ReturnUnappliedSerializer()


class UnappliedTransfersView(APIView):
    def get(self, request: Request) -> Response:
        """List unapplied transfers.

        Money that arrived and matches no payment, with or without a decision.
        """
        owned = unapplied_queries.of(_business(request)).with_payment_reference()
        return Response(
            page_of(self, filtered_unapplied(owned, request.query_params), represent_unapplied_transfer)
        )


class CreditUnappliedView(APIView):
    def post(self, request: Request, id: UUID) -> Response:
        """Credit an unapplied transfer to your wallet."""
        wanted = _read(request, CREDIT)
        return _decided(api_decisions.credit, request, unapplied_id=id, reason=wanted["reason"])


class ReturnUnappliedView(APIView):
    def post(self, request: Request, id: UUID) -> Response:
        """Return an unapplied transfer to its sender.

        The return is a payout without a fee: look it up by `return_reference`. If the bank refuses that
        payout, the money is in your wallet.
        """
        wanted = _read(request, RETURN)
        return _decided(
            api_decisions.return_to_sender,
            request,
            unapplied_id=id,
            reason=wanted["reason"],
            destination=wanted.get("destination"),
        )


def _read(request: Request, serializer: RequestSerializer) -> dict[str, Any]:
    """Validate a decision, after checking that the business allows its keys to decide."""
    api_decisions.require_permission(_business(request))
    body = cast("dict[str, Any]", request.data or {})
    return read_request(serializer, body, currencies=_business(request).currencies)


def _decided(
    decide: Callable[..., IdempotentResult[UnappliedMoney]], request: Request, **decision: Any
) -> Response:
    try:
        result = decide(business=_business(request), actor=key_acting(request), now=clock.now(), **decision)
    except UnappliedMoney.DoesNotExist:
        raise NotFound from None
    note_object(request, ObjectKind.UNAPPLIED_TRANSFER, result.resource.pk)
    shown = represent_unapplied_transfer(unapplied_queries.find(result.resource.pk))
    return done_or_replayed(result, shown)


def _business(request: Request) -> Business:
    return cast("Business", request.user)
