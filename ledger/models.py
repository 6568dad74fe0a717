"""Accounts, entries and postings. Amounts are minor units; a credit is positive, a debit negative.

Accounts of money that is owed (the merchant's wallet, our fees) have positive balances. Accounts of money that others
owe us or hold for us (the acquirer, the bank) have negative ones. The postings of an entry sum to zero, and so do all
accounts of a business in a currency. House accounts belong to no business, and sum to zero in the same way.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from kit.db.card_number_fields import FreeTextField
from kit.db.triggered_checks import TriggeredCheck
from merchants.models import Business

NAMED = ("bank", "acquirer", "provider", "costs")  # kinds with an account for each name
# Kinds of house accounts that are opened at first use.
OPENED_AT_USE = (*NAMED, "write_offs", "reserves", "reserves_contra")
LONGEST_NAME = 321  # of a connector with its account


class Account(models.Model):
    """A kind of money of a business in a currency. The balance is the sum of its postings.

    Our own accounts also exist once per business, so that businesses don't contend for one row. Our total is the sum
    over all businesses. The house accounts hold money that belongs to no business.
    """

    class Kind(models.TextChoices):
        # The merchant's
        WALLET = "wallet"  # may be paid out
        PENDING_SETTLEMENT = "pending_settlement"  # earned, less fees and refunds, not released yet
        PAYOUTS_IN_FLIGHT = "payouts_in_flight"  # taken from the wallet for pending payouts, including fees
        # Ours
        ACQUIRER_RECEIVABLE = "acquirer_receivable"  # captured, owed to us by the acquirer
        BANK_CLEARING = "bank_clearing"  # received and sent by bank transfer
        FEES = "fees"  # our earnings
        UNAPPLIED = "unapplied"  # transfers that match no payment
        REFUNDS_PAYABLE = (
            "refunds_payable"  # refunded to cards or lost in disputes, owed by us to the acquirer
        )
        # The house's
        SUSPENSE = "suspense"  # received by bank transfer, of an unknown owner
        LATE_CHARGES = (
            "late_charges"  # charged by an acquirer after the payment failed, owed back to the payer
        )
        CHARGEBACK_CLEARING = "chargeback_clearing"  # debited by an acquirer for disputes that are still open
        # The merchant's again. Accounts are locked in the order of their ids, so new kinds come last.
        DISPUTES_HELD = "disputes_held"  # taken from pending settlement for open disputes
        RESERVE = "reserve"  # held back from released settlements, returned to the wallet later
        # Ours again: charged with fees, owed to the tax office. The house's account has what was remitted.
        TAXES_PAYABLE = "taxes_payable"
        # The house's, opened at first use, and with a name if there are several
        BANK = "bank"  # what a bank account of ours holds, by its statements: its name
        ACQUIRER = "acquirer"  # owed to us by an acquirer, by its statements: the connector's account
        PROVIDER = "provider"  # owed to us by a provider, by its statements: the connector's account
        COSTS = "costs"  # paid to banks and providers: the kind of cost
        WRITE_OFFS = "write_offs"  # given up
        RESERVES = "reserves"  # held back from businesses: the sum of their accounts `reserve`
        RESERVES_CONTRA = "reserves_contra"  # stands against it, because the money is in those accounts

    business = models.ForeignKey(
        Business, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )  # null: a house account
    currency = models.CharField(max_length=3)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    # Of several house accounts of one kind; a connector's account is `connector:account`.
    name = models.CharField(max_length=LONGEST_NAME, blank=True, default="", db_default="")
    balance = models.BigIntegerField(default=0)
    balance_before: int | None  # annotated by `ledger.statements.with_balance_before`
    sequence = models.BigIntegerField(default=0)  # of its last posting
    hash = models.BinaryField(max_length=32, default=bytes)  # of its last posting

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business", "currency", "kind"], name="one_account_per_business_currency_and_kind"
            ),
            models.UniqueConstraint(
                fields=["currency", "kind", "name"],
                condition=Q(business__isnull=True),
                name="one_house_account_per_currency_kind_and_name",
            ),
            models.CheckConstraint(
                condition=Q(sequence__gt=0) | Q(sequence=0, balance=0), name="balances_come_from_postings"
            ),
            TriggeredCheck(
                condition=Q(
                    business__isnull=True,
                    kind__in=[
                        "acquirer_receivable",
                        "bank_clearing",
                        "suspense",
                        "late_charges",
                        "chargeback_clearing",
                        "taxes_payable",
                        *OPENED_AT_USE,
                    ],
                )
                | Q(business__isnull=False)
                & ~Q(kind__in=["suspense", "late_charges", "chargeback_clearing", *OPENED_AT_USE]),
                name="house_accounts_have_no_business",
            ),
            TriggeredCheck(
                condition=Q(kind__in=NAMED, business__isnull=True) & ~Q(name="")
                | ~Q(kind__in=NAMED) & Q(name=""),
                name="accounts_of_several_have_names",
            ),
            models.CheckConstraint(
                condition=~Q(kind="reserve") | Q(balance__gte=0), name="reserves_are_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}:{self.name} {self.currency}" if self.name else f"{self.kind} {self.currency}"


HOUSE_KINDS = (
    Account.Kind.ACQUIRER_RECEIVABLE,
    Account.Kind.BANK_CLEARING,
    Account.Kind.SUSPENSE,
    Account.Kind.LATE_CHARGES,
    Account.Kind.CHARGEBACK_CLEARING,
    Account.Kind.TAXES_PAYABLE,
)
_OF_NO_BUSINESS = (Account.Kind.SUSPENSE, Account.Kind.LATE_CHARGES, Account.Kind.CHARGEBACK_CLEARING)
BUSINESS_KINDS = tuple(kind for kind in Account.Kind if kind not in {*_OF_NO_BUSINESS, *OPENED_AT_USE})


HOUSE_ENTRIES = (
    "suspense_in",
    "suspense_out",
    "late_charge_in",
    "late_charge_out",
    "chargeback_in",
    "chargeback_out",
    "statement_opened",
    "statement_matched",
    "journal_house",
    "reserves_mirrored",
)


class Entry(models.Model):
    """A movement of money. Append-only. Kind and cause are unique, so an event is booked once."""

    class Kind(models.TextChoices):
        """What happened. The comment names the object whose id is the cause."""

        CARD = "card"  # a card payment was captured: the transaction
        REFUND = "refund"  # a refund succeeded: the operation
        VIRTUAL_ACCOUNT = "virtual_account"  # a transfer paid a payment: the transaction
        PAYOUT_ACCEPTED = "payout_accepted"  # taken from the wallet: the transaction
        PAYOUT_SENT = "payout_sent"  # sent by the bank: the transaction
        PAYOUT_FAILED = "payout_failed"  # back to the wallet, or to unapplied: the transaction
        PAYOUT_REVERSED = "payout_reversed"  # returned by the bank after success: the payout return
        SETTLEMENT_RELEASED = "settlement_released"  # from pending into the wallet: the batch
        UNAPPLIED_IN = "unapplied_in"  # a transfer that matches no payment: the transfer
        UNAPPLIED_OUT = (
            "unapplied_out"  # returned or credited: the transfer, or the refused payout of its last return
        )
        TAX = "tax"  # taken from the wallet for the tax on a payout's fee: the transaction
        TOP_UP = "top_up"  # staff topped up the wallet: the submitted form
        DISPUTE_OPENED = "dispute_opened"  # held for a dispute: the step of the dispute
        DISPUTE_FEE = "dispute_fee"  # charged or given back: the step
        DISPUTE_CLOSED = "dispute_closed"  # given back or lost: the step
        DISPUTE_CORRECTED = "dispute_corrected"  # given back although it was booked as lost: the step
        CHARGEBACK_PAID = "chargeback_paid"  # the acquirer debited a dispute that was lost before: the step
        RESERVE_HELD = "reserve_held"  # held back from a released settlement: the hold
        RESERVE_RETURNED = "reserve_returned"  # back to the wallet: the return of the hold
        JOURNAL = "journal"  # staff corrected accounts of the business: the journal
        # Of house accounts
        SUSPENSE_IN = (
            "suspense_in"  # money of an unknown owner arrived: the unclaimed transfer or payout return
        )
        SUSPENSE_OUT = "suspense_out"  # its owner was found, or it was written off: the same
        LATE_CHARGE_IN = "late_charge_in"  # a failed payment was charged: its watched authorisation
        LATE_CHARGE_OUT = "late_charge_out"  # the acquirer voided or refunded that charge: the same
        CHARGEBACK_IN = "chargeback_in"  # the acquirer debited an open dispute: the step of the dispute
        CHARGEBACK_OUT = "chargeback_out"  # that dispute was closed: the step
        STATEMENT_OPENED = (
            "statement_opened"  # what a bank account held before its first statement: the account
        )
        STATEMENT_MATCHED = "statement_matched"  # lines of statements were matched: the matching
        JOURNAL_HOUSE = "journal_house"  # staff corrected house accounts: the journal
        RESERVES_MIRRORED = "reserves_mirrored"  # the reserve of a business changed: the hold, or its return

    kind = models.CharField(max_length=20, choices=Kind.choices)
    cause = models.UUIDField()
    business = models.ForeignKey(
        Business, on_delete=models.PROTECT, null=True, related_name="+", db_index=False, db_constraint=False
    )  # null: it posts to house accounts
    currency = models.CharField(max_length=3)
    note = FreeTextField(max_length=255, blank=True)  # reason, entered by a person
    # Payouts: the booking required the wallet, less what the business owed, to cover it.
    is_covered = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "entries"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kind", "cause"], name="one_entry_per_kind_and_cause"),
            TriggeredCheck(
                condition=Q(business__isnull=True, kind__in=HOUSE_ENTRIES)
                | Q(business__isnull=False) & ~Q(kind__in=HOUSE_ENTRIES),
                name="house_entries_have_no_business",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.cause}"


class Posting(models.Model):
    """The change of one account by an entry. Append-only; see `hash_chain` for the hashes."""

    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="postings", db_constraint=False)
    account = models.ForeignKey(
        Account, on_delete=models.PROTECT, related_name="postings", db_index=False, db_constraint=False
    )
    amount = models.BigIntegerField()
    sequence = models.BigIntegerField()  # 1, 2, 3 … in each account
    balance_after = models.BigIntegerField()
    previous_hash = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["account", "sequence"], name="one_posting_per_sequence"),
            models.CheckConstraint(condition=~Q(amount=0), name="postings_move_something"),
        ]

    def __str__(self) -> str:
        return f"no. {self.sequence} of account {self.account_id}"
