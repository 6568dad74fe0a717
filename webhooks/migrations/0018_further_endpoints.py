from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    """Find the businesses with several endpoints."""

    atomic = False  # builds an index while rows are written

    dependencies = [("webhooks", "0017_url_changed_at")]

    operations = [
        AddIndexConcurrently(
            "endpoint",
            models.Index(
                fields=["business"],
                condition=Q(number__gt=0, enabled=True, deleted_at__isnull=True),
                name="further_endpoints",
            ),
        ),
    ]
