"""What a proposal does when it is confirmed, in plain words, in the state that it was made about."""

from django.utils.text import capfirst

from kit.money.money import money
from payments.models import Proposal, Transaction
from payments.services.staff.made_about import differences

Action, Awaiting = Proposal.Action, Transaction.Awaiting


_MEANINGS = {
    Action.TOP_UP: "The bank has received {amount}. It is added to the wallet of {business}.",
    Action.APPROVE_BATCH: "The bank has received {amount}. The batch can be released. No money moves yet.",
    Action.RELEASE_BATCH: "{amount} is credited to the wallet of {business}.",
    Action.CREDIT_UNAPPLIED: "{amount} is credited to the wallet of {business}.",
    Action.RETURN_UNAPPLIED: "{amount} is paid out to {destination}.",
    Action.REVERSE_PAYOUT: "{amount} of the payout is credited back to the wallet of {business}.",
    Action.ASSIGN_UNCLAIMED: "{amount} becomes unapplied money of {business}.",
    Action.WRITE_OFF_UNCLAIMED: "{amount} leaves suspense. The ledger holds it for no owner any more.",
    Action.WRITE_OFF_RETURN: "{amount} leaves suspense. The ledger holds it for no owner any more.",
    Action.MATCH_RETURN: "{amount} is credited to the wallet of {business}. The bank has returned its payout.",
}


def meaning_of(proposal: Proposal) -> str:
    """Return one or two sentences. Empty for proposals of earlier releases, which can't be confirmed."""
    if proposal.made_about is None:
        return ""
    if "values" in proposal.parameters:
        return _values_changed(proposal)
    action = Action(proposal.action)
    if action == Action.DECLARE_ACCOUNT:
        return (
            f"Orders that were sent to {proposal.parameters['name']} are queried, repeated, captured, refunded and "
            f"reversed at {proposal.made_about['configured_account']}. If it doesn't have them, they may be paid twice."
        )
    amount = money(proposal.amount, proposal.currency)
    if action == Action.RESOLVE_TRANSACTION:
        return _transaction_resolved(proposal, amount)
    if action == Action.RESOLVE_OPERATION:
        done = (
            "took place, and is booked" if _succeeded(proposal) else "did not take place. Nothing is booked"
        )
        return f"The {proposal.made_about['kind']} of {amount} {done}."
    meaning = _MEANINGS[action]
    if not proposal.made_about.get("is_in_suspense", True):
        meaning = "It is closed. Nothing is booked, because the ledger holds no money of it."
    elif proposal.made_about.get("returns_unapplied_money"):
        meaning = "{amount} becomes unapplied money of {business} again. The bank has sent its return back."
    return meaning.format(amount=amount, business=proposal.business, destination=_destination(proposal))


def _values_changed(proposal: Proposal) -> str:
    wanted = proposal.parameters["values"]
    held = {name: value for name, value in proposal.made_about.items() if name in wanted}
    changes = differences(held, wanted, proposal.currency, form="{} changes from {} to {}")
    return f"{capfirst(proposal.parameters['name'])}: {changes or 'nothing changes'}."


def _transaction_resolved(proposal: Proposal, amount: str) -> str:
    is_success = _succeeded(proposal)
    if proposal.made_about["awaiting"] == Awaiting.REVERSAL:
        if is_success:
            return "The acquirer reversed the authorisation. The payment fails, and the payer is not charged."
        return (
            f"The acquirer did not reverse the authorisation. The payment succeeds, and {amount} is charged."
        )
    if is_success:
        return f"The rail carried out the order of {amount}. It succeeds and is booked."
    return f"The rail did not carry out the order of {amount}. It fails, and no money has moved."


def _succeeded(proposal: Proposal) -> bool:
    return bool(proposal.parameters["outcome"] == "succeeded")


def _destination(proposal: Proposal) -> str:
    named, sender = proposal.parameters.get("account_number"), proposal.made_about.get("sender_account")
    return (
        f"account {named} at bank {proposal.parameters.get('bank_code', '')}"
        if named
        else f"the sender, {sender}"
    )
