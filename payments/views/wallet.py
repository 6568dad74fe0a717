"""The wallet statement API. `request.user` is the business that signed the request."""

from typing import Any, cast

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.filters import read_query
from kit.api.pagination import NewestFirst
from kit.timestamps import timestamp, until_inclusive
from ledger.statements import MergedPostings, wallet_statements
from merchants.models import Business
from payments.filters import MovementFilterSerializer
from payments.services.reporting.wallet_statement import Movement, movements

_FILTERS = MovementFilterSerializer()


class MovementsView(APIView):
    """List the movements of the wallet, newest first."""

    def get(self, request: Request) -> Response:
        wanted = read_query(request.query_params, serializer=_FILTERS)
        until = wanted.get("created_to")
        statements = wallet_statements(
            cast("Business", request.user),
            currency=wanted.get("currency"),
            since=wanted.get("created_from"),
            before=until_inclusive(until) if until else None,
        )
        pages = NewestFirst()
        page = pages.paginate_queryset(MergedPostings(statements=tuple(statements)), request, self)  # type: ignore[arg-type]
        shown = pages.get_paginated_response([_movement(each) for each in movements(page or [])]).data
        if "currency" in wanted:
            shown["opening_balance"] = statements[0].opening_balance if statements else 0
            shown["closing_balance"] = statements[0].closing_balance if statements else 0
        return Response(shown)


def _movement(movement: Movement) -> dict[str, Any]:
    """Return a movement of a wallet. `amount` is positive for credits."""
    posting = movement.posting
    return {
        "id": movement.id,
        "kind": posting.entry.kind,
        "amount": posting.amount,
        "balance_after": posting.balance_after,
        "currency": posting.account.currency,
        "reference": movement.cause.reference,
        "created_at": timestamp(posting.entry.at),
    }
