"""What an action of staff was made about: the state and amounts on which its meaning depends.

"Succeeded" means that a payment was charged while it awaits its rail, and that it fails while it awaits a reversal. So
an action carries these values, and is refused under the lock of its target if they have changed since. Names are those
of the columns, amounts are minor units.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping

from kit.money.money import money as formatted
from ledger import services as ledger
from merchants.models import Business
from merchants.people.audit_values import shown
from payments.models import CardOperation, SettlementBatch, Transaction
from payments.services.settlement.batches.batch_funds import Funds
from payments.services.transfers.return_destinations import sender_of
from virtual_accounts.models import UnappliedMoney

MadeAbout = Mapping[str, object]

AMOUNTS = {
    "amount", "amount_captured", "amount_refunded", "amount_returned", "payment_captured", "payment_refunded", "payment_disputed",
    "topped_up", "payout_amount", "payout_returned", "gross", "fees", "taxes", "refunds", "brought_forward", "net",
    "carried_forward", "arrived", "cost",
}  # fmt: skip


def top_up(business: Business, currency: str) -> MadeAbout:
    """Return the sum of all top-ups. The wallet's balance moves with every payout, and changes no top-up's meaning."""
    return {"topped_up": ledger.topped_up(business, currency)}


def batch(row: SettlementBatch, funds: Funds | None) -> MadeAbout:
    """Return the state and amounts, with what has arrived where it must: an approval is of that part."""
    amounts = ("gross", "fees", "taxes", "refunds", "brought_forward", "net", "carried_forward")
    held: dict[str, object] = {name: getattr(row, name) for name in amounts}
    held |= {"arrived": funds.arrived} if funds else {}
    return {"state": str(row.state), "payments_count": row.payments_count} | held


def unapplied(money: UnappliedMoney) -> MadeAbout:
    sender = sender_of(money.transfer)
    return {
        "state": str(money.state),
        "amount": money.amount,
        "sender_account": f"{sender.account_number} at {sender.bank_code}" if sender else "",
        "earlier_return": money.reference,
    }


def transaction(row: Transaction) -> MadeAbout:
    """Return the state with the number of changes: a payment may await its rail again after a challenge."""
    return {
        "status": str(row.status),
        "awaiting": str(row.awaiting),
        "amount": row.amount,
        "amount_captured": row.amount_captured,
        "amount_refunded": row.amount_refunded,
        "amount_returned": row.amount_returned,
        "connector": row.connector,
        "changes": row.transitions.filter(attribute__in=["status", "awaiting"]).count(),
    }


def operation(row: CardOperation) -> MadeAbout:
    payment = row.transaction
    return {
        "kind": str(row.kind),
        "status": str(row.status),
        "amount": row.amount,
        "payment_status": str(payment.status),
        "payment_awaiting": str(payment.awaiting),
        "payment_captured": payment.amount_captured,
        "payment_refunded": payment.amount_refunded,
    }


def fingerprint(made_about: MadeAbout) -> str:
    """Return a hash for a page's form, which is refused when it is sent after a change."""
    return hashlib.sha256(json.dumps(made_about, sort_keys=True).encode()).hexdigest()


def differences(
    before: MadeAbout, after: MadeAbout, currency: str, *, form: str = "{} was {}, and is {} now"
) -> str:
    """Describe what has changed.

    >>> differences({"awaiting": "rail", "amount": 500}, {"awaiting": "reversal", "amount": 500}, "NGN")
    'awaiting was rail, and is reversal now'
    """
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return "; ".join(
        form.format(_label(name), _value(name, before, currency), _value(name, after, currency))
        for name in names
    )


def in_words(made_about: MadeAbout, currency: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values for people."""
    for name in made_about:
        yield _label(name), _value(name, made_about, currency)


def _label(name: str) -> str:
    return name.replace("_", " ")


def _value(name: str, made_about: MadeAbout, currency: str) -> str:
    value = made_about.get(name)
    if name in AMOUNTS and isinstance(value, int):
        return formatted(value, currency)
    return shown(value) or "none"
