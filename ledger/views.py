"""The API of the ledger: what a business has. `request.user` is the business that signed."""

from dataclasses import asdict
from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.services import balances
from merchants.models import Business


class BalanceView(APIView):
    """What a business may pay out, and what is pending settlement."""

    def get(self, request: Request) -> Response:
        held = balances(cast("Business", request.user))
        return Response({"data": [asdict(balance) for balance in held]})
