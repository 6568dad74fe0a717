from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0007_drop_hot_foreign_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="business",
            name="minimum_amounts",
            field=models.JSONField(
                blank=True,
                db_default={},
                default=dict,
                help_text="Smallest payment by currency, in minor units.",
            ),
        ),
    ]
