from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="transaction",
            name="challenge_preference",
            field=models.CharField(blank=True, max_length=20),
        ),
    ]
