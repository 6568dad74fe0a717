import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

from kit.db.card_number_fields import FreeTextField
from kit.db.migration_operations import AddConstraintNotValid, AllowNull

PROVIDER_ACCOUNT = models.CharField(blank=True, db_default="", default="", max_length=100)


class Migration(migrations.Migration):
    """Store which accounts, numbers and sessions a provider has opened, and the questions that it is asked."""

    dependencies = [("virtual_accounts", "0004_assigned_transfers")]

    operations = [
        migrations.AddField("accountnumber", "provider_account", PROVIDER_ACCOUNT),
        migrations.AddField("providermessage", "provider_account", PROVIDER_ACCOUNT),
        migrations.AddField("session", "provider_account", PROVIDER_ACCOUNT),
        migrations.AddField("transfer", "provider_account", PROVIDER_ACCOUNT),
        migrations.AddField("virtualaccount", "provider_account", PROVIDER_ACCOUNT),
        migrations.AddField(
            "providermessage", "subject", FreeTextField(blank=True, db_default="", default="", max_length=100)
        ),
        migrations.AddField(
            "virtualaccount",
            "opening",
            models.CharField(
                blank=True,
                choices=[("", "opened"), ("pending", "Pending"), ("failed", "Failed")],
                db_default="",
                default="",
                max_length=7,
            ),
        ),
        migrations.AlterField("accountnumber", "bank_code", models.CharField(blank=True, max_length=6)),
        migrations.AlterField("virtualaccount", "bank_code", models.CharField(blank=True, max_length=6)),
        AllowNull(
            "providermessage",
            "account",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="messages",
                to="virtual_accounts.virtualaccount",
            ),
        ),
        migrations.AlterField(
            "providermessage",
            "kind",
            models.CharField(
                choices=[
                    ("close", "Close"),
                    ("reopen", "Reopen"),
                    ("open", "Open"),
                    ("lookup", "Lookup"),
                    ("reject", "Reject"),
                ],
                max_length=6,
            ),
        ),
        migrations.RemoveConstraint("session", "session_status_follows_amounts"),
        migrations.RemoveConstraint("virtualaccount", "only_static_accounts_have_numbers"),
        migrations.RemoveConstraint("virtualaccount", "only_inactive_accounts_have_deactivated_at"),
        AddConstraintNotValid(
            "providermessage",
            models.CheckConstraint(
                condition=Q(kind__in=["close", "reopen", "open"], account__isnull=False, subject="")
                | Q(kind__in=["lookup", "reject"], account__isnull=True) & ~Q(subject=""),
                name="messages_have_an_account_or_a_subject",
            ),
        ),
        AddConstraintNotValid(
            "session",
            models.CheckConstraint(
                condition=Q(status="success", amount_received=F("expected_amount"))
                | Q(status="mismatch", amount_received__isnull=False)
                & ~Q(amount_received=F("expected_amount"))
                | Q(status="mismatch", amount_received__isnull=True) & ~Q(provider_account="")
                | Q(status__in=["pending", "expired", "failed"], amount_received__isnull=True),
                name="session_status_follows_amounts",
            ),
        ),
        AddConstraintNotValid(
            "virtualaccount",
            models.CheckConstraint(
                condition=Q(type="static", opening="") & ~Q(account_number="")
                | Q(type="static", opening__in=["pending", "failed"], account_number="", status="inactive")
                | Q(type="dynamic", opening="", account_number=""),
                name="only_static_accounts_have_numbers",
            ),
        ),
        AddConstraintNotValid(
            "virtualaccount",
            models.CheckConstraint(
                condition=Q(status="active", deactivated_at__isnull=True)
                | Q(status="inactive", deactivated_at__isnull=False)
                | Q(status="inactive") & ~Q(opening=""),
                name="only_inactive_accounts_have_deactivated_at",
            ),
        ),
    ]
