"""What a provider asks of staff before it can return unapplied money. It is stored with the money, not with every transaction."""

from payments.models import Transaction
from payments.rails import RETURNS
from payments.services.refunds import refused_returns
from virtual_accounts.models import UnappliedMoney, UnappliedMoneyQuerySet


def attention_of(payout: Transaction) -> str:
    """Return what staff must do, or an empty string. Other transactions than returns by a provider cost no query."""
    if payout.connector not in RETURNS or payout.awaiting != Transaction.Awaiting.RAIL:
        return ""
    return _money(payout).values_list("attention", flat=True).first() or ""


def keep_attention(subject: object, attention: str) -> None:
    """Store what a provider asks of staff, if it is new. Empty: nothing. Does nothing for what isn't a return by one."""
    if not isinstance(subject, Transaction) or subject.connector not in RETURNS:
        return
    _money(subject).exclude(attention=attention).update(attention=attention)


def _money(payout: Transaction) -> UnappliedMoneyQuerySet:
    """Return the money that a payout returns: at most one row."""
    key = refused_returns.money_of(payout.reference)
    return UnappliedMoney.objects.filter(pk__in=[] if key is None else [key])
