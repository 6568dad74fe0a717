"""Payouts that a provider gives back after their success. It announces that by an event, and only a query says that it is so.

Re-query leaves a known outcome alone, so the event writes a question to the provider
(`virtual_accounts.services.provider_messages`). A refund by bank transfer is given back in the same way.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from django.db import transaction as database

from payments.models import CardOperation, Transaction
from payments.rails.protocol import NotReceived, RailAnswer
from payments.services.payouts import payout_returns
from payments.services.payouts.payout_returns import ReturnNotice
from payments.services.rails.rail_choices import bank_finder
from payments.services.rails.rail_orders import payout_order, refund_order
from payments.services.transactions.intents import find, lock
from virtual_accounts.services import provider_messages

Sent: TypeAlias = Transaction | CardOperation

PREFIX = "payout-"  # of the question's subject, before our id without hyphens


def has_succeeded(sent: Sent) -> bool:
    """Return whether something is a payout, or a refund by bank transfer, that its bank told was paid."""
    if isinstance(sent, CardOperation):
        return bool(sent.connector) and sent.status == CardOperation.Status.SUCCESS
    return payout_returns.can_be_reversed(sent)


def ask(sent: Sent, *, now: datetime) -> None:
    """Have the bank asked what became of a payout."""
    provider_messages.ask(_subject(sent), provider_account=sent.account, at=now, now=now)


def is_asked(sent: Sent, *, now: datetime) -> bool:
    """Return whether the bank hasn't answered that yet."""
    return provider_messages.is_asked(_subject(sent), provider_account=sent.account, now=now)


def query_of(subject: str) -> Callable[[], RailAnswer | None]:
    """Return the call that answers a question. It needs no database, and returns None if the bank has no record."""
    sent = _sent(UUID(subject.removeprefix(PREFIX)))
    bank = bank_finder(sent)
    order = refund_order(sent) if isinstance(sent, CardOperation) else payout_order(sent)

    def query() -> RailAnswer | None:
        with suppress(NotReceived):
            return bank().query(order)
        return None

    return query


def apply(subject: str, answer: RailAnswer | None) -> None:
    """Record a return of the whole amount if the bank says now that a payout failed. Idempotent."""
    if answer is not None and answer.outcome.is_failure:
        _record_return(UUID(subject.removeprefix(PREFIX)))


@database.atomic
def _record_return(sent_id: UUID) -> None:
    """Record the return once. One whose success was never told has failed, and its money is back already."""
    sent = _sent(sent_id)
    lock(sent.transaction_id if isinstance(sent, CardOperation) else sent.pk)
    sent = _sent(sent_id)
    if not has_succeeded(sent):
        return
    payout = sent.transaction if isinstance(sent, CardOperation) else sent
    payout_returns.receive(
        ReturnNotice(
            bank_reference=f"{sent.account}:{sent_id.hex}",
            payout_reference=sent_id.hex,
            amount=sent.amount,
            currency=payout.currency,
        )
    )


def _sent(sent_id: UUID) -> Sent:
    operation = CardOperation.objects.filter(pk=sent_id).select_related("transaction__business").first()
    return operation or find(sent_id)


def _subject(sent: Sent) -> str:
    return f"{PREFIX}{sent.pk.hex}"
