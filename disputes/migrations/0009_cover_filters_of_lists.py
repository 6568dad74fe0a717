from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently, RemoveIndexConcurrently

# The list of a page counts what its tabs and filters find from these indexes alone.
COVERING = {
    "disputes_newest_filtered": ["business", "-id", "status", "stage", "reason"],
    "disputes_of_status_filtered": ["business", "status", "-id", "stage", "reason"],
    "disputes_of_stage_filtered": ["business", "stage", "-id", "status", "reason"],
}
REPLACED = [
    "disputes_newest_first",
    "disputes_by_status",
    "disputes_by_stage",
    "open_disputes_newest_first",
]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("disputes", "0008_network_deadlines_and_authors")]

    operations = [
        *(
            AddIndexConcurrently(model_name="dispute", index=models.Index(fields=fields, name=name))
            for name, fields in COVERING.items()
        ),
        AddIndexConcurrently(
            model_name="dispute",
            index=models.Index(
                fields=["business", "-id", "status", "stage", "currency", "amount"],
                condition=models.Q(("status__in", ["needs_response", "under_review"])),
                name="open_disputes_with_amounts",
            ),
        ),
        *(RemoveIndexConcurrently(model_name="dispute", name=name) for name in REPLACED),
    ]
