"""Notifications of the hosting bank: incoming transfers and returned payouts."""

from collections.abc import Callable
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.strict_fields import AccountNumber
from merchants.people.access import V, Who, open_to
from payments.bank_notifications.authentication import SignedByBank
from payments.bank_notifications.fields import (
    AnyAccept,
    BankReference,
    LenientBankCode,
    LenientText,
    NotificationParser,
    NotificationSerializer,
)
from payments.services.payouts import payout_returns
from payments.services.payouts.payout_returns import ReturnNotice
from payments.services.transfers import incoming
from payments.services.transfers.incoming import Notice
from virtual_accounts.models import UNKNOWN_SENDER


class BankTransferSerializer(NotificationSerializer):
    account_number = AccountNumber()
    sender_name = LenientText(length=100)
    sender_account_number = LenientText()
    sender_bank_code = LenientBankCode()
    narration = LenientText()


class PayoutReturnSerializer(NotificationSerializer):
    payout_reference = BankReference()
    reason = LenientText()


class BankTransferParser(NotificationParser):
    strict_names = BankTransferSerializer.strict_names()


class PayoutReturnParser(NotificationParser):
    strict_names = PayoutReturnSerializer.strict_names()


TRANSFER, PAYOUT_RETURN = BankTransferSerializer(), PayoutReturnSerializer()


def notified_by_bank(action: str) -> Callable[[V], V]:
    return open_to(None, writers=Who.BANK, action=action, never_asks="each notification is signed")


class BankView(APIView):
    """An endpoint for the bank. It isn't part of the merchants' API or its description."""

    authentication_classes = (SignedByBank,)
    permission_classes = ()
    throttle_classes = ()
    content_negotiation_class = AnyAccept
    schema = None


@notified_by_bank("notify a transfer")
class BankTransfersView(BankView):
    """Record a transfer to one of our account numbers."""

    parser_classes = (BankTransferParser,)

    def post(self, request: Request) -> Response:
        values: dict[str, Any] = TRANSFER.run_validation(request.data)
        values["sender_name"] = values["sender_name"] or UNKNOWN_SENDER
        received = incoming.receive_notification(Notice(**values))
        return Response(
            {
                "bank_reference": received.resource.bank_reference,
                "applied": received.resource.applied,
                "reason": received.resource.reason,
                "replayed": received.is_replay,
            }
        )


@notified_by_bank("notify a returned payout")
class PayoutReturnsView(BankView):
    """Record that the bank has returned a payout."""

    parser_classes = (PayoutReturnParser,)

    def post(self, request: Request) -> Response:
        values: dict[str, Any] = PAYOUT_RETURN.run_validation(request.data)
        received = payout_returns.receive(ReturnNotice(**values))
        return Response(
            {
                "bank_reference": received.resource.bank_reference,
                "applied": received.resource.applied,
                "reason": received.resource.why,
                "replayed": received.is_replay,
            }
        )
