from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddIndexConcurrently, ValidateConstraint


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("webhooks", "0007_failed_test_events"),
    ]

    operations = [
        ValidateConstraint(model_name="delivery", name="known_delivery_states"),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                fields=["created_at"],
                condition=Q(state="failed") & ~Q(body=""),
                name="deliveries_failed_tests",
            ),
        ),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                fields=["business", "event", "-created_at"],
                condition=Q(
                    event__in=(
                        "payment.failed",
                        "payment.mismatch",
                        "payout.failed",
                        "refund.success",
                        "refund.failed",
                        "payout.reversed",
                        "unapplied",
                        "released",
                    )
                ),
                name="deliveries_by_rare_event",
            ),
        ),
    ]
