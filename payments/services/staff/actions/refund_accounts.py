"""Give a provider the payer's account for a refund that it can't carry out without one, as an action of staff.

A return of unapplied money through the provider that received it is a refund there. The provider takes one account and pays
once. If the answer is lost, it stays pending, and the next query says whether it still needs an account.
"""

from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias, cast

from kit import banks
from kit.db.clock import database_now
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import CardOperation, InvalidState, Proposal, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import AnswerLost, RailAnswer, RefundAccounts
from payments.services.rails import rail_choices
from payments.services.rails.rail_orders import operation_order, returned_order
from payments.services.rails.rail_queries import query_leases
from payments.services.refunds import return_attention
from payments.services.staff import made_about
from payments.services.staff.actions.resolutions import require_unleased
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import AfterCommit, StaffAction
from payments.services.transactions import operations, transitions
from payments.services.transactions.intents import lock
from payments.services.transactions.transitions import Cause

Subject: TypeAlias = CardOperation | Transaction  # a refund, or the transaction of a return

ACTIONS = (Proposal.Action.GIVE_ACCOUNT, Proposal.Action.GIVE_RETURN_ACCOUNT)
NEXT_QUERY = timedelta(minutes=1)  # after an account was sent, whether or not it was answered


class NoAccountNeeded(InvalidState):
    default_detail = "The provider doesn't ask for an account of this refund."


def account_given(
    subject: Subject, *, account_number: str, bank_code: str, account_name: str, reason: str
) -> StaffAction:
    """Return the action that names the payer's account. The name is the bank's answer to a name enquiry.

    :raises NoAccountNeeded: the provider doesn't ask for one
    """
    if not attention_of(subject):
        raise NoAccountNeeded
    is_refund = isinstance(subject, CardOperation)
    payment = payment_of(subject)
    return StaffAction(
        kind=Proposal.Action.GIVE_ACCOUNT if is_refund else Proposal.Action.GIVE_RETURN_ACCOUNT,
        target=subject.pk,
        business=payment.business,
        currency=payment.currency,
        amount=subject.amount,
        reason=reason,
        parameters={
            "account_number": account_number,
            "bank_code": bank_code,
            "account_name": account_name,
        },
        made_about=asked(subject),
    )


def attention_of(subject: Subject) -> str:
    """Return what the provider asks of staff. Empty: nothing, or the outcome is known."""
    if isinstance(subject, Transaction):
        return return_attention.attention_of(subject)
    return subject.attention if subject.status == CardOperation.Status.PENDING else ""


def payment_of(subject: Subject) -> Transaction:
    """Return the payment of a refund, or the transaction of a return itself."""
    return subject.transaction if isinstance(subject, CardOperation) else subject


def asked(subject: Subject) -> MadeAbout:
    """Return the state on which an account depends."""
    if isinstance(subject, CardOperation):
        about = made_about.operation(subject)
    else:
        about = made_about.transaction(subject)
    return {**about, "attention": attention_of(subject)}


def lock_and_make(action: StaffAction) -> StaffAction:
    """Lock the refund or return, and make the same action about its present state."""
    return account_given(_lock(action), reason=action.reason, **action.parameters)


def _lock(action: StaffAction) -> Subject:
    if action.kind == Proposal.Action.GIVE_RETURN_ACCOUNT:
        return lock(action.target)
    payment = lock(CardOperation.objects.values_list("transaction_id", flat=True).get(pk=action.target))
    refund = CardOperation.objects.select_for_update().get(pk=action.target)
    refund.transaction = payment
    return refund


def perform(action: StaffAction, actor: Actor, now: datetime) -> AfterCommit:
    """Take the lease of the refund or return, and return the call that sends the account. The caller holds the locks.

    :raises QueryInProgress: another process is querying its rail
    """
    subject = _lock(action)
    require_unleased(subject)
    _clear_attention(subject)
    subject.query_leased_until = database_now() + query_leases.length()
    subject.next_query_at = now + NEXT_QUERY
    subject.save(update_fields=["query_leased_until", "next_query_at"])
    audit.record(
        action="refund.account_given" if isinstance(subject, CardOperation) else "return.account_given",
        actor=actor,
        business=action.owner,
        target=str(subject.pk),
        after={**action.parameters, "reason": action.reason},
        now=now,
    )
    send = partial(_send, subject, action.parameters["account_number"], action.parameters["bank_code"])
    if isinstance(subject, CardOperation):
        return partial(operations.call_rail, subject, send, cause=Cause.RAIL)
    return partial(transitions.call_rail, subject, send, cause=Cause.REQUERY)  # it was sent long before


def _clear_attention(subject: Subject) -> None:
    if isinstance(subject, Transaction):
        return_attention.keep_attention(subject, "")
    else:
        subject.attention = ""
        subject.save(update_fields=["attention"])


def _send(subject: Subject, account_number: str, bank_code: str) -> RailAnswer:
    payment, bank = payment_of(subject), banks.find(bank_code)
    is_card_refund = isinstance(subject, CardOperation) and not subject.is_transfer_refund
    find = rail_choices.acquirer_finder(payment) if is_card_refund else rail_choices.bank_finder(subject)
    try:
        provider = cast("RefundAccounts", find())
    except RailUnavailable:
        raise AnswerLost from None
    return provider.give_account(
        operation_order(subject) if isinstance(subject, CardOperation) else returned_order(subject),
        currency=payment.currency,
        account_number=account_number,
        nip_code=bank.nip_code if bank else "",
    )
