from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently, AddUniqueConstraintConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0006_link_payments")]

    operations = [
        AddIndexConcurrently(
            model_name="transaction",
            index=models.Index(
                condition=models.Q(("payment_link__isnull", False)),
                fields=["payment_link", "-id"],
                name="transactions_of_link",
            ),
        ),
        AddIndexConcurrently(
            model_name="transaction",
            index=models.Index(
                condition=models.Q(("payment_link__isnull", False)),
                fields=["business", "-id"],
                name="transactions_of_links",
            ),
        ),
        AddIndexConcurrently(
            model_name="transaction",
            index=models.Index(
                condition=models.Q(("checkout__isnull", False)),
                fields=["checkout", "id"],
                name="transactions_of_checkout",
            ),
        ),
        AddUniqueConstraintConcurrently(
            model_name="transaction",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("checkout__isnull", False), models.Q(("status", "failed"), _negated=True)
                ),
                fields=("checkout",),
                name="one_live_attempt_per_checkout",
            ),
        ),
    ]
