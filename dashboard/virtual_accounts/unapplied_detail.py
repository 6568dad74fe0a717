"""What the pages of an unapplied transfer show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from dashboard.transactions.request_links import origin_of
from dashboard.ui.components.timeline import BAD, GOOD, NEW, Moment
from kit import banks
from kit.money.money import money as format_money
from payments.models import Beneficiary, Transaction
from payments.rules.words.status_names import UNAPPLIED_REASONS
from payments.services.payouts import beneficiaries
from payments.services.payouts.beneficiaries import Verified
from payments.services.payouts.name_enquiries import UnknownBeneficiary
from payments.services.transactions.intents import find_of
from payments.services.transfers import awaited_returns
from payments.services.transfers.return_destinations import Destination, sender_of
from virtual_accounts.models import Transfer, UnappliedMoney
from webhooks.models import Delivery

Reason = Transfer.Reason


@dataclass(frozen=True, slots=True)
class Receiver:
    """The account that a return goes to, with what its bank says. `verified` is None if it can't be asked."""

    account: Destination
    bank: str
    verified: Verified | None = None
    is_unknown: bool = False

    @property
    def is_match(self) -> bool:
        return self.verified is not None and self.verified.verification == Beneficiary.Verification.VERIFIED


def detail_of(money: UnappliedMoney) -> dict[str, Any]:
    """Return an unapplied transfer with what belongs to it, for a template."""
    transfer, payout = money.transfer, _payout(money)
    awaited_returns.mark([money])
    return {
        "money": money,
        "transfer": transfer,
        "why": UNAPPLIED_REASONS[transfer.reason],
        "difference": money.amount - transfer.session.expected_amount if transfer.session else 0,
        "sender_bank": banks.name_of(transfer.sender_bank_code) or transfer.sender_bank_code,
        "is_sender_known": sender_of(transfer) is not None,
        "is_return_first": bool(transfer.sender),
        "payout": payout,
        "payout_bank": banks.name_of(payout.bank_code) if payout else "",
        "payment": _payment(money),
        "delivery": Delivery.objects.filter(subject=money.pk).defer("body").first(),
        "origin": list(origin_of(money.business, money.pk)),
        "moments": list(_moments(money, payout)),
    }


def receiver_of(money: UnappliedMoney, named: dict[str, str], *, now: datetime) -> Receiver:
    """Return the account that a return would go to, and ask its bank for the holder's name."""
    account = sender_of(money.transfer) or Destination(
        money.transfer.sender_name, named["account_number"], named["bank_code"]
    )
    bank = banks.name_of(account.bank_code)
    if not account.account_number:  # known to the provider only
        return Receiver(account, bank)
    try:
        verified = beneficiaries.verify(
            business=money.business,
            name=account.name,
            account_number=account.account_number,
            bank_code=account.bank_code,
            now=now,
        )
    except UnknownBeneficiary:
        return Receiver(account, bank, is_unknown=True)
    return Receiver(account, bank, verified)


def _moments(money: UnappliedMoney, payout: Transaction | None) -> Iterator[Moment]:
    """Yield what happened to the transfer, oldest first."""
    amount, transfer = format_money(money.amount, money.currency), money.transfer
    yield Moment(
        at=transfer.received_at,
        title=f"{amount} received",
        text=UNAPPLIED_REASONS[transfer.reason],
        mark=BAD if transfer.reason == Reason.MISMATCH else NEW,
    )
    if money.decided_at:
        text = f"By {money.actor}: {money.reason}"
        yield Moment(at=money.decided_at, title=_decision(money, amount), text=text, mark=GOOD)
    if payout and payout.finished_at:
        is_sent = payout.status == Transaction.Status.SUCCESS
        yield Moment(
            at=payout.finished_at,
            title=f"Payout {payout.reference} {'sent' if is_sent else 'failed'}",
            text="" if is_sent else payout.response_summary,
            address=reverse("dashboard-payout", args=[payout.pk]),
            mark=GOOD if is_sent else BAD,
        )


def _decision(money: UnappliedMoney, amount: str) -> str:
    if money.is_accepted:
        return f"{amount} accepted for the payment, and credited to your balance"
    is_credited = money.state == UnappliedMoney.State.CREDITED
    return (
        f"{amount} credited to your balance" if is_credited else f"Return of {amount} to the sender ordered"
    )


def _payment(money: UnappliedMoney) -> Transaction | None:
    """Return the payment that the transfer was meant for, if it is known."""
    return find_of(money.business, money.payment_reference) if money.payment_reference else None


def _payout(money: UnappliedMoney) -> Transaction | None:
    """Return the payout to the sender, if there is one."""
    return find_of(money.business, money.reference) if money.reference else None
