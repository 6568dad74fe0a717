from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("disputes", "0007_one_first_dispute_per_case"),
    ]

    operations = [
        migrations.AddField(
            model_name="dispute",
            name="network_due_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="disputeevidence",
            name="actor",
            field=models.CharField(blank=True, db_default="", default="", max_length=254),
        ),
    ]
