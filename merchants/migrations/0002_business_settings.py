import kit.colours
import kit.time.time_zones
from django.db import migrations, models
from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="business",
            name="accent_color",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The background of buttons on payers' pages; Sluice's colour where empty.",
                max_length=7,
                validators=[kit.colours.validate_ground],
                verbose_name="accent colour",
            ),
        ),
        migrations.AddField(
            model_name="business",
            name="time_zone",
            field=models.CharField(
                db_default="Africa/Lagos",
                default="Africa/Lagos",
                help_text="Times, days and charts of the dashboard are shown in it.",
                max_length=64,
                validators=[kit.time.time_zones.validate],
            ),
        ),
        AddConstraintNotValid(
            model_name="business",
            constraint=models.CheckConstraint(
                condition=models.Q(("time_zone__regex", "^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$")),
                name="time_zone_is_a_name",
            ),
        ),
        AddConstraintNotValid(
            model_name="business",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("accent_color", ""), ("accent_color__regex", "^#[0-9a-f]{6}$"), _connector="OR"
                ),
                name="accent_color_is_hexadecimal",
            ),
        ),
    ]
