from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("cash", "0004_index_accounts_at_acquirers"),
    ]

    operations = [
        migrations.AlterField(
            "break",
            "ended_by",
            models.CharField(
                blank=True,
                choices=[
                    ("line", "A later line, or a change of what is expected"),
                    ("match", "A match by two people"),
                    ("entry", "A journal by two people"),
                ],
                max_length=5,
            ),
        ),
    ]
