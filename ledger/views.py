"""API of the ledger. `request.user` is the business that signed the request."""

from dataclasses import asdict
from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.services import balances
from merchants.models import Business


class BalanceView(APIView):
    """The amounts available for payouts and pending settlement."""

    def get(self, request: Request) -> Response:
        held = balances(cast("Business", request.user))
        return Response({"data": [asdict(balance) for balance in held]})
