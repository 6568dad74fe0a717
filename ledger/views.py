"""API of the ledger. `request.user` is the business that signed the request."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.operations import ok, operation
from ledger.representation import BALANCE_OF_CURRENCY, BALANCES
from ledger.services import balances
from merchants.api.api_requests import business_of


class BalanceView(APIView):
    @operation("getBalance", ok(BALANCES, "A balance per currency that your business is enabled for."))
    def get(self, request: Request) -> Response:
        """Get your balances.

        `available` is your available balance: released settlements less payouts and their fees. A payout is deducted
        when it is accepted, and returned if it fails. `pending` is what you have earned but hasn't been
        released yet, less fees, refunds and disputes. `disputed` is held for disputes that are still open.
        `reserved` was held back from released settlements, and returns to your balance on the dates that the dashboard shows.

        Either may be negative: `pending` if more was refunded or disputed than earned since the last settlement,
        `available` where payouts need no balance (the sandbox). A negative amount is deducted from the next
        settlement.
        """
        held = balances(business_of(request))
        return Response({"data": [BALANCE_OF_CURRENCY.represent(each) for each in held]})
