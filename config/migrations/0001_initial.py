from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    # A database that has all of these goes on as it is. Remove this list one release after 0.1.0.
    replaces = [
        ("config", "0001_heartbeats"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("name", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
            ],
        ),
    ]
