from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0015_look_and_support"),
    ]

    operations = [
        migrations.AddField(
            model_name="business",
            name="closing_requested_at",
            field=models.DateTimeField(
                blank=True,
                help_text="An owner asked to close it. Empty again once it is closed.",
                null=True,
            ),
        ),
    ]
