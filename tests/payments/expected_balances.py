"""Expected wallet and pending balances, computed from payments, payouts and batches without the ledger.

Fees are defined here again as exact fractions, so that a wrong fee is also a difference.
"""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from disputes.models import Dispute
from merchants.models import Business
from payments.models import (
    CardOperation,
    Journal,
    JournalLeg,
    PayoutReturn,
    ReserveHold,
    SettlementBatch,
    SettlementItem,
    Transaction,
    TransactionQuerySet,
)
from payments.rules.words.dispute_words import FOR_THE_BUSINESS, Stage
from virtual_accounts.models import UnappliedMoney

NETTED = ("transaction", "operation", "dispute_step")  # one of them by each item of a batch
Amounts = Counter[str]  # minor units by currency

TAX = Fraction(75, 1000)  # on fees in NGN, which the machine agrees
PERCENT = {"card": Fraction("3.9"), "virtual_account": Fraction(1), "payout": Fraction(1)}


def expected_fee(flow: str, currency: str, amount: int) -> int:
    """Return the default price of the contract.

    >>> expected_fee("card", "NGN", 250_000), expected_fee("card", "JPY", 50), expected_fee("payout", "NGN", 1)
    (13750, 2, 1000)
    """
    if currency != "NGN":
        return rounded_half_up(amount * PERCENT[flow] / 100)
    if flow == "card":
        fixed = 10_000 if amount >= 250_000 else 0
        return min(rounded_half_up(Fraction(amount * 15, 1000)) + fixed, 200_000, amount)
    if flow == "virtual_account":
        return min(rounded_half_up(Fraction(amount, 100)), 30_000)
    return 1_000 if amount <= 500_000 else 2_500 if amount <= 5_000_000 else 5_000


def expected_charge(flow: str, currency: str, amount: int) -> int:
    """Return the fee with its tax.

    >>> expected_charge("card", "NGN", 50_000), expected_charge("card", "USD", 50_000)
    (806, 1950)
    """
    fee = expected_fee(flow, currency, amount)
    return fee + (rounded_half_up(fee * TAX) if currency == "NGN" else 0)


def rounded_half_up(exact: Fraction) -> int:
    whole, rest = divmod(exact, 1)
    return int(whole) + (rest >= Fraction(1, 2))


@dataclass
class ExpectedBalances:
    """The balances of one business. Top-ups only exist in the ledger, so the test adds them."""

    business: Business
    topped_up: Amounts = field(default_factory=Counter)

    def wallet(self, currency: str) -> int:
        payouts = self._transactions("payout", currency)
        decided = UnappliedMoney.objects.filter(business=self.business, currency=currency)
        returns = PayoutReturn.objects.filter(transaction__in=payouts, applied="reversed")
        # The return of unapplied money that the bank sent back is unapplied again.
        returns = returns.exclude(transaction__reference__startswith="return_")
        return (
            self.topped_up[currency]
            + sum(self.adjustments(currency))
            + sum(self._released_nets(currency))
            + sum(money.amount for money in decided.exclude(state="open"))
            - sum(taken_for(payout) for payout in payouts)
            + sum(one.amount for one in returns)
            - sum(
                ReserveHold.objects.filter(business=self.business, currency=currency).values_list(
                    "left", flat=True
                )
            )
        )

    def adjustments(self, currency: str) -> list[int]:
        """Return what journals other than top-ups credited to the wallet; negative amounts are debits."""
        return [leg.amount for leg in self._legs(currency)]

    def taken_back(self, currency: str) -> int:
        """Return what staff debited although it might make the business owe: recoveries, and reversals of credits."""
        legs = (leg for leg in self._legs(currency) if leg.amount < 0)
        return -sum(leg.amount for leg in legs if leg.journal.code == "recovery" or leg.journal.reverses_id)

    def _legs(self, currency: str) -> list[JournalLeg]:
        legs = JournalLeg.objects.filter(
            kind="wallet", journal__business=self.business, journal__currency=currency
        )
        return list(legs.exclude(journal__code=Journal.Code.FUNDING).select_related("journal"))

    def pending(self, currency: str) -> int:
        payments = self._transactions("payment", currency).filter(status="success")
        done = CardOperation.objects.filter(transaction__in=payments, kind="refund", status="success")
        return (
            sum(earned(payment) for payment in payments)
            - sum(refund.amount for refund in done)
            - sum(self._disputed(currency))
            - sum(self._released_nets(currency))
        )

    def _disputed(self, currency: str) -> list[int]:
        """Return what each dispute takes: what is held or lost, and the fee unless it is won."""
        disputes = Dispute.objects.filter(business=self.business, currency=currency)
        return [
            each.amount - (each.outcome_amount or 0) + (0 if each.status in FOR_THE_BUSINESS else each.fee)
            for each in disputes.exclude(stage=Stage.INQUIRY)
        ]

    def covers(self, amount: int, currency: str) -> bool:
        """Return whether the wallet covers a payout of `amount`, after the amount owed for refunds."""
        return self._covering(currency) >= amount + expected_charge("payout", currency, amount)

    def covers_refund(self, payment: Transaction, amount: int) -> bool:
        """Return whether a refund by bank transfer is covered: by the balance, and by its payment's unreleased money."""
        own = 0 if payment.settle_status == "released" else payment.amount_refundable
        return self._covering(payment.currency) + own >= amount

    def _covering(self, currency: str) -> int:
        reserved = CardOperation.objects.filter(
            business=self.business, transaction__currency=currency, status="pending", kind="refund"
        ).exclude(connector="")
        owed = self.pending(currency) - sum(refund.amount for refund in reserved)
        return self.wallet(currency) + min(owed, 0)

    def _transactions(self, request_type: str, currency: str) -> TransactionQuerySet:
        return Transaction.objects.filter(
            business=self.business, request_type=request_type, currency=currency
        )

    def _released_nets(self, currency: str) -> list[int]:
        """Return the net of each released batch.

        If the refunds of a batch exceed its payments, it pays nothing, and a later batch nets the rest.
        """
        nets = []
        owed: dict[object, int] = {}
        # A batch is created after those whose debts it brings forward.
        batches = SettlementBatch.objects.filter(business=self.business, currency=currency).order_by("id")
        for batch in batches.exclude(state="rejected"):
            left = sum(item_net(item) for item in batch.items.select_related(*NETTED))
            left -= sum(owed[one] for one in batch.brought.values_list("pk", flat=True))
            owed[batch.pk] = max(-left, 0)
            if batch.state == "released":
                nets.append(max(left, 0))
        return nets


def gross(payment: Transaction) -> int:
    return payment.amount_captured if payment.method == "card" else payment.amount


def earned(payment: Transaction) -> int:
    return gross(payment) - expected_charge(payment.method, payment.currency, gross(payment))


def taken_for(payout: Transaction) -> int:
    """Return the amount debited for a payout: amount, fee and tax, or nothing if it failed, or was a return that came back."""
    is_return = payout.reference.startswith("return_")
    if payout.status == "failed" or (is_return and payout.amount_returned):
        return 0
    return payout.amount + (0 if is_return else expected_charge("payout", payout.currency, payout.amount))


def item_net(item: SettlementItem) -> int:
    if item.dispute_step is not None:
        return -item.dispute_step.taken - item.dispute_step.fee
    return -item.operation.amount if item.operation is not None else earned(item.transaction)
