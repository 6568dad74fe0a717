import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

from kit.db.migration_operations import AddConstraintNotValid, AllowNull


class Migration(migrations.Migration):
    """Let the sandbox take the first settlement account of a business, which no owner has made."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("payments", "0067_mirror_reserves"),
    ]

    operations = [
        AllowNull(
            "settlementaccountchange",
            "made_by",
            models.ForeignKey(
                settings.AUTH_USER_MODEL,
                on_delete=django.db.models.deletion.PROTECT,
                null=True,
                related_name="+",
                db_index=False,
            ),
        ),
        AddConstraintNotValid(
            "settlementaccountchange",
            models.CheckConstraint(
                condition=Q(made_by__isnull=False) | Q(state="applied"),
                name="waiting_changes_of_accounts_have_makers",
            ),
        ),
        # Its statement says what is so if `made_by` is null.
        migrations.RemoveConstraint("settlementaccountchange", "a_second_owner_confirms_settlement_accounts"),
        AddConstraintNotValid(
            "settlementaccountchange",
            models.CheckConstraint(
                condition=Q(confirmed_by__isnull=True) | ~Q(confirmed_by=F("made_by")),
                name="a_second_owner_confirms_settlement_accounts",
            ),
        ),
    ]
