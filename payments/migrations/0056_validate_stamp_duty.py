from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0055_stamp_duty")]

    operations = [
        ValidateConstraint("tariff", "only_payouts_have_stamp_duty"),
        ValidateConstraint("transaction", "only_successful_payouts_pay_stamp_duty"),
    ]
