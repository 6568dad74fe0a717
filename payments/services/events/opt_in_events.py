"""Events that merchants opt in to: refunds, returned payouts, unapplied transfers, released settlements, opened accounts,
debits of the wallet by staff.

Each function is called in the database transaction of the outcome, so that both commit together. If the merchant
isn't subscribed, it only reads the endpoint.
"""

from datetime import datetime
from typing import cast
from uuid import UUID

from ledger.models import Account, Entry, Posting
from payments.models import CardOperation, Journal, PayoutReturn, SettlementBatch, Transaction
from payments.representation.payments import (
    represent,
    represent_balance_adjustment,
    represent_refund,
    represent_settlement,
    represent_unapplied_transfer,
)
from payments.services.events import event_subjects
from virtual_accounts.models import UnappliedMoney, VirtualAccount
from virtual_accounts.representation import represent as represent_account
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


def publish_unapplied(money: UnappliedMoney, *, returned: PayoutReturn | None = None, now: datetime) -> None:
    """Publish a transfer that matches no payment, or whose return came back as `returned`. Each is an outcome of its own."""
    event = NewEvent(
        Event.TRANSFER_UNAPPLIED,
        business_id=money.business_id,
        subject=money.pk if returned is None else event_subjects.reopening_by(returned.pk),
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


def publish_opening(account: VirtualAccount, *, now: datetime) -> None:
    """Publish that the provider has opened a static account, or refuses to."""
    event = NewEvent(
        Event.ACCOUNT_ACTIVE if account.is_opened else Event.ACCOUNT_FAILED,
        business_id=account.business_id,
        subject=account.pk,
        data=lambda: represent_account(account),
    )
    webhooks.publish(event, now=now)


def publish_adjustment(journal: Journal, *, now: datetime) -> None:
    """Publish that staff debited a wallet by a journal, which is booked."""
    postings = Posting.objects.filter(
        entry__kind=Entry.Kind.JOURNAL, entry__cause=journal.pk, account__kind=Account.Kind.WALLET
    )
    event = NewEvent(
        Event.BALANCE_ADJUSTED,
        business_id=cast("UUID", journal.business_id),
        subject=journal.pk,
        data=lambda: represent_balance_adjustment(postings.select_related("entry").get()),
    )
    webhooks.publish(event, now=now)
