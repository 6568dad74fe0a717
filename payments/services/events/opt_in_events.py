"""Events that merchants opt in to: refunds, returned payouts, unapplied transfers and released settlements.

Each function is called in the database transaction of the outcome, so that both commit together. If the merchant
isn't subscribed, it only reads the endpoint.
"""

from datetime import datetime

from payments.models import CardOperation, PayoutReturn, SettlementBatch, Transaction
from payments.representation import (
    represent,
    represent_refund,
    represent_settlement,
    represent_unapplied_transfer,
)
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_queries
from webhooks import services as webhooks
from webhooks.models import Event
from webhooks.publishing import NewEvent


def publish_refund(refund: CardOperation, *, now: datetime) -> None:
    """Publish the final outcome of a refund."""
    succeeded = refund.status == CardOperation.Status.SUCCESS
    event = NewEvent(
        Event.REFUND_SUCCESS if succeeded else Event.REFUND_FAILED,
        business_id=refund.business_id,
        subject=refund.pk,
        data=lambda: represent_refund(refund),
    )
    webhooks.publish(event, now=now)


def publish_reversal(payout: Transaction, payout_return: PayoutReturn, *, now: datetime) -> None:
    """Publish one return of a successful payout. Later returns of the same payout are further events."""
    event = NewEvent(
        Event.PAYOUT_REVERSED,
        business_id=payout.business_id,
        subject=payout_return.pk,
        data=lambda: represent(payout),
    )
    webhooks.publish(event, now=now)


def publish_unapplied(money: UnappliedMoney, *, now: datetime) -> None:
    """Publish a transfer that matches no payment, or whose return came back."""
    event = NewEvent(
        Event.TRANSFER_UNAPPLIED,
        business_id=money.business_id,
        subject=money.pk,
        data=lambda: represent_unapplied_transfer(unapplied_queries.find(money.pk)),
    )
    webhooks.publish(event, now=now)


def publish_settlement(batch: SettlementBatch, *, now: datetime) -> None:
    """Publish the release of a settlement batch."""
    event = NewEvent(
        Event.SETTLEMENT_RELEASED,
        business_id=batch.business_id,
        subject=batch.pk,
        data=lambda: represent_settlement(batch),
    )
    webhooks.publish(event, now=now)
