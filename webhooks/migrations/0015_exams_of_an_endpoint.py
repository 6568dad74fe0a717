from django.db import migrations, models


class Migration(migrations.Migration):
    """Keep which endpoint an exam is of. Those before were of the first one."""

    dependencies = [("webhooks", "0014_validate_several_endpoints")]

    operations = [
        migrations.AddField("exam", "endpoint_number", models.IntegerField(default=0, db_default=0))
    ]
