"""Bank transfers that Paystack sends back: refunds of the transactions that received them.

Paystack masks the sender's account, so no payout could reach it, and knows it itself.
"""

from dataclasses import replace
from functools import cached_property

from django.conf import settings
from django.utils import timezone

from connectors.paystack import refunds
from connectors.paystack.api.client import PaystackConnector
from kit.connectors.capabilities import Capabilities
from payments.rails.protocol import AnswerLost, OperationOrder, PayoutOrder, RailAnswer
from payments.rules import outcomes


class PaystackReturns(PaystackConnector):
    """Transfers that an integration received, and sends back."""

    name = "paystack_returns"

    @cached_property
    def capabilities(self) -> Capabilities:
        return Capabilities(currencies=frozenset(settings.PAYSTACK_CURRENCIES))

    def is_available(self) -> bool:
        return self._client.has_room("POST /refund")

    def send(self, order: PayoutOrder) -> RailAnswer:
        until = self._client.deadline()
        number = _transaction(order)
        sent = refunds.send(self._client, number, _refund(order), transaction_id=lambda: number, until=until)
        return _of_transfer(sent)

    def query(self, order: PayoutOrder) -> RailAnswer:
        until = self._client.deadline()
        return _of_transfer(refunds.query(self._client, _transaction(order), _refund(order), until=until))

    def give_account(
        self, refund: OperationOrder, *, currency: str, account_number: str, nip_code: str
    ) -> RailAnswer:
        until = self._client.deadline()
        account = {"currency": currency, "account_number": account_number, "nip_code": nip_code}
        return _of_transfer(refunds.give_account(self._client, refund, **account, until=until))

    def account_name(self, *, account_number: str, nip_code: str) -> str | None:
        raise AnswerLost  # money goes back to an account that only Paystack knows


def _transaction(order: PayoutOrder) -> str:
    """Return Paystack's number of the transaction that received the money."""
    return order.received_as.removeprefix("paystack:")


def _refund(order: PayoutOrder) -> OperationOrder:
    return OperationOrder(
        id=order.id,
        kind="refund",
        amount=order.amount,
        system_trace_audit_number="",
        retrieval_reference_number="",
        acquirer_reference=order.acquirer_reference,
        must_wait=order.must_wait,
        created_at=order.created_at or timezone.now(),
    )


def _of_transfer(answer: RailAnswer) -> RailAnswer:
    """Return the answer with the outcome of a bank transfer."""
    return replace(answer, outcome=outcomes.payout_failure("")) if answer.outcome.is_failure else answer
