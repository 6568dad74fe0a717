from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Add stamp duty on payouts."""

    dependencies = [
        ("payments", "0054_validate_purpose_of_payouts"),
    ]

    operations = [
        migrations.AddField(
            "tariff",
            "stamp_duty",
            models.PositiveBigIntegerField(
                db_default=0, default=0, help_text="Payouts: a tax of this many minor units; 0 for none."
            ),
        ),
        migrations.AddField(
            "tariff",
            "stamp_duty_from",
            models.PositiveBigIntegerField(
                db_default=0, default=0, help_text="Smaller payouts have no stamp duty, nor have salaries."
            ),
        ),
        migrations.AddField("transaction", "stamp_duty", models.BigIntegerField(db_default=0, default=0)),
        AddConstraintNotValid(
            "tariff",
            models.CheckConstraint(
                condition=Q(stamp_duty=0) | Q(flow="payout"), name="only_payouts_have_stamp_duty"
            ),
        ),
        AddConstraintNotValid(
            "transaction",
            models.CheckConstraint(
                condition=Q(stamp_duty=0) | Q(stamp_duty__gt=0, status="success", request_type="payout"),
                name="only_successful_payouts_pay_stamp_duty",
            ),
        ),
    ]
