from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    """Check older refunds."""

    dependencies = [("payments", "0029_refunds_by_providers")]

    operations = [ValidateConstraint("cardoperation", "transfer_refunds_have_destinations")]
