"""API of the ledger. `request.user` is the business that signed the request."""

from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.answers import BALANCE, CURRENCY_FIELD, Answer, Field, ListOf
from ledger.services import balances
from merchants.models import Business

BALANCE_OF_CURRENCY = Answer(
    "Balance",
    "What you have in one currency, in minor units.",
    CURRENCY_FIELD,
    Field("available", BALANCE, "Your wallet.", 250_000),
    Field("pending", BALANCE, "Earned, and not released yet.", 49_250),
)
BALANCES = Answer("BalanceList", "Every currency.", Field("data", ListOf(BALANCE_OF_CURRENCY), ""))


class BalanceView(APIView):
    """The amounts available for payouts and pending settlement."""

    def get(self, request: Request) -> Response:
        held = balances(cast("Business", request.user))
        return Response({"data": [BALANCE_OF_CURRENCY.represent(each) for each in held]})
