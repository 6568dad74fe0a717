from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Add what a payout is for."""

    dependencies = [
        ("payments", "0052_holidays_of_nigeria"),
    ]

    operations = [
        migrations.AddField(
            "transaction",
            "purpose",
            models.CharField(
                blank=True,
                choices=[("salary", "Salary"), ("supplier", "Supplier"), ("other", "Other")],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
        AddConstraintNotValid(
            "transaction",
            models.CheckConstraint(
                condition=Q(purpose="")
                | Q(purpose__in=["salary", "supplier", "other"], request_type="payout"),
                name="only_payouts_have_a_purpose",
            ),
        ),
    ]
