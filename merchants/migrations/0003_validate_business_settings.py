from django.db import migrations

from kit.db.migration_operations import ValidateConstraint


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0002_business_settings"),
    ]

    operations = [
        ValidateConstraint("business", name="time_zone_is_a_name"),
        ValidateConstraint("business", name="accent_color_is_hexadecimal"),
    ]
