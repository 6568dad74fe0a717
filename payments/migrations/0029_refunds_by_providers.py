from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Let a provider refund a transfer that it received, to an account that only it knows."""

    dependencies = [("payments", "0028_validate_awaiting_of_payouts")]

    operations = [
        migrations.RemoveConstraint("cardoperation", "transfer_refunds_have_destinations"),
        AddConstraintNotValid(
            "cardoperation",
            models.CheckConstraint(
                condition=Q(
                    connector="",
                    destination_name="",
                    destination_account_number="",
                    destination_bank_code="",
                )
                | Q(kind="refund", destination_account_number="", destination_bank_code="")
                & ~Q(connector="")
                & ~Q(destination_name="")
                | Q(kind="refund")
                & ~Q(connector="")
                & ~Q(destination_name="")
                & ~Q(destination_account_number="")
                & ~Q(destination_bank_code=""),
                name="transfer_refunds_have_destinations",
            ),
        ),
    ]
