"""Give a provider the payer's account for a refund that it can't carry out without one, as an action of staff.

The provider takes one account and pays the refund once. If the answer is lost, the refund stays pending, and the next query
says whether it still needs an account.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import cast

from kit import banks
from kit.db.clock import database_now
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import CardOperation, InvalidState, Proposal
from payments.rails import RailUnavailable
from payments.rails.protocol import AnswerLost, RailAnswer, RefundAccounts
from payments.services import operations
from payments.services.intents import lock
from payments.services.rails import rail_choices
from payments.services.rails.rail_orders import operation_order
from payments.services.rails.rail_queries import query_leases
from payments.services.staff import made_about
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.resolutions import require_unleased
from payments.services.staff.staff_action import StaffAction
from payments.services.transitions import Cause

NEXT_QUERY = timedelta(minutes=1)  # after an account was sent, whether or not it was answered


class NoAccountNeeded(InvalidState):
    default_detail = "The provider doesn't ask for an account of this refund."


def account_given(
    refund: CardOperation, *, account_number: str, bank_code: str, account_name: str, reason: str
) -> StaffAction:
    """Return the action that names the payer's account. The name is the bank's answer to a name enquiry.

    :raises NoAccountNeeded: the provider doesn't ask for one
    """
    if refund.status != CardOperation.Status.PENDING or not refund.attention:
        raise NoAccountNeeded
    return StaffAction(
        kind=Proposal.Action.GIVE_ACCOUNT,
        target=refund.pk,
        business=refund.transaction.business,
        currency=refund.transaction.currency,
        amount=refund.amount,
        reason=reason,
        parameters={
            "account_number": account_number,
            "bank_code": bank_code,
            "account_name": account_name,
        },
        made_about=asked(refund),
    )


def asked(refund: CardOperation) -> MadeAbout:
    """Return the state on which an account for a refund depends."""
    return {**made_about.operation(refund), "attention": refund.attention}


def lock_and_make(action: StaffAction) -> StaffAction:
    """Lock the refund, and make the same action about its present state."""
    payment = lock(CardOperation.objects.values_list("transaction_id", flat=True).get(pk=action.target))
    refund = CardOperation.objects.select_for_update().get(pk=action.target)
    refund.transaction = payment
    return account_given(refund, reason=action.reason, **action.parameters)


def perform(action: StaffAction, actor: Actor, now: datetime) -> Callable[[], object]:
    """Take the refund's lease, and return the call that sends the account. The caller holds the locks.

    :raises QueryInProgress: another process is querying the refund
    """
    refund = CardOperation.objects.select_related("transaction__business").get(pk=action.target)
    require_unleased(refund)
    refund.attention = ""
    refund.query_leased_until = database_now() + query_leases.length()
    refund.next_query_at = now + NEXT_QUERY
    refund.save(update_fields=["attention", "query_leased_until", "next_query_at"])
    audit.record(
        action="refund.account_given",
        actor=actor,
        business=action.owner,
        target=str(refund.pk),
        after={**action.parameters, "reason": action.reason},
        now=now,
    )
    send = partial(_send, refund, action.parameters["account_number"], action.parameters["bank_code"])
    return partial(operations.call_rail, refund, send, cause=Cause.RAIL)


def _send(refund: CardOperation, account_number: str, bank_code: str) -> RailAnswer:
    payment, bank = refund.transaction, banks.find(bank_code)
    by_transfer = refund.is_transfer_refund
    find = rail_choices.bank_finder(refund) if by_transfer else rail_choices.acquirer_finder(payment)
    try:
        provider = cast("RefundAccounts", find())
    except RailUnavailable:
        raise AnswerLost from None
    return provider.give_account(
        operation_order(refund),
        currency=payment.currency,
        account_number=account_number,
        nip_code=bank.nip_code if bank else "",
    )
