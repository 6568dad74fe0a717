from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0005_index_of_request_objects"),
    ]

    operations = [
        migrations.AlterModelOptions(name="apikey", options={"verbose_name": "API key"}),
    ]
