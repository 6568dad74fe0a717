from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0021_refunds_of_transfers"),
    ]

    operations = [
        ValidateConstraint(model_name="cardoperation", name="transfer_refunds_have_destinations"),
        ValidateConstraint(model_name="transaction", name="refunded_within_collected"),
        ValidateConstraint(model_name="transaction", name="refund_status_follows_amounts"),
    ]
