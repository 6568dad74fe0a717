"""Accounts of ours at banks, acquirers and providers, their statements and the lines of those. Amounts are minor units; money that we receive is positive."""

from datetime import date
from typing import ClassVar

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q

from kit.db.card_number_fields import FreeTextField
from merchants.models import User

LONGEST_TEXT = 500  # characters of a line's text that are kept
LONGEST_CONNECTOR_ACCOUNT = 321  # with the connector's name
# Statements of an account. One that fills a gap is imported after those that follow it.
IN_ORDER = ("last_day", "first_day", "pk")


class BankAccount(models.Model):
    """An account of ours at a bank, or at an acquirer or provider that owes us money and reports it in statements."""

    class Kind(models.TextChoices):
        """Also the kinds of their house accounts in the ledger."""

        BANK = "bank", "Bank account"
        ACQUIRER = "acquirer", "Account at an acquirer"
        PROVIDER = "provider", "Account at a provider"

    id = models.UUIDField(primary_key=True, editable=False)
    name = models.CharField(
        max_length=32,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9-]*\Z", "Use lowercase letters, digits and hyphens.")],
        help_text="Lowercase letters, digits and hyphens, such as gtbank. It can't be changed.",
    )
    kind = models.CharField(
        max_length=8,
        choices=Kind.choices,
        default=Kind.BANK,
        db_default=Kind.BANK,
        help_text="An acquirer or provider with statements of its own, such as of its settlements, has an account of its own.",
    )
    bank = FreeTextField(max_length=80)
    number = models.CharField(
        max_length=34,
        validators=[RegexValidator(r"^[A-Z0-9]{4,34}\Z", "Use 4 to 34 digits and capitals.")],
        help_text="Account number or IBAN, without spaces. Statements that name another account are refused.",
    )
    connector_account = models.CharField(
        max_length=LONGEST_CONNECTOR_ACCOUNT,
        blank=True,
        default="",
        db_default="",
        help_text="Of an account at an acquirer or provider: the connector's account, such as paystack:463433, as pages of "
        "transactions show it.",
    )
    currency = models.CharField(max_length=3)
    # Names of connectors, or `top_ups`. Without any, no line of a statement is expected.
    pays_out = models.JSONField(blank=True, default=list)
    receives = models.JSONField(blank=True, default=list)
    # See `cash.statement_files.csv_files`.
    csv_mapping = models.JSONField("CSV mapping", blank=True, default=dict)
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["number", "currency"], name="one_bank_account_per_number"),
            models.UniqueConstraint(
                fields=["connector_account", "currency"],
                condition=~Q(kind="bank"),
                name="one_account_per_connector_account",
            ),
            models.CheckConstraint(
                condition=Q(kind="bank", connector_account="") | ~Q(kind="bank") & ~Q(connector_account=""),
                name="only_accounts_at_connectors_name_them",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bank} {self.number}"

    @property
    def is_at_bank(self) -> bool:
        return self.kind == self.Kind.BANK

    @property
    def needs_statements(self) -> bool:
        """Return whether only a statement says that nothing happened. Acquirers report the days on which they paid."""
        return self.is_at_bank and bool(self.pays_out or self.receives)

    def closing_before(self, day: date) -> int:
        """Return the closing balance of the last statement before a day, in minor units, or 0 without one."""
        before = self.statements.filter(last_day__lt=day).order_by(*IN_ORDER).last()
        return before.closing if before else 0

    @property
    def house_account(self) -> tuple[str, str]:
        """Return kind and name of its house account in the ledger: `bank:<name>`, or `acquirer:<connector's account>`."""
        return self.kind, self.name if self.is_at_bank else self.connector_account


class Statement(models.Model):
    """A statement of a bank account, whose lines explain its closing balance. Append-only."""

    class Format(models.TextChoices):
        CSV = "csv", "CSV"
        MT940 = "mt940", "MT940"
        CAMT053 = "camt053", "CAMT.053"
        TOLD = "told", "As its provider reports it"

    account = models.ForeignKey(
        BankAccount, on_delete=models.PROTECT, related_name="statements", db_index=False
    )
    format = models.CharField(max_length=7, choices=Format.choices)
    first_day = models.DateField()
    last_day = models.DateField()
    opening = models.BigIntegerField()
    closing = models.BigIntegerField()
    lines_count = models.PositiveIntegerField()
    file_name = FreeTextField(max_length=255)
    file_hash = models.CharField(max_length=64)  # SHA-256 of its bytes
    imported_by = models.CharField(max_length=254)
    imported_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            # The same in any format. Its index also finds the last statement of an account.
            models.UniqueConstraint(
                fields=["account", "last_day", "closing"], name="one_statement_per_closing_balance"
            ),
            models.CheckConstraint(
                condition=Q(first_day__lte=F("last_day")), name="statements_end_after_they_begin"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first_day:%-d %b %Y} to {self.last_day:%-d %b %Y}"


class StatementLine(models.Model):
    """A line of a statement. Append-only."""

    statement = models.ForeignKey(Statement, on_delete=models.PROTECT, related_name="lines", db_index=False)
    number = models.PositiveIntegerField()  # 1, 2, 3 … in its statement
    booked_on = models.DateField()
    amount = models.BigIntegerField()
    order = models.UUIDField(null=True)  # our reference: the id of a transaction, refund or top-up
    reference = FreeTextField(max_length=100, blank=True)  # the bank's
    kind = FreeTextField(max_length=40, blank=True)
    counterparty = FreeTextField(max_length=140, blank=True)
    text = FreeTextField(max_length=LONGEST_TEXT, blank=True)
    open_breaks: list["Break"]  # prefetched

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["statement", "number"], name="one_line_per_number"),
        ]
        indexes: ClassVar = [
            # What acquirers' statements say was paid out to our bank.
            models.Index(fields=["statement"], condition=Q(kind="paid_out"), name="lines_paid_out"),
        ]

    def __str__(self) -> str:
        return f"line {self.number}"


class Match(models.Model):
    """Lines of statements that are what the ledger expected, and the entry that booked them. Append-only."""

    id = models.UUIDField(primary_key=True, editable=False)
    account = models.ForeignKey(BankAccount, on_delete=models.PROTECT, related_name="matches")
    why = models.CharField(max_length=60)  # such as "same reference of the bank"
    reason = FreeTextField(max_length=255, blank=True)  # of two people
    matched_by = models.CharField(max_length=254)
    booking = models.UUIDField()  # the cause of its entry, which several matches share
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "matches"

    def __str__(self) -> str:
        return self.why


class MatchedLine(models.Model):
    """A line of a match. A line is matched once. Append-only."""

    match = models.ForeignKey(Match, on_delete=models.PROTECT, related_name="lines")
    line = models.OneToOneField(StatementLine, on_delete=models.PROTECT, related_name="matched")

    def __str__(self) -> str:
        return str(self.line_id)


class MatchedItem(models.Model):
    """What the ledger expected of a match, such as a payout or card payment. It is matched once. Append-only."""

    match = models.ForeignKey(Match, on_delete=models.PROTECT, related_name="items")
    kind = models.CharField(max_length=16)
    item = models.UUIDField()
    amount = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["item", "kind"], name="items_are_matched_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.item}"


MEANINGS = {
    "missing": "The ledger expects it, and it is on no statement.",
    "unknown": "It is on a statement, and nothing in the ledger explains it.",
    "differs": "It is on a statement and in the ledger, with different amounts.",
    "late": "It was on a statement after the day on which the ledger expected it.",
}


class Break(models.Model):
    """A line without what the ledger expected, an expected item without its line, or both with different amounts."""

    class Kind(models.TextChoices):
        MISSING = "missing", "Missing at the bank"
        UNKNOWN = "unknown", "Unknown at the bank"
        DIFFERS = "differs", "Amount differs"
        LATE = "late", "Late"

        @property
        def meaning(self) -> str:
            return MEANINGS[self]

    class End(models.TextChoices):
        LINE = "line", "A later line, or a change of what is expected"
        MATCH = "match", "A match by two people"
        JOURNAL = "entry", "A journal by two people"  # the column has 5 characters, and keeps them

    account = models.ForeignKey(BankAccount, on_delete=models.PROTECT, related_name="breaks", db_index=False)
    kind = models.CharField(max_length=7, choices=Kind.choices)
    line = models.ForeignKey(
        StatementLine, on_delete=models.PROTECT, null=True, related_name="breaks", db_index=False
    )
    item_kind = models.CharField(max_length=16, blank=True)
    item = models.UUIDField(null=True)
    reference = FreeTextField(max_length=100, blank=True)  # of the line, or the one expected
    bank_amount = models.BigIntegerField()  # 0 without a line
    ledger_amount = models.BigIntegerField()  # 0 without an item
    since = models.DateField()  # the day of the line or item
    owner = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    notes = FreeTextField(max_length=2000, blank=True)
    opened_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=5, choices=End.choices, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["account", "since", "id"], condition=Q(ended_at=None), name="oldest_open_breaks"
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["line"], condition=Q(ended_at=None), name="one_open_break_per_line"
            ),
            models.UniqueConstraint(
                fields=["item", "item_kind"], condition=Q(ended_at=None), name="one_open_break_per_item"
            ),
            models.CheckConstraint(
                condition=Q(kind="unknown", line__isnull=False, item__isnull=True, ledger_amount=0)
                | Q(kind="differs", line__isnull=False, item__isnull=False)
                | Q(kind__in=["missing", "late"], line__isnull=True, item__isnull=False, bank_amount=0),
                name="breaks_have_the_sides_of_their_kind",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, ended_by="") | Q(ended_at__isnull=False) & ~Q(ended_by=""),
                name="ended_breaks_say_how",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.reference or self.item_kind}"

    @property
    def difference(self) -> int:
        """What the bank says less what the ledger says."""
        return self.bank_amount - self.ledger_amount
