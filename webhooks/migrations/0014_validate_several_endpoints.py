from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0013_several_endpoints")]

    operations = [
        ValidateConstraint("endpoint", name="first_endpoints_are_never_deleted"),
    ]
