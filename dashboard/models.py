"""Models of the dashboard."""

import uuid
from typing import ClassVar

from django.db import models

from kit.db.card_number_fields import CheckedEmailField, FreeTextField
from merchants.models import Business, Member, User
from payments.models import Transaction


class PasswordResetRequest(models.Model):
    """A request for a password reset link. A worker emails the link and deletes the row.

    The row is written for any address, with or without an account, and holds no secret.
    """

    id = models.BigAutoField(primary_key=True)
    email = CheckedEmailField(max_length=320)  # as it was entered
    requested_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)  # set while a worker emails the link

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=~models.Q(email=""), name="reset_requests_have_an_address")
        ]

    def __str__(self) -> str:
        return f"{self.requested_at:%Y-%m-%d %H:%M:%S}"


class SearchTerm(models.Model):
    """A term that an object of a business is found by. Terms are bytes; `dashboard.search.terms` encodes them.

    The key is the only index: it reads the objects of a term newest first, and the terms of a prefix in order.
    A task writes the rows (`dashboard.search.indexer`), so transactions need no index for the search.
    """

    class Kind(models.IntegerChoices):
        PAYMENT = 1
        PAYOUT = 2
        CARD_CHECK = 3
        REFUND = 4
        UNAPPLIED = 5
        VIRTUAL_ACCOUNT = 6

    pk = models.CompositePrimaryKey("business", "kind", "term", "object_id")
    # Without a constraint: it would be checked ten times for each payment, and businesses are never deleted.
    business = models.ForeignKey(
        Business, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    kind = models.PositiveSmallIntegerField(choices=Kind.choices)
    term = models.BinaryField()
    object_id = models.UUIDField()  # starts with its creation time

    def __str__(self) -> str:
        return f"{self.Kind(self.kind).name.lower()} {self.object_id}"


class SearchPosition(models.Model):
    """How far a table has been read for the search. A reader continues from here after a restart."""

    reader = models.CharField(primary_key=True, max_length=40)
    resume_after = models.CharField(max_length=36)  # the key of a row; all rows up to it are indexed
    read_up_to = models.CharField(max_length=36)  # later rows may have been indexed too, up to this key

    def __str__(self) -> str:
        return self.reader


class Note(models.Model):
    """A note of a member on a payment, payout or card check, for the other members. Append-only."""

    LONGEST = 1000

    id = models.BigAutoField(primary_key=True)
    transaction = models.ForeignKey(Transaction, on_delete=models.PROTECT, related_name="+")
    author = FreeTextField(max_length=254)  # name or email address of the member at that time
    text = FreeTextField(max_length=LONGEST)
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=~models.Q(text=""), name="notes_have_a_text"),
        ]

    def __str__(self) -> str:
        return f"note {self.pk} of {self.transaction_id}"


class SavedView(models.Model):
    """The filters of a list that a member has saved under a name. Only the member sees them."""

    LONGEST_NAME = 60
    LONGEST_QUERY = 2000

    id = models.BigAutoField(primary_key=True)
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="+", db_index=False)
    list = models.CharField(max_length=30)  # such as "payments"
    name = FreeTextField(max_length=LONGEST_NAME)
    query = FreeTextField(max_length=LONGEST_QUERY, blank=True)  # as in the list's address
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["member", "list", "name"], name="one_view_per_name"),
        ]

    def __str__(self) -> str:
        return self.name


class GuestLink(models.Model):
    """A link with which a guest, such as an accountant, reads monthly statements without an account, until it expires."""

    LONGEST_NAME = 100
    MOST_DAYS = 90

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = FreeTextField(max_length=LONGEST_NAME)  # whom it is for, or why
    token_hash = models.CharField(max_length=64, unique=True)  # SHA-256 of what the link holds
    first_month = models.DateField()  # the first day of the first month that it shows
    last_month = models.DateField()
    made_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )  # it ends with their right to share statements
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    opened_at = models.DateTimeField(null=True)  # for the last time
    times_opened = models.PositiveIntegerField(default=0)  # pages and files

    class Meta:
        indexes: ClassVar = [models.Index(fields=["business", "-created_at"], name="guest_links_of_business")]
        constraints: ClassVar = [
            models.CheckConstraint(condition=~models.Q(name=""), name="guest_links_have_a_name"),
            models.CheckConstraint(
                condition=models.Q(last_month__gte=models.F("first_month")), name="guest_links_show_a_month"
            ),
            models.CheckConstraint(
                condition=models.Q(expires_at__gt=models.F("created_at")), name="guest_links_expire"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class FallenRate(models.Model):
    """A success rate of payments that fell, from when it was noticed until it has recovered."""

    class Kind(models.TextChoices):
        METHOD = "method"
        BANK = "bank"  # of the virtual account
        BIN = "bin"

    id = models.BigAutoField(primary_key=True)
    # Without an index of its own: the unique constraint has one.
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=6, choices=Kind.choices)
    key = models.CharField(max_length=16)  # the method, the bank's code, or the first six digits of a card
    per_mille = models.PositiveSmallIntegerField()  # when it was noticed
    past_per_mille = models.PositiveSmallIntegerField()  # in the same hours a week before
    began_at = models.DateTimeField()
    mail_due_at = models.DateTimeField(null=True)  # null once it is sent

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "kind", "key"], name="one_fall_per_rate"),
            models.CheckConstraint(
                condition=models.Q(per_mille__lt=models.F("past_per_mille")), name="falls_are_falls"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def rate(self) -> str:
        return f"{self.per_mille / 10:.1f}%"

    @property
    def past_rate(self) -> str:
        return f"{self.past_per_mille / 10:.1f}%"
