"""What a proposal does when it is confirmed, in plain words, in the state that it was made about."""

from django.utils.text import capfirst

from kit.money.money import money
from payments.models import Proposal, Transaction
from payments.models.staff.journals import reason_in_words
from payments.services.staff.actions import journal_actions
from payments.services.staff.made_about import MadeAbout, differences

Action, Awaiting = Proposal.Action, Transaction.Awaiting


_MEANINGS = {
    Action.TOP_UP: "The bank has received {amount}. It is added to the wallet of {business}.",
    Action.APPROVE_BATCH: "The bank has received {amount}. The batch can be released. No money moves yet.",
    Action.APPROVE_UNFUNDED: (
        "{missing} of its payments hasn't arrived at a bank. The batch can be released all the same. No money moves yet."
    ),
    Action.RELEASE_BATCH: "{amount} is credited to the wallet of {business}.",
    Action.CREDIT_UNAPPLIED: "{amount} is credited to the wallet of {business}.",
    Action.RETURN_UNAPPLIED: "{amount} is paid out to {destination}.",
    Action.REVERSE_PAYOUT: "{amount} of the payout is credited back to the wallet of {business}.",
    Action.ASSIGN_UNCLAIMED: "{amount} becomes unapplied money of {business}.",
    Action.WRITE_OFF_UNCLAIMED: "{amount} leaves suspense. The ledger holds it for no owner any more.",
    Action.WRITE_OFF_RETURN: "{amount} leaves suspense. The ledger holds it for no owner any more.",
    Action.ASSIGN_DISPUTE: (
        "The case is taken as a dispute of {amount} of this payment of {business}. Past an inquiry, the money is held."
    ),
    Action.CREDIT_DISPUTE: (
        "{amount} leaves suspense and is credited to the pending settlement of {business}. The dispute keeps its status."
    ),
    Action.DISMISS_DISPUTE: "{amount} leaves suspense. The ledger holds it for no owner any more.",
    Action.RECORD_DISPUTE_DEBIT: (
        "The acquirer has debited {amount} for a dispute of {business}. It owes us less. Nothing more is taken from the business."
    ),
    Action.MATCH_BREAKS: "The lines of the bank are what the ledger expected. They are booked, and the breaks end.",
    Action.COLLECT_RESERVE: "{amount} of the reserve of {business} is moved to its wallet, because it owes that much.",
    Action.LIFT_FREEZE: "Payouts of {business} are accepted and sent again, also those that wait.",
    Action.CLOSE_BUSINESS: (
        "The keys of {business} are revoked, its members and payers are shut out, and its payouts are frozen. What it is "
        "owed still settles to its wallet."
    ),
    Action.REOPEN_BUSINESS: (
        "{business} may take payments again. Its owners create new keys, and its payouts stay frozen."
    ),
    Action.GIVE_ACCOUNT: "The provider pays the refund of {amount} to {destination}.",
    Action.GIVE_RETURN_ACCOUNT: "The provider returns {amount} to {destination}.",
    Action.MATCH_RETURN: "{amount} is credited to the wallet of {business}. The bank has returned its payout.",
}


def meaning_of(proposal: Proposal) -> str:
    """Return one or two sentences. Empty for proposals of earlier releases, which can't be confirmed."""
    if proposal.made_about is None:
        return ""
    action = Action(proposal.action)
    if describe := _DESCRIBED.get(action):
        return describe(proposal)
    if "values" in proposal.parameters:
        return _values_changed(proposal)
    amount = money(proposal.amount, proposal.currency) if proposal.currency else ""
    if action == Action.RESOLVE_TRANSACTION:
        return _transaction_resolved(proposal, amount)
    if action == Action.RESOLVE_OPERATION:
        done = (
            "took place, and is booked" if _succeeded(proposal) else "did not take place. Nothing is booked"
        )
        return f"The {proposal.made_about['kind']} of {amount} {done}."
    return _pattern(proposal, action).format(
        amount=amount,
        business=proposal.business,
        destination=_destination(proposal),
        missing=proposal.parameters.get("missing", ""),
    )


def _journal(proposal: Proposal) -> str:
    """Describe the legs of a journal, or of the reversal of one."""
    legs = " ".join(
        f"{'Credit' if leg.amount > 0 else 'Debit'} {leg.account} {money(abs(leg.amount), proposal.currency)}."
        for leg in journal_actions.legs_of(proposal)
    )
    if other := journal_actions.other_business_of(proposal):
        legs += f" The other business is {other}."
    if proposal.action == Action.REVERSE_JOURNAL:
        return f"{legs} The journal is reversed."
    code = proposal.parameters["code"]
    return f"{legs} The reason is “{reason_in_words(code, proposal.reason)}”."


def _account_declared(proposal: Proposal) -> str:
    about: MadeAbout = proposal.made_about or {}
    return (
        f"Orders that were sent to {proposal.parameters['name']} are queried, repeated, captured, refunded and "
        f"reversed at {about['configured_account']}. If it doesn't have them, they may be paid twice."
    )


_DESCRIBED = {
    Action.JOURNAL: _journal,
    Action.REVERSE_JOURNAL: _journal,
    Action.DECLARE_ACCOUNT: _account_declared,
}


def _pattern(proposal: Proposal, action: Proposal.Action) -> str:
    about: MadeAbout = proposal.made_about or {}
    if action == Action.APPROVE_BATCH and "missing" in proposal.parameters:
        return (
            "{missing} of its payments hasn't arrived at a bank. They become a batch of their own, which waits. The batch of the "
            "others can be released. No money moves yet."
        )
    if action == Action.RELEASE_BATCH and "missing" in proposal.parameters:
        return "{missing} of its payments hasn't arrived at a bank. {amount} is credited to the wallet of {business} all the same."
    if not about.get("is_in_suspense", True):
        return "It is closed. Nothing is booked, because the ledger holds no money of it."
    if about.get("returns_unapplied_money"):
        return "{amount} becomes unapplied money of {business} again. The bank has sent its return back."
    return _MEANINGS[action]


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
    holder = proposal.parameters.get("account_name")
    return (
        f"account {named} at bank {proposal.parameters.get('bank_code', '')}{f' of {holder}' if holder else ''}"
        if named
        else f"the sender, {sender}"
    )
