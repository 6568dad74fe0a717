from itertools import pairwise
from typing import Any

from django.db import migrations, models, transaction
from django.db.models import Count

from kit.db.migration_operations import AddUniqueConstraintConcurrently, RunPostgreSQL

CASE = ("connector", "account", "case_number")


@transaction.atomic
def link_stages(apps: Any, _schema_editor: Any) -> None:
    """Link the stages of each case that got to several payments, each to the one that was stored before it."""
    disputes = apps.get_model("disputes", "Dispute").objects
    firsts = disputes.filter(previous=None)
    for *case, _ in firsts.values_list(*CASE).annotate(Count("id")).filter(id__count__gt=1).order_by():
        stages = list(disputes.filter(**dict(zip(CASE, case, strict=True))).order_by("id"))
        disputes.filter(pk__in=[stage.pk for stage in stages]).update(previous=None)
        for previous, stage in pairwise(stages):
            disputes.filter(pk=stage.pk).update(previous=previous)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("disputes", "0006_answers_sent")]

    operations = [
        # It refuses to link stages. It is created again after the migrations.
        RunPostgreSQL(
            "DROP TRIGGER IF EXISTS disputes_dispute_keeps_id ON disputes_dispute",
            RunPostgreSQL.noop,
            elidable=True,
        ),
        migrations.RunPython(link_stages, migrations.RunPython.noop, elidable=True),
        AddUniqueConstraintConcurrently(
            model_name="dispute",
            constraint=models.UniqueConstraint(
                condition=models.Q(("previous", None)),
                fields=("connector", "account", "case_number"),
                name="one_first_dispute_per_case",
            ),
        ),
    ]
