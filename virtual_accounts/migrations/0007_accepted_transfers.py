from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Record which short transfers were accepted for their payments."""

    dependencies = [("virtual_accounts", "0006_validate_opened_by_providers")]

    operations = [
        migrations.AddField(
            "unappliedmoney", "is_accepted", models.BooleanField(db_default=False, default=False)
        ),
        AddConstraintNotValid(
            "unappliedmoney",
            models.CheckConstraint(
                condition=Q(is_accepted=False) | Q(state="credited"), name="only_credited_money_is_accepted"
            ),
        ),
    ]
