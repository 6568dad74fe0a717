from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0047_taxes_on_fees")]

    operations = [
        ValidateConstraint("tariff", "tax_basis_points_within_the_whole"),
        ValidateConstraint("transaction", "only_fees_of_successes_are_taxed"),
        ValidateConstraint("settlementbatch", "batch_taxes_are_not_negative"),
        ValidateConstraint("settlementbatch", "batch_adds_up"),
        ValidateConstraint("settlementitem", "only_payments_of_batches_are_taxed"),
    ]
