"""API of the ledger. `request.user` is the business that signed the request."""

from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.representation import BALANCE_OF_CURRENCY
from ledger.services import balances
from merchants.models import Business


class BalanceView(APIView):
    def get(self, request: Request) -> Response:
        """Get your balances.

        `available` is your wallet: released settlements less payouts and their fees. A payout is deducted
        when it is accepted, and returned if it fails. `pending` is what you have earned but hasn't been
        released yet, less fees and refunds.

        Either may be negative: `pending` if more was refunded than earned since the last settlement,
        `available` where payouts need no balance (the sandbox). A negative amount is deducted from the next
        settlement.
        """
        held = balances(cast("Business", request.user))
        return Response({"data": [BALANCE_OF_CURRENCY.represent(each) for each in held]})
