import uuid

from django.conf import settings
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Lower

import kit.db.encrypted_field
import merchants.models


class Migration(migrations.Migration):
    initial = True

    # A database that has all of these goes on as it is. Remove this list one release after 0.1.0.
    replaces = [
        ("merchants", "0002_people_and_requests"),
        ("merchants", "0003_account_search"),
        ("merchants", "0004_keys_decide_unapplied"),
        ("merchants", "0005_limit_slots"),
        ("merchants", "0006_failed_call_counts"),
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Business",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=200)),
                (
                    "descriptor",
                    models.CharField(
                        blank=True,
                        help_text="Shown on the cardholder's statement; the name where empty.",
                        max_length=22,
                    ),
                ),
                (
                    "currencies",
                    models.JSONField(
                        default=merchants.models.default_currencies,
                        help_text="ISO 4217 codes it may charge in.",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True, help_text="An inactive business's keys are unknown keys."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "keys_decide_unapplied",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Keys with full access may then credit unapplied transfers to the wallet, or return them.",
                        verbose_name="API keys may decide about unapplied transfers",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "businesses",
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("is_staff", models.BooleanField(default=False, help_text="May enter the admin.")),
                ("is_active", models.BooleanField(default=True)),
                ("date_joined", models.DateTimeField(auto_now_add=True)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(Lower("email"), name="one_user_per_email")],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "actor",
                    models.CharField(
                        help_text="An e-mail address, or the command that acted.", max_length=254
                    ),
                ),
                (
                    "action",
                    models.CharField(help_text="What was done, such as api_key.created.", max_length=64),
                ),
                ("target", models.CharField(blank=True, max_length=100)),
                ("address", models.GenericIPAddressField(null=True)),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("at", models.DateTimeField(db_index=True)),
                (
                    "business",
                    models.ForeignKey(
                        null=True, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "indexes": [
                    models.Index(fields=["business", "-id"], name="entries_of_business"),
                    models.Index(fields=["actor", "-id"], name="entries_of_actor"),
                    models.Index(fields=["target"], name="entries_by_target"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.CharField(max_length=64, unique=True)),
                ("secret", kit.db.encrypted_field.EncryptedTextField()),
                ("name", models.CharField(blank=True, max_length=100)),
                (
                    "access",
                    models.CharField(
                        choices=[("full", "Full"), ("read_only", "Read Only")], default="full", max_length=10
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, help_text="To the minute.", null=True)),
                (
                    "business",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="api_keys", to="merchants.business"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Member",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("developer", "Developer"),
                            ("finance", "Finance"),
                            ("viewer", "Viewer"),
                        ],
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "business",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="members", to="merchants.business"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="memberships", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("business", "user"), name="one_role_per_member"),
                    models.CheckConstraint(
                        condition=Q(role__in=["owner", "developer", "finance", "viewer"]), name="known_role"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Nonce",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "api_key_id", "nonce", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("nonce", models.CharField(max_length=128)),
                ("used_at", models.DateTimeField(db_index=True)),
                (
                    "api_key",
                    models.ForeignKey(
                        db_index=False, on_delete=models.CASCADE, related_name="+", to="merchants.apikey"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ApiRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(help_text="The public id of the key pair.", max_length=64)),
                ("request_id", models.CharField(max_length=128)),
                ("method", models.CharField(max_length=10)),
                (
                    "target",
                    models.CharField(help_text="Path and query; card numbers are masked.", max_length=500),
                ),
                ("status", models.PositiveSmallIntegerField()),
                (
                    "code",
                    models.CharField(
                        blank=True, help_text="Of the problem, where there was one.", max_length=40
                    ),
                ),
                ("milliseconds", models.PositiveIntegerField()),
                ("address", models.GenericIPAddressField(null=True)),
                ("at", models.DateTimeField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.CASCADE, related_name="+", to="merchants.business"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["business", "-id"], name="requests_of_business"),
                    models.Index(fields=["business", "request_id"], name="request_by_its_id"),
                    models.Index(
                        condition=Q(status__gte=400), fields=["business", "-id"], name="refused_requests"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("developer", "Developer"),
                            ("finance", "Finance"),
                            ("viewer", "Viewer"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "token_hash",
                    models.CharField(help_text="SHA-256 of what the link holds.", max_length=64, unique=True),
                ),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                (
                    "ended_at",
                    models.DateTimeField(help_text="When it was taken, withdrawn or replaced.", null=True),
                ),
                (
                    "business",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="invitations", to="merchants.business"
                    ),
                ),
                (
                    "invited_by",
                    models.ForeignKey(
                        null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(ended_at__isnull=True),
                        fields=("business", "email"),
                        name="one_open_invitation_per_email",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LimitSlot",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "subject", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "subject",
                    models.CharField(help_text="SHA-256 of the limit's name and its subject.", max_length=64),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("expires_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="FailedCallCount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "business_id",
                        "hour",
                        "key",
                        "code",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("hour", models.DateTimeField(db_index=True, help_text="Start of the hour.")),
                ("key", models.CharField(help_text="The public id of the key pair.", max_length=64)),
                ("code", models.CharField(help_text="Code of the problem.", max_length=40)),
                ("count", models.PositiveBigIntegerField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.CASCADE, related_name="+", to="merchants.business"
                    ),
                ),
            ],
        ),
    ]
