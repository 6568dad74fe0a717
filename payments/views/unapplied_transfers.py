"""The unapplied transfers API. `request.user` is the business that signed the request."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.strict_fields import RequestSerializer
from kit.api.filters import narrowed
from kit.api.operations import done, operation, page
from kit.api.pagination import page_of
from kit.api.replays import IdempotentResult, done_or_replayed
from kit.db import clock
from merchants.api.api_requests import ObjectKind, business_of, key_of, note_object, read_body
from merchants.people.request_actors import key_acting
from payments.api.filters import UnappliedFilterSerializer
from payments.api.serializers import CreditUnappliedSerializer, ReturnUnappliedSerializer
from payments.representation import payments as answers
from payments.services.payouts.controls.makers import Maker
from payments.services.transfers import api_decisions
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_queries


class UnappliedTransfersView(APIView):
    @operation(
        "listUnappliedTransfers", page(answers.UNAPPLIED_TRANSFERS_PAGE), filters=UnappliedFilterSerializer
    )
    def get(self, request: Request) -> Response:
        """List unapplied transfers.

        Money that arrived and matches no payment, with or without a decision.
        """
        owned = unapplied_queries.of(business_of(request)).with_payment_reference()
        return Response(
            page_of(
                self,
                narrowed(owned, request.query_params, UnappliedFilterSerializer),
                answers.represent_unapplied_transfer,
            )
        )


class CreditUnappliedView(APIView):
    @operation(
        "creditUnappliedTransfer",
        done(answers.UNAPPLIED_TRANSFER, "The transfer."),
        CreditUnappliedSerializer,
        problems="key_may_not_decide invalid_state",
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Credit an unapplied transfer to your balance.

        Needs a key with full access. Your business must also allow API keys to decide about unapplied transfers, which is off
        by default; otherwise the response is 403 `key_may_not_decide`. Repeating the same decision returns 200 and the
        transfer's current state; a different decision returns 409 `invalid_state`.
        """
        wanted = _read(request, CreditUnappliedSerializer)
        return _decided(api_decisions.credit, request, unapplied_id=id, reason=wanted["reason"])


class ReturnUnappliedView(APIView):
    @operation(
        "returnUnappliedTransfer",
        done(answers.UNAPPLIED_TRANSFER, "The transfer."),
        ReturnUnappliedSerializer,
        problems=(
            "key_may_not_decide destination_required not_allowed_here unsupported_currency "
            "invalid_state payouts_frozen beneficiary_blocked rail_unavailable"
        ),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Return an unapplied transfer to its sender.

        The return is a payout without a fee: look it up by `return_reference`. If the bank refuses that
        payout, the transfer is unapplied and open again. A return to a `destination` waits for approval where
        payouts of your business do: the payout then has `awaiting_approval: true`.

        Needs a key with full access. Your business must also allow API keys to decide about unapplied transfers, which is off
        by default; otherwise the response is 403 `key_may_not_decide`. Repeating the same decision returns 200 and the
        transfer's current state; a different decision returns 409 `invalid_state`.
        """
        wanted = _read(request, ReturnUnappliedSerializer)
        return _decided(
            api_decisions.return_to_sender,
            request,
            unapplied_id=id,
            reason=wanted["reason"],
            destination=wanted.get("destination"),
            maker=Maker.of_key(key_of(request)),
        )


def _read(request: Request, serializer: type[RequestSerializer]) -> dict[str, Any]:
    """Validate a decision, after checking that the business allows its keys to decide."""
    api_decisions.require_permission(business_of(request))
    return read_body(request, serializer)


def _decided(
    decide: Callable[..., IdempotentResult[UnappliedMoney]], request: Request, **decision: Any
) -> Response:
    try:
        result = decide(business=business_of(request), actor=key_acting(request), now=clock.now(), **decision)
    except UnappliedMoney.DoesNotExist:
        raise NotFound from None
    note_object(request, ObjectKind.UNAPPLIED_TRANSFER, result.resource.pk)
    shown = answers.represent_unapplied_transfer(unapplied_queries.find(result.resource.pk))
    return done_or_replayed(result, shown)
