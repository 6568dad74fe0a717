"""Transactions and the log of their moves.

Only the methods here change a status, and only while the row is as they were told it is.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.db import models
from django.db import transaction as database
from django.db.models import Case, Exists, F, OuterRef, Q, When
from django.db.models.functions import Upper

from kit import banks
from kit.db.card_number_fields import FreeTextField
from kit.db.prepared_statements import insert, update_if_unchanged
from kit.db.triggered_checks import TriggeredCheck
from kit.money.money import money
from merchants.models import Business
from payments.models.links import Checkout, PaymentLink
from payments.models.state_errors import AlreadyTransitioned
from payments.models.transactions import gateway_codes
from payments.rails import KEEPS_REFERENCES, RETURNS
from payments.rules.fees import NO_CHARGE, Charge
from payments.rules.outcomes import (
    MISMATCH_CODE,
    PARTLY_APPROVED,
    PROCESSING,
    REVERSED,
    Outcome,
    transfer_received,
)
from payments.rules.words.payout_refusal_words import reason_of
from payments.rules.words.status_names import outcome_name
from virtual_accounts.models import Session, UnappliedMoney

if TYPE_CHECKING:
    from payments.models.transactions.operations import CardOperation
    from payments.rails.protocol import RailAnswer


# The amount received, which can be refunded: the captured amount of a card payment, the full amount of a transfer.
COLLECTED = Case(
    When(method="virtual_account", status="success", then=F("amount")), default=F("amount_captured")
)


# The fingerprint of a card payment covers the cardholder's name, and that of the first release covers the number too.
HAS_CARD_NUMBER_HASH = Q(method="card") & ~Q(fingerprint="") | ~Q(card_number_hash="")
MOST_CARD_NUMBER_MISMATCHES = 5


def retry_window() -> timedelta:
    """Return how long a bank keeps the reference of an order. Older orders are never retried."""
    return timedelta(hours=settings.BANK_MEMORY)


RRN = re.compile(r"[0-9]{12}\Z")  # as ISO 8583 and our API have it. Others are a provider's own affair.
LONGEST_ACCOUNT = 300  # characters of a connector's account: a host name has up to 253


class TransactionQuerySet(models.QuerySet["Transaction"]):
    def of(self, business: Business) -> TransactionQuerySet:
        """Return the transactions of a business. Those of others are treated as missing."""
        return self.filter(business=business)

    def for_representation(self) -> TransactionQuerySet:
        """Load the related rows that the representation shows."""
        related = ("returns", "payment_link", "operations", "disputes")
        return self.select_related("challenge", "session").prefetch_related(*related)

    def unanswered(self) -> TransactionQuerySet:
        """Return transactions that were sent to a rail, as an order or as its reversal, without a known answer."""
        return self.filter(awaiting__in=[Transaction.Awaiting.RAIL, Transaction.Awaiting.REVERSAL])

    def beyond_retry_window(self, *, at: datetime) -> TransactionQuerySet:
        """Return unanswered payouts that are never sent again. Their bank may have deleted their references."""
        first_sent_by = Q(released_at__lte=at - retry_window()) | Q(
            released_at__isnull=True, created_at__lte=at - retry_window()
        )
        old = self.unanswered().filter(first_sent_by, method=Transaction.Method.BANK)
        return old.exclude(connector__in=KEEPS_REFERENCES)

    def needing_attention(self) -> TransactionQuerySet:
        """Return unanswered returns of unapplied money that the provider can't carry out until staff act. Has an index."""
        returned = UnappliedMoney.objects.filter(
            business=OuterRef("business"), reference=OuterRef("reference")
        )
        asked = self.unanswered().filter(method=Transaction.Method.BANK, connector__in=RETURNS)
        return asked.filter(Exists(returned.exclude(attention="")))

    def unsettled(self) -> TransactionQuerySet:
        """Return successful payments that are in no live batch."""
        return self.filter(
            status=Transaction.Status.SUCCESS,
            request_type=Transaction.RequestType.PAYMENT,
            settle_status__in=["", Transaction.SettleStatus.REJECTED],
        )

    def with_card_number_hash(self) -> TransactionQuerySet:
        """Return transactions with a hash that covers a card number. Has an index."""
        return self.filter(HAS_CARD_NUMBER_HASH)

    def overdue(self, *, at: datetime) -> TransactionQuerySet:
        """Return open challenges and authorisations that have expired."""
        return self.filter(
            awaiting__in=[Transaction.Awaiting.PAYER, Transaction.Awaiting.CAPTURE], expires_at__lte=at
        )

    def fail_all(
        self, transactions: list[Transaction], outcome: Outcome, *, cause: Transition.Cause, now: datetime
    ) -> None:
        """Fail transactions that await a transfer, all with the same outcome, in two statements.

        :raises AlreadyTransitioned: one of them no longer awaits a transfer
        """
        transitions = [transaction.fail(outcome, cause=cause, now=now) for transaction in transactions]
        waiting = self.filter(
            pk__in=[transaction.pk for transaction in transactions], awaiting=Transaction.Awaiting.TRANSFER
        )
        written = {name: getattr(transactions[0], name) for name in FAIL_FIELDS} if transactions else {}
        if transactions and waiting.update(**written) != len(transactions):
            raise AlreadyTransitioned
        Transition.objects.bulk_create(transitions)


class Transaction(models.Model):
    """A payment, a payout or a card check. Amounts are minor units."""

    class RequestType(models.TextChoices):
        PAYMENT = "payment"  # a payer pays the merchant
        PAYOUT = "payout"  # the merchant pays a bank account
        CARD_CHECK = "card_check"  # verifies that a card is usable; moves no money

    class Method(models.TextChoices):
        CARD = "card"
        VIRTUAL_ACCOUNT = "virtual_account"
        BANK = "bank"  # payouts

    class Status(models.TextChoices):
        PENDING = "pending"  # created; awaits the payer, the issuer or the bank
        SUCCESS = "success"  # completed; final
        FAILED = "failed"  # final

    class Awaiting(models.TextChoices):
        """What a pending transaction waits for."""

        RAIL = "rail"  # the answer of the acquirer or bank
        REVERSAL = "reversal"  # the reversal of an authorisation whose answer was lost
        PAYER = "payer"  # the payer, at the 3-D Secure challenge
        TRANSFER = "transfer"  # a transfer into the virtual account; its session expires, not the transaction
        CAPTURE = "capture"  # the merchant's capture or void of the authorisation
        APPROVAL = "approval"  # a payout: the approval of other members of the business
        SERVER = "server"  # a payout: the answer of the business's own server
        NOTHING = "", "nothing"  # finished

    class RefundStatus(models.TextChoices):
        NONE = "none"  # no refund attempted
        PARTIALLY_REFUNDED = "partially_refunded"
        REFUNDED = "refunded"  # everything collected was refunded
        REFUND_FAILED = "refund_failed"  # the last attempt failed and changed no amounts

    class SettleStatus(models.TextChoices):
        """Progress of the settlement into the wallet; empty while the payment is in no batch."""

        INITIATED = "initiated"  # its batch is being built
        PENDING = "pending"  # the batch is complete and awaits the bank
        REJECTED = "rejected"  # its batch was rejected; the payment joins the next one
        APPROVED = "approved"  # the funds await release
        RELEASED = "released"  # the funds are in the wallet; final

    class Purpose(models.TextChoices):
        """What a payout is for."""

        SALARY = "salary"
        SUPPLIER = "supplier"
        OTHER = "other"

    # What it is. Every kind has all of these; `card_number_*` only cards.
    id = models.UUIDField(primary_key=True, editable=False)  # version 7: sorts by creation
    business = models.ForeignKey(
        Business, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    reference = models.CharField(max_length=100)
    # Keyed hashes for idempotency: of the request without its card numbers, and of the card numbers. Decision 0017.
    fingerprint = models.CharField(max_length=64, blank=True)
    card_number_hash = models.CharField(max_length=64, blank=True, default="", db_default="")
    card_number_mismatches = models.PositiveSmallIntegerField(default=0, db_default=0)
    request_type = models.CharField(max_length=10, choices=RequestType.choices)
    method = models.CharField(max_length=16, choices=Method.choices)

    # Where it stands. `refund_status` and `settle_status` of payments only, the others of every kind.
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.PENDING)
    awaiting = models.CharField(max_length=8, choices=Awaiting.choices, blank=True, default=Awaiting.RAIL)
    refund_status = models.CharField(max_length=20, choices=RefundStatus.choices, default=RefundStatus.NONE)
    settle_status = models.CharField(
        "settlement", max_length=9, choices=SettleStatus.choices, blank=True, default=""
    )
    response_code = models.CharField(max_length=5, default=PROCESSING.code)
    response_summary = FreeTextField(max_length=255, default=PROCESSING.summary)

    # The money. A card check has an amount of 0 and no fee; captures and 3-D Secure are card payments', refunds payments',
    # returns payouts'.
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    fee = models.BigIntegerField(default=0)
    fee_tax = models.BigIntegerField(default=0, db_default=0)  # on the fee, in addition to it
    stamp_duty = models.BigIntegerField(default=0, db_default=0)  # on the amount of a payout
    fee_rule = models.JSONField(
        default=dict
    )  # as it was when the transaction was created (`FeeRule.snapshot`)
    captures_at_once = models.BooleanField(default=True)  # false: authorised first, captured on request
    challenge_preference = models.CharField(max_length=20, blank=True)  # empty: 3-D Secure is not wanted
    amount_captured = models.BigIntegerField(default=0)
    amount_refunded = models.BigIntegerField(default=0)
    amount_being_refunded = models.BigIntegerField(default=0)  # requested, no answer yet
    amount_returned = models.BigIntegerField(default=0, db_default=0)  # payouts: sum of its returns
    # Cards: open disputes past inquiry and what was lost in ended ones. It can't be refunded.
    amount_disputed = models.BigIntegerField(default=0, db_default=0)
    # Those that move no money too: without any, showing a payment takes no query for them.
    disputes_count = models.PositiveSmallIntegerField(default=0, db_default=0)

    # What the merchant said about it, each empty if it didn't. `redirect_url` of cards only.
    narration = FreeTextField(max_length=255, blank=True)
    metadata = models.JSONField(null=True, blank=True)  # the merchant's own keys; null: none were sent
    payment_ip = models.GenericIPAddressField("IP address of the payer", null=True, blank=True)
    redirect_url = models.CharField("redirect URL", max_length=2048, blank=True)
    customer_name = FreeTextField(max_length=255, blank=True)
    customer_email = models.CharField(max_length=254, blank=True)
    customer_reference = models.CharField(max_length=100, blank=True)
    # The other side: the session of a transfer payment, the link of a link's payment, the account of a payout, the card of
    # a card payment or check. The others are empty.
    session = models.OneToOneField(  # virtual accounts: where the money is expected
        Session, on_delete=models.PROTECT, null=True, related_name="payment"
    )
    # Payments of a payment link, which never change their link or checkout.
    payment_link = models.ForeignKey(
        PaymentLink, on_delete=models.PROTECT, null=True, related_name="payments", db_index=False
    )
    checkout = models.ForeignKey(
        Checkout, on_delete=models.PROTECT, null=True, related_name="attempts", db_index=False
    )
    account_number = models.CharField(max_length=10, blank=True)  # payouts: the beneficiary's
    bank_code = models.CharField(max_length=10, blank=True)
    purpose = models.CharField(  # payouts: what it is for, if the merchant said so
        max_length=8, choices=Purpose.choices, blank=True, default="", db_default=""
    )

    card_brand = models.CharField(max_length=10, blank=True)
    card_bin = models.CharField("BIN of the card", max_length=6, blank=True)
    card_last4 = models.CharField("last digits of the card", max_length=4, blank=True)
    card_expiry_month = models.CharField(max_length=2, blank=True)
    card_expiry_year = models.CharField(max_length=4, blank=True)

    # The rail's side. All empty for transfer payments, which are sent to no rail; trace numbers, code and descriptor are
    # those of cards.
    connector = models.CharField(max_length=20, blank=True)  # the connector that it was sent to
    # Its account there: only this account is asked about it. Empty until release 0.2.
    account = models.CharField(max_length=LONGEST_ACCOUNT, blank=True, default="", db_default="")
    # Ours, sent to the rail: with these an unanswered request is asked about again.
    system_trace_audit_number = models.CharField(max_length=6, blank=True)
    retrieval_reference_number = models.CharField(max_length=12, blank=True)
    # The rail's, empty until it has answered.
    gateway_code = models.CharField(max_length=3, blank=True)
    long_gateway_code = models.CharField(
        max_length=gateway_codes.LONGEST, blank=True, default="", db_default=""
    )
    gateway_recommendation = models.CharField(max_length=16, blank=True)
    # Its own identifier, sent with later orders. Never shown: `acquirer_transaction_id` is.
    acquirer_reference = models.CharField(max_length=64, blank=True, default="", db_default="")
    acquirer_transaction_id = models.CharField(max_length=64, blank=True)
    # What the provider charged us for it, in minor units: a cost of ours, never the merchant's fee. Null: it didn't say.
    rail_cost = models.BigIntegerField(null=True, blank=True)
    authorization_code = models.CharField(max_length=6, blank=True)
    merchant_descriptor = models.CharField(max_length=22, blank=True)

    # Its moments. Queries are of what a rail was asked, `expires_at` of card payments.
    next_query_at = models.DateTimeField(null=True)  # while awaiting the rail
    query_leased_until = models.DateTimeField(null=True)  # one process asks the rail until then
    queries_made = models.PositiveSmallIntegerField(default=0)
    # Payouts: when a query was last allowed to send it again. Null: it was sent once, at `first_sent_at`.
    sent_at = models.DateTimeField(null=True)
    # Payouts that waited for approval or for the business's server: when they could first be sent.
    released_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)  # while awaiting payer or capture
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    objects = TransactionQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "reference"], name="one_transaction_per_reference"),
            models.CheckConstraint(
                condition=Q(amount__gt=0) | Q(amount=0, request_type="card_check"), name="amount_is_positive"
            ),
            TriggeredCheck(
                condition=Q(fee_tax=0)
                | Q(fee_tax__gt=0, status="success", request_type__in=["payment", "payout"]),
                name="only_fees_of_successes_are_taxed",
            ),
            TriggeredCheck(
                condition=Q(stamp_duty=0) | Q(stamp_duty__gt=0, status="success", request_type="payout"),
                name="only_successful_payouts_pay_stamp_duty",
            ),
            TriggeredCheck(
                condition=Q(purpose="")
                | Q(purpose__in=["salary", "supplier", "other"], request_type="payout"),
                name="only_payouts_have_a_purpose",
            ),
            models.CheckConstraint(
                condition=Q(amount_captured__gte=0, amount_captured__lte=F("amount")),
                name="captured_within_authorised",
            ),
            TriggeredCheck(
                condition=Q(
                    amount_refunded__gte=0,
                    amount_being_refunded__gte=0,
                    amount_refunded__lte=COLLECTED - F("amount_being_refunded"),
                ),
                name="refunded_within_collected",
            ),
            TriggeredCheck(
                condition=Q(amount_returned=0)
                | Q(
                    request_type="payout",
                    status="success",
                    amount_returned__gt=0,
                    amount_returned__lte=F("amount"),
                ),
                name="returned_within_successful_payouts",
            ),
            TriggeredCheck(
                condition=Q(amount_disputed=0)
                | Q(amount_disputed__gt=0, request_type="payment", method="card", status="success"),
                name="only_card_payments_are_disputed",
            ),
            TriggeredCheck(
                condition=Q(refund_status="none", amount_refunded=0)
                | Q(
                    refund_status="partially_refunded",
                    amount_refunded__gt=0,
                    amount_refunded__lt=COLLECTED,
                )
                | Q(refund_status="refunded", amount_refunded__gt=0, amount_refunded=COLLECTED)
                | Q(refund_status="refund_failed", amount_refunded__lt=COLLECTED),
                name="refund_status_follows_amounts",
            ),
            TriggeredCheck(
                condition=Q(status="pending", finished_at__isnull=True)
                | Q(status__in=["success", "failed"], finished_at__isnull=False, awaiting=""),
                name="only_finished_transactions_have_finished_at",
            ),
            TriggeredCheck(
                condition=~Q(status="pending")
                | Q(awaiting__in=["rail", "reversal", "payer", "transfer", "capture"])
                | Q(awaiting__in=["approval", "server"], request_type="payout"),
                name="pending_transactions_await_something",
            ),
            models.CheckConstraint(
                condition=Q(status="success") | Q(amount_captured=0), name="only_success_captures"
            ),
            TriggeredCheck(
                condition=Q(settle_status="")
                | Q(
                    settle_status__in=["initiated", "pending", "rejected", "approved", "released"],
                    status="success",
                    request_type="payment",
                ),
                name="only_successful_payments_settle",
            ),
            models.CheckConstraint(
                condition=Q(card_number_mismatches__lt=MOST_CARD_NUMBER_MISMATCHES)
                | Q(card_number_mismatches=MOST_CARD_NUMBER_MISMATCHES, card_number_hash=""),
                name="card_number_hash_is_erased_at_the_bound",
            ),
            models.CheckConstraint(
                condition=Q(method="virtual_account", session__isnull=False)
                | ~Q(method="virtual_account") & Q(session__isnull=True),
                name="virtual_account_payments_have_sessions",
            ),
            models.UniqueConstraint(
                fields=["checkout"],
                condition=Q(checkout__isnull=False) & ~Q(status="failed"),
                name="one_live_attempt_per_checkout",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["business", "-id"], name="transactions_newest_first"),
            models.Index(
                fields=["payment_link", "-id"],
                condition=Q(payment_link__isnull=False),
                name="transactions_of_link",
            ),
            models.Index(
                fields=["business", "-id"],
                condition=Q(payment_link__isnull=False),
                name="transactions_of_links",
            ),
            models.Index(
                fields=["checkout", "id"],
                condition=Q(checkout__isnull=False),
                name="transactions_of_checkout",
            ),
            # The dashboard's lists, and what people search for in them.
            models.Index(fields=["business", "request_type", "-id"], name="transactions_by_type"),
            models.Index(fields=["business", "request_type", "status", "-id"], name="transactions_by_status"),
            models.Index(
                fields=["business", "card_last4", "-id"],
                condition=~Q(card_last4=""),
                name="transactions_by_last4",
            ),
            models.Index(
                fields=["business", "system_trace_audit_number"],
                condition=~Q(system_trace_audit_number=""),
                name="transactions_by_stan",
            ),
            models.Index(
                F("business"),
                Upper("customer_email"),
                F("id").desc(),
                condition=~Q(customer_email=""),
                name="transactions_by_email",
            ),
            # For files of disputes, which may name a payment by its acquirer's identifier only.
            models.Index(
                fields=["acquirer_transaction_id"],
                condition=Q(method="card", request_type="payment", status="success")
                & ~Q(acquirer_transaction_id=""),
                name="transactions_by_acquirer_id",
            ),
            # For support, who know an account number but not the business.
            models.Index(
                fields=["account_number"],
                condition=~Q(account_number=""),
                name="transactions_by_account",
            ),
            models.Index(
                fields=["next_query_at"],
                condition=Q(awaiting__in=["rail", "reversal"]),
                name="transactions_unanswered",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(awaiting__in=["payer", "capture"]),
                name="transactions_overdue",
            ),
            models.Index(
                fields=["created_at"], condition=HAS_CARD_NUMBER_HASH, name="transactions_card_number_hash"
            ),
            models.Index(
                fields=["business", "currency", "finished_at"],
                condition=Q(status="success", request_type="payment", settle_status__in=["", "rejected"]),
                name="transactions_unsettled",
            ),
            # Payouts that came back, for the dashboard's list.
            models.Index(
                fields=["business", "-id"],
                condition=Q(amount_returned__gt=0),
                name="transactions_returned",
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def is_pending(self) -> bool:
        return self.status == self.Status.PENDING

    @property
    def is_card_payment(self) -> bool:
        return self.method == self.Method.CARD and self.request_type == self.RequestType.PAYMENT

    @property
    def has_unknown_card(self) -> bool:
        """Return whether the payer enters the card on the provider's page, and has not paid there yet."""
        return self.is_card_payment and not self.card_last4

    @property
    def is_card_check(self) -> bool:
        return self.request_type == self.RequestType.CARD_CHECK

    @property
    def is_transfer_payment(self) -> bool:
        return self.method == self.Method.VIRTUAL_ACCOUNT

    @property
    def first_sent_at(self) -> datetime:
        """Return when an order was first sent, or could have been."""
        return self.released_at or self.created_at

    @property
    def full_gateway_code(self) -> str:
        """Return the gateway's code, whichever column it is in."""
        return self.gateway_code or self.long_gateway_code

    @property
    def shown_redirect_url(self) -> str:
        """Return the merchant's redirect_url. That of a payment of a link is its payer's credential: never shown."""
        return "" if self.payment_link_id else self.redirect_url

    @property
    def outcome_text(self) -> str:
        """Return the summary for pages. The API's has minor units where it mentions amounts."""
        if not self.is_transfer_payment or self.session is None or self.session.amount_received is None:
            is_payout = self.request_type == self.RequestType.PAYOUT
            return outcome_name(self.response_summary, subject="Payout" if is_payout else "Payment")
        received = self.session.amount_received
        if self.response_code == MISMATCH_CODE:
            expected = money(self.session.expected_amount, self.currency)
            return f"Received {money(received, self.currency)} instead of {expected}"
        named = transfer_received(amount=received, currency=self.currency, sender="").summary
        if self.response_summary.startswith(named):
            sender = self.response_summary.removeprefix(named)
            return f"{money(received, self.currency)} received from {sender}"
        return self.response_summary

    @property
    def reason_text(self) -> str:
        """Return why it failed: in the words of the bank that refused a payout, if its code has any."""
        is_payout = self.request_type == self.RequestType.PAYOUT
        return (reason_of(self.gateway_code) if is_payout else "") or self.outcome_text

    @property
    def mismatch_text(self) -> str:
        """Return how much too much or too little a transfer was that didn't match; empty if there was none."""
        if (
            self.response_code != MISMATCH_CODE
            or self.session is None
            or self.session.amount_received is None
        ):
            return ""
        difference = self.session.amount_received - self.session.expected_amount
        if not difference:
            return ""  # of another currency
        return f"{money(abs(difference), self.currency)} too {'much' if difference > 0 else 'little'}"

    @property
    def payer_name(self) -> str:
        """Return who paid: the customer, or the sender of the transfer; empty if unknown. Lists join `session__transfer`."""
        if self.customer_name or self.customer_email:
            return self.customer_name or self.customer_email
        transfer = getattr(self.session, "transfer", None)
        return str(transfer.sender.get("name", "")) if transfer is not None else ""

    @property
    def bank_name(self) -> str:
        """Return the name of the bank that a payout goes to, or an empty string."""
        return banks.name_of(self.bank_code)

    @property
    def charge(self) -> Charge:
        """Return what it cost the merchant. Nothing until it has succeeded."""
        return Charge(self.fee, self.fee_tax, self.stamp_duty)

    @property
    def amount_collected(self) -> int:
        """Return the amount received: the captured amount of a card payment, the full amount of a transfer."""
        if self.is_transfer_payment and self.status == self.Status.SUCCESS:
            return self.amount
        return self.amount_captured

    @property
    def amount_refundable(self) -> int:
        """Return the amount that can still be refunded. Pending refunds and disputed money are deducted."""
        return max(0, self.amount_not_refunded - self.amount_disputed)

    @property
    def amount_not_refunded(self) -> int:
        """Return the collected amount less refunds, pending ones too. Part of it may be disputed."""
        return self.amount_collected - self.amount_refunded - self.amount_being_refunded

    @property
    def refused_operation(self) -> CardOperation | None:
        """Return the last capture or void, if the acquirer has declined it. Reads the operations."""
        tried = [each for each in self.operations.all() if each.kind != each.Kind.REFUND]
        last = max(tried, key=attrgetter("pk"), default=None)
        return last if last is not None and last.status == last.Status.FAILED else None

    def await_payer(
        self, answer: RailAnswer, *, until: datetime, cause: Transition.Cause, now: datetime
    ) -> None:
        """Wait for what the acquirer asks of the payer, such as a 3-D Secure challenge."""
        self._store_identifiers(answer)
        self._await(self.Awaiting.PAYER, expires_at=until, also=IDENTIFIERS, cause=cause, now=now)

    def await_rail(
        self, *, query_at: datetime, cause: Transition.Cause, now: datetime, is_leased: bool = True
    ) -> None:
        """Wait for the answer of the rail. If it is lost, the rail is queried at `query_at`.

        Without a lease, it may be queried at once.
        """
        self.query_leased_until = query_at if is_leased else None
        self._await(
            self.Awaiting.RAIL, next_query_at=query_at, also=("query_leased_until",), cause=cause, now=now
        )

    def release(self, *, query_at: datetime, cause: Transition.Cause, now: datetime) -> None:
        """Let a payout be sent that waited. This process sends it; another one queries it from `query_at`."""
        self.released_at = now
        self.query_leased_until = query_at
        also = ("released_at", "query_leased_until")
        self._await(self.Awaiting.RAIL, next_query_at=query_at, also=also, cause=cause, now=now)

    def await_server(self, *, cause: Transition.Cause, now: datetime) -> None:
        """Wait for the business's server to let an approved payout be sent."""
        self._await(self.Awaiting.SERVER, cause=cause, now=now)

    def await_reversal(
        self,
        *,
        query_at: datetime,
        cause: Transition.Cause,
        now: datetime,
        partial_approval: RailAnswer | None = None,
    ) -> None:
        """Wait for the reversal of an order whose outcome is unknown, or which was approved in part.

        From now on it can only be reversed. `partial_approval` is the acquirer's answer, if it approved a part.

        :raises AlreadyTransitioned: its answer has arrived in the meantime
        """
        also: tuple[str, ...] = ()
        if partial_approval is not None:
            self.gateway_code = PARTLY_APPROVED.gateway_code
            self._store_identifiers(partial_approval)
            self.query_leased_until = None  # of the request that received the answer
            also = ("gateway_code", "query_leased_until", *IDENTIFIERS)
        self._await(self.Awaiting.REVERSAL, next_query_at=query_at, also=also, cause=cause, now=now)

    @property
    def is_partly_approved(self) -> bool:
        """Return whether the acquirer approved a smaller amount, which is or was reversed."""
        return self.gateway_code == PARTLY_APPROVED.gateway_code

    @property
    def reversed_outcome(self) -> Outcome:
        """Return the outcome of a transaction whose reversal was confirmed."""
        return PARTLY_APPROVED if self.is_partly_approved else REVERSED

    def authorise(
        self, answer: RailAnswer, *, until: datetime, cause: Transition.Cause, now: datetime
    ) -> None:
        """Store the authorisation, and wait for its capture until it expires."""
        self._store_answer(answer)
        self._await(self.Awaiting.CAPTURE, expires_at=until, also=RAIL_FIELDS, cause=cause, now=now)

    def set_outcome(
        self,
        outcome: Outcome,
        *,
        cause: Transition.Cause,
        now: datetime,
        captured: int = 0,
        charge: Charge = NO_CHARGE,
        answer: RailAnswer | None = None,
    ) -> Transition:
        """Set the final status and its fields, without saving. Return the transition to save with them.

        `captured` is in minor units. `OUTCOME_FIELDS` are the columns to save.
        """
        before = self.status
        if answer is not None:
            self._store_answer(answer)
        self.status = self.Status.SUCCESS if outcome.is_success else self.Status.FAILED
        self.awaiting = self.Awaiting.NOTHING
        self.response_code, self.response_summary = outcome.code, outcome.summary
        # A void or expiry has no gateway code, and the approval of the authorisation must not stay on a failed payment.
        self.gateway_code, self.long_gateway_code = gateway_codes.columns_of(outcome.gateway_code)
        self.gateway_recommendation = outcome.advice
        self.amount_captured = captured
        self.fee, self.fee_tax, self.stamp_duty = charge.fee, charge.tax, charge.stamp_duty
        self.next_query_at = self.expires_at = None
        self.finished_at = now
        return self._transition("status", before, self.status, cause=cause, now=now)

    def schedule_next_query(self, *, query_at: datetime, queries_made: int) -> None:
        """Schedule the next query of an unknown outcome, and release the lease."""
        self.next_query_at, self.query_leased_until = query_at, None
        self.queries_made = queries_made
        self.save(update_fields=["next_query_at", "query_leased_until", "queries_made"])

    def fail(self, outcome: Outcome, *, cause: Transition.Cause, now: datetime) -> Transition:
        """Set a failed outcome, without saving. Return the transition to save with it (`fail_all`)."""
        before, self.status = self.status, self.Status.FAILED
        self.awaiting = self.Awaiting.NOTHING
        self.response_code, self.response_summary = outcome.code, outcome.summary
        self.finished_at = now
        return self._transition("status", before, self.status, cause=cause, now=now)

    def keep_identifiers(self, answer: RailAnswer) -> None:
        """Store the identifiers of an answer that leaves the outcome unknown, if they are new."""
        before = (self.acquirer_reference, self.retrieval_reference_number)
        self._store_identifiers(answer)
        if (self.acquirer_reference, self.retrieval_reference_number) != before:
            self.save(update_fields=IDENTIFIERS)

    def reserve_refund(self, amount: int) -> None:
        self.amount_being_refunded += amount
        self.save(update_fields=["amount_being_refunded"])

    def finish_refund(self, amount: int, *, succeeded: bool, cause: Transition.Cause, now: datetime) -> None:
        """Apply the outcome of a refund: count it as refunded, or release the reserved amount."""
        before = self.refund_status
        self.amount_being_refunded -= amount
        if succeeded:
            self.amount_refunded += amount
            everything = self.amount_refunded == self.amount_collected
            self.refund_status = (
                self.RefundStatus.REFUNDED if everything else self.RefundStatus.PARTIALLY_REFUNDED
            )
        else:
            self.refund_status = self.RefundStatus.REFUND_FAILED
        self.save(update_fields=["amount_being_refunded", "amount_refunded", "refund_status"])
        insert(self._transition("refund_status", before, self.refund_status, cause=cause, now=now))

    def count_card_number_mismatch(self) -> bool:
        """Count a request with a different card number. Return whether it was the last one to be compared."""
        self.card_number_mismatches += 1
        is_last = self.card_number_mismatches >= MOST_CARD_NUMBER_MISMATCHES
        if is_last:
            self._clear_card_number_hashes()
        self.save(update_fields=["card_number_mismatches", "card_number_hash", "fingerprint"])
        return is_last

    def erase_card_number_hash(self) -> None:
        """Erase the hashes that cover the card number. Later requests are no longer compared with it."""
        self._clear_card_number_hashes()
        self.save(update_fields=["card_number_hash", "fingerprint"])

    def _clear_card_number_hashes(self) -> None:
        self.card_number_hash = ""
        if self.method == self.Method.CARD:
            self.fingerprint = ""

    def count_dispute(self) -> None:
        """Count a new dispute. The caller holds the lock."""
        self.disputes_count += 1
        self.save(update_fields=["disputes_count"])

    def add_disputed(self, amount: int) -> None:
        """Add to the amount that can't be refunded because of disputes; negative: less. The caller holds its lock."""
        self.amount_disputed += amount
        self.save(update_fields=["amount_disputed"])

    def add_return(self, amount: int) -> None:
        """Add to the amount that the bank has returned of a successful payout. The caller holds its lock."""
        self.amount_returned += amount
        self.save(update_fields=["amount_returned"])

    def _await(
        self,
        whom: Awaiting,
        *,
        cause: Transition.Cause,
        now: datetime,
        next_query_at: datetime | None = None,
        expires_at: datetime | None = None,
        also: tuple[str, ...] = (),
    ) -> None:
        before, self.awaiting = self.awaiting, whom
        self.next_query_at, self.expires_at = next_query_at, expires_at
        with database.atomic():
            self.save_transition(("awaiting", "next_query_at", "expires_at", *also), awaited=before)
            insert(self._transition("awaiting", before, whom, cause=cause, now=now))

    def save_transition(self, fields: tuple[str, ...], *, awaited: str) -> None:
        """Save the fields that a transition changed, if `awaiting` is unchanged in the database.

        Every transition changes `awaiting`, and a finished row awaits nothing, so the first writer wins.

        :raises AlreadyTransitioned: another caller was first, and this copy of the row is out of date
        """
        if awaited == self.Awaiting.NOTHING or not update_if_unchanged(
            self, fields, still=("awaiting", awaited)
        ):
            raise AlreadyTransitioned

    def _transition(
        self, attribute: str, before: str, after: str, *, cause: Transition.Cause, now: datetime
    ) -> Transition:
        return Transition(
            transaction=self, attribute=attribute, before=before, after=after, cause=cause, at=now
        )

    def _store_answer(self, answer: RailAnswer) -> None:
        """Set the rail's codes and references of this transaction."""
        self.gateway_code, self.long_gateway_code = gateway_codes.columns_of(answer.outcome.gateway_code)
        self.authorization_code = answer.authorization_code
        self.acquirer_transaction_id = answer.acquirer_transaction_id
        self.merchant_descriptor = answer.merchant_descriptor
        self.rail_cost = answer.cost
        if answer.card is not None and self.has_unknown_card:
            for name, value in asdict(answer.card).items():
                setattr(self, f"card_{name}", value)
        self._store_identifiers(answer)

    def _store_identifiers(self, answer: RailAnswer) -> None:
        """Set the identifiers that later orders are sent with. An answer without them leaves them unchanged."""
        self.acquirer_reference = answer.acquirer_reference or self.acquirer_reference
        if RRN.match(answer.retrieval_reference_number):
            self.retrieval_reference_number = answer.retrieval_reference_number


EXEMPT_FROM_DUTY = (Transaction.Purpose.SALARY,)
SET_LATER = (  # fields that no intent sets
    "card_number_mismatches",
    "refund_status",
    "settle_status",
    "fee",
    "fee_tax",
    "stamp_duty",
    "amount_captured",
    "amount_refunded",
    "amount_being_refunded",
    "amount_returned",
    "amount_disputed",
    "disputes_count",
    "gateway_code",
    "long_gateway_code",
    "gateway_recommendation",
    "acquirer_reference",
    "acquirer_transaction_id",
    "authorization_code",
    "merchant_descriptor",
    "rail_cost",
    "queries_made",
    "sent_at",
    "released_at",
    "finished_at",
)
LINK_FIELDS = ("payment_link", "checkout")  # of payments of a payment link
CARD_FIELDS = ("card_brand", "card_bin", "card_last4", "card_expiry_month", "card_expiry_year")
FAIL_FIELDS = ("status", "awaiting", "response_code", "response_summary", "finished_at")
# What later orders are sent with. An acquirer may return it with any answer.
IDENTIFIERS = ("acquirer_reference", "retrieval_reference_number")
RAIL_FIELDS = (
    "gateway_code",
    "long_gateway_code",
    "authorization_code",
    "acquirer_transaction_id",
    "merchant_descriptor",
    "rail_cost",
    *IDENTIFIERS,
)
OUTCOME_FIELDS = (
    "status",
    "awaiting",
    "response_code",
    "response_summary",
    "gateway_recommendation",
    "amount_captured",
    "fee",
    "fee_tax",
    "stamp_duty",
    "next_query_at",
    "expires_at",
    "finished_at",
    *RAIL_FIELDS,
)


class Transition(models.Model):
    """A change of a transaction's `status`, `refund_status`, `settle_status` or `awaiting`. Append-only."""

    class Cause(models.TextChoices):
        """What caused the transition."""

        RAIL = "rail"  # the rail's answer to the order
        PAYER = "payer"  # the 3-D Secure page
        MERCHANT = "merchant"  # capture, void, cancellation, refund, approval or rejection
        REQUERY = "requery"  # the rail's answer to a query
        EXPIRY = "expiry"  # the time limit has passed
        FUNDING = "funding"  # the wallet balance is too low
        SETTLEMENT = "settlement"  # a transition of its batch
        TRANSFER = "transfer"  # a bank transfer arrived
        STAFF = "staff"  # staff resolved an unknown outcome
        RETURN = "return"  # the bank returned the payout before answering

    transaction = models.ForeignKey(
        Transaction, on_delete=models.PROTECT, related_name="transitions", db_constraint=False
    )
    attribute = models.CharField(max_length=20)
    before = models.CharField(max_length=20, blank=True)
    after = models.CharField(max_length=20, blank=True)
    cause = models.CharField(max_length=10, choices=Cause.choices)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.attribute}: {self.before} → {self.after}"
