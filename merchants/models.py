"""Businesses, users, members, API keys, nonces, the request log and the audit trail."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import models
from django.db.models.functions import Lower

from kit import colours
from kit.db.card_number_fields import (
    CheckedEmailField,
    CheckedURLField,
    FreeTextField,
    FreeTextJSONField,
    TargetField,
)
from kit.db.encrypted_field import EncryptedTextField
from kit.files import file_types
from kit.money.money import has_minor_unit
from kit.text.email_addresses import canonical
from kit.text.phone_numbers import validate_phone_number
from kit.time import time_zones


def default_currencies() -> list[str]:
    return list(settings.DEFAULT_CURRENCIES)


class Logo(models.Model):
    """The image of a business on payers' pages. A new image is a new row, so what an address shows never changes."""

    class MediaType(models.TextChoices):
        PNG = file_types.PNG.media_type
        JPEG = file_types.JPEG.media_type

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    media_type = models.CharField(max_length=10, choices=MediaType.choices)
    content = models.BinaryField(max_length=100 * 1024)

    def __str__(self) -> str:
        return str(self.pk)


class Business(models.Model):
    """A merchant, who signs requests, receives payments and makes payouts."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = FreeTextField(max_length=200)
    descriptor = FreeTextField(
        max_length=22, blank=True, help_text="Shown on the cardholder's statement; the name where empty."
    )
    currencies = models.JSONField(default=default_currencies, help_text="ISO 4217 codes it may charge in.")
    is_active = models.BooleanField(default=True, help_text="An inactive business's keys are unknown keys.")
    keys_decide_unapplied = models.BooleanField(
        "API keys may decide about unapplied transfers",
        default=False,
        db_default=False,
        help_text="Keys with full access may then credit unapplied transfers to the wallet, or return them.",
    )
    keys_change_webhooks = models.BooleanField(
        "API keys may change webhook URLs",
        default=True,
        db_default=True,
        help_text="Keys with full access may then add webhook endpoints and change their URLs.",
    )
    provider_may_decide_three_ds = models.BooleanField(
        "The payment provider may decide about 3-D Secure",
        default=False,
        db_default=False,
        help_text="Where 3-D Secure can't be requested, payments that ask for it are then accepted.",
    )
    minimum_amounts = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="Smallest payment by currency, in minor units.",
    )
    time_zone = models.CharField(
        max_length=64,
        default=time_zones.DEFAULT,
        db_default=time_zones.DEFAULT,
        validators=[time_zones.validate],
        help_text="Times, days and charts of the dashboard are shown in it.",
    )
    accent_color = models.CharField(
        "accent colour",
        max_length=7,
        blank=True,
        default="",
        db_default="",
        validators=[colours.validate_ground],
        help_text="The background of buttons on payers' pages; Sluice's colour where empty.",
    )
    logo = models.ForeignKey(
        Logo, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    support_email = CheckedEmailField(
        blank=True, default="", db_default="", help_text="Where payers ask questions; on payers' pages."
    )
    support_phone = FreeTextField(
        max_length=30, blank=True, default="", db_default="", validators=[validate_phone_number]
    )
    support_url = CheckedURLField(
        "support URL",
        max_length=300,
        blank=True,
        default="",
        db_default="",
        validators=[URLValidator(schemes=["https"], message="Enter an https address.")],
    )
    tax_id = FreeTextField(
        "tax ID",
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="The tax number of the business, on its invoices.",
    )
    billing_address = FreeTextField(
        max_length=500, blank=True, default="", db_default="", help_text="On its invoices."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closing_requested_at = models.DateTimeField(
        null=True, blank=True, help_text="An owner asked to close it. Empty again once it is closed."
    )

    class Meta:
        verbose_name_plural = "businesses"
        indexes: ClassVar = [
            models.Index(
                fields=["closing_requested_at"],
                condition=models.Q(closing_requested_at__isnull=False),
                name="businesses_to_close",
            )
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(time_zone__regex=r"^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$"),
                name="time_zone_is_a_name",
            ),
            models.CheckConstraint(
                condition=models.Q(accent_color="") | models.Q(accent_color__regex=colours.HEXADECIMAL),
                name="accent_color_is_hexadecimal",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse unknown currencies, which would break every page that shows an amount."""
        codes = self.currencies
        if not isinstance(codes, list) or not codes or len({*map(str, codes)}) < len(codes):
            raise ValidationError({"currencies": 'Enter a list of different codes, such as ["NGN", "USD"].'})
        wrong = [str(code) for code in codes if not isinstance(code, str) or not has_minor_unit(code)]
        if wrong:
            raise ValidationError({"currencies": f"Not an ISO 4217 currency: {', '.join(wrong)}."})

    @property
    def is_authenticated(self) -> bool:
        """A business is `request.user` only after its signature was verified."""
        return True

    @property
    def zone(self) -> ZoneInfo:
        return time_zones.zone_of(self.time_zone)

    @property
    def statement_descriptor(self) -> str:
        return (self.descriptor or self.name)[:22]


class UserManager(BaseUserManager):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = User(email=canonical(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def with_email(self, email: str) -> User | None:
        """Return the user with an e-mail address in any spelling."""
        return User.objects.filter(email__iexact=canonical(email)).first() if email else None

    def get_by_natural_key(self, username: str | None) -> User:  # type: ignore[override]
        user: User = User.objects.get(email__iexact=canonical(username or ""))
        return user


class User(AbstractBaseUser, PermissionsMixin):
    """A person who signs in: merchants' members in the dashboard, our staff in the admin."""

    email = CheckedEmailField(unique=True)
    name = FreeTextField(max_length=200, blank=True)
    is_staff = models.BooleanField(default=False, help_text="May enter the admin.")
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(Lower("email"), name="one_user_per_email")]

    def __str__(self) -> str:
        return self.email


class MemberQuerySet(models.QuerySet["Member"]):
    def active(self, business: Business, roles: Collection[str]) -> MemberQuerySet:
        """Return the members of a business with one of these roles whose accounts aren't closed."""
        return self.filter(business=business, role__in=roles, user__is_active=True)

    def addresses(self) -> models.QuerySet[Member, str]:
        """Return the e-mail addresses, in the order in which the members joined."""
        return self.order_by("pk").values_list("user__email", flat=True)


class Member(models.Model):
    """A person's role in a business."""

    class Role(models.TextChoices):
        OWNER = "owner"  # everything, including other members' roles
        DEVELOPER = "developer"  # keys and webhooks
        FINANCE = "finance"  # money, payouts and settlements
        VIEWER = "viewer"  # read-only

    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = MemberQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["business", "user"], name="one_role_per_member"),
            models.CheckConstraint(
                condition=models.Q(role__in=["owner", "developer", "finance", "viewer"]), name="known_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class MutedNotification(models.Model):
    """A kind of e-mail that a member has turned off. `merchants.people.notifications` describes the kinds."""

    class Kind(models.TextChoices):
        DISPUTES = "disputes"
        ENDPOINTS = "endpoints"
        BATCHES = "batches"
        SETTLEMENTS = "settlements"
        RATES = "rates"

    pk = models.CompositePrimaryKey("member_id", "kind")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="muted", db_index=False)
    kind = models.CharField(max_length=20, choices=Kind.choices)

    def __str__(self) -> str:
        return self.kind


class Invitation(models.Model):
    """An invitation of an e-mail address to a business. Its link can be used once."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="invitations")
    email = CheckedEmailField()
    role = models.CharField(max_length=10, choices=Member.Role.choices)
    token_hash = models.CharField(max_length=64, unique=True, help_text="SHA-256 of what the link holds.")
    invited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, help_text="When it was taken, withdrawn or replaced.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["business", "email"],
                condition=models.Q(ended_at__isnull=True),
                name="one_open_invitation_per_email",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} ({self.role})"

    def is_open(self, *, at: datetime) -> bool:
        return self.ended_at is None and self.expires_at > at and self.business.is_active


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self, *, at: datetime) -> ApiKeyQuerySet:
        """Keys that may sign a request at that moment; `ApiKey.is_usable` asks the same of one."""
        unexpired = models.Q(expires_at__isnull=True) | models.Q(expires_at__gt=at)
        return self.filter(unexpired, revoked_at__isnull=True, business__is_active=True)


class ApiKey(models.Model):
    """A key pair: the public id identifies the business, the secret signs requests."""

    class Access(models.TextChoices):
        FULL = "full"  # reads and writes
        READ_ONLY = "read_only"  # GET only: for reporting and support tools

    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="api_keys")
    public_id = models.CharField(max_length=64, unique=True)
    secret = EncryptedTextField()
    name = FreeTextField(max_length=100, blank=True)
    access = models.CharField(max_length=10, choices=Access.choices, default=Access.FULL)
    # Who made the key may not approve its payouts. Empty: a command.
    made_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute.")

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return self.public_id

    def is_usable(self, *, at: datetime) -> bool:
        unexpired = self.expires_at is None or self.expires_at > at
        return unexpired and self.revoked_at is None and self.business.is_active

    @property
    def may_write(self) -> bool:
        return self.access == self.Access.FULL


class Nonce(models.Model):
    """A used nonce. Its row in the database prevents a replay."""

    pk = models.CompositePrimaryKey("api_key_id", "nonce")
    api_key = models.ForeignKey(
        ApiKey, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    nonce = models.CharField(max_length=128)
    used_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.nonce


class LimitSlot(models.Model):
    """One attempt that counts against a limit until it expires, such as a sign-in from an address."""

    pk = models.CompositePrimaryKey("subject", "number")
    subject = models.CharField(max_length=64, help_text="SHA-256 of the limit's name and its subject.")
    number = models.PositiveSmallIntegerField()
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.subject[:8]} {self.number}"


class ApiRequest(models.Model):
    """An API call in the request log of a business, without body, headers and secrets.

    Rows are written in batches after the response and purged after their retention period.
    """

    class ObjectKind(models.TextChoices):
        PAYMENT = "payment"
        PAYOUT = "payout"
        CARD_CHECK = "card_check"
        REFUND = "refund"
        VIRTUAL_ACCOUNT = "virtual_account"
        UNAPPLIED_TRANSFER = "unapplied_transfer"
        SETTLEMENT = "settlement"
        EVENT = "event"
        DISPUTE = "dispute"

    business = models.ForeignKey(
        Business, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    key = models.CharField(max_length=64, help_text="The public id of the key pair.")
    request_id = models.CharField(max_length=128)
    method = models.CharField(max_length=10)
    target = TargetField(max_length=500, help_text="Path and query; card numbers are masked.")
    status = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=40, blank=True, help_text="Of the problem, where there was one.")
    milliseconds = models.PositiveIntegerField()
    address = models.GenericIPAddressField(null=True)
    at = models.DateTimeField()
    # The object that the call made, changed or read; empty if it named none, or several.
    object_kind = models.CharField(
        max_length=18, choices=ObjectKind.choices, blank=True, default="", db_default=""
    )
    object_id = models.UUIDField(null=True)
    reference = FreeTextField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="The object's reference; card numbers are masked.",
    )

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["business", "-id"], name="requests_of_business"),
            models.Index(fields=["business", "request_id"], name="request_by_its_id"),
            models.Index(
                fields=["business", "-id"], condition=models.Q(status__gte=400), name="refused_requests"
            ),
            models.Index(
                fields=["object_id", "id"],
                condition=models.Q(object_id__isnull=False),
                name="requests_of_object",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.target} {self.status}"


class FailedCallCount(models.Model):
    """Number of calls with a key that failed authentication for one reason, within an hour.

    Such calls can come from strangers, so the request log lists only a sample of them. All of them are counted.
    """

    pk = models.CompositePrimaryKey("business_id", "hour", "key", "code")
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    hour = models.DateTimeField(db_index=True, help_text="Start of the hour.")
    key = models.CharField(max_length=64, help_text="The public id of the key pair.")
    code = models.CharField(max_length=40, help_text="Code of the problem.")
    count = models.PositiveBigIntegerField()

    def __str__(self) -> str:
        return f"{self.key} {self.code} {self.count}"


class AuditEntry(models.Model):
    """A change by a person or a command: actor, time, address, values before and after. Never a secret.

    Append-only: the database refuses to change or delete a row.
    """

    business = models.ForeignKey(Business, on_delete=models.PROTECT, null=True, related_name="+")
    actor = models.CharField(max_length=254, help_text="An e-mail address, or the command that acted.")
    action = models.CharField(max_length=64, help_text="What was done, such as api_key.created.")
    target = models.CharField(max_length=100, blank=True)
    address = models.GenericIPAddressField(null=True)
    before = FreeTextJSONField(default=dict)
    after = FreeTextJSONField(default=dict)
    at = models.DateTimeField(db_index=True)

    # Only on entries of `merchants.people.audit_roles.with_roles`.
    member_role: str | None
    is_by_staff: bool

    class Meta:
        verbose_name_plural = "audit entries"
        indexes: ClassVar = [
            models.Index(fields=["business", "-id"], name="entries_of_business"),
            models.Index(fields=["actor", "-id"], name="entries_of_actor"),
            models.Index(fields=["target"], name="entries_by_target"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%-d %b %Y, %H:%M} {self.actor} {self.action}"
