import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0006_name_of_api_keys"),
    ]

    operations = [
        migrations.AlterField(
            model_name="apirequest",
            name="business",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="merchants.business",
            ),
        ),
        migrations.AlterField(
            model_name="nonce",
            name="api_key",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="merchants.apikey",
            ),
        ),
    ]
