"""How disputes for the same reason ended, so that a business sees whether an answer is worth its time."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from dashboard.ui.components.charts import DAY
from disputes.models import Dispute, DisputeQuerySet
from kit.time.time_ordered_ids import earliest_id
from payments.rules.words.dispute_words import FOR_THE_BUSINESS, OPEN, Stage

WITHIN = 365 * DAY


def with_similar(disputes: DisputeQuerySet, *, now: datetime) -> DisputeQuerySet:
    """Count with each dispute those of its business and reason that ended, and those that were won.

    They are counted in the same statement, from an index alone. An inquiry ends without a decision, so none counts.
    """
    similar = Dispute.objects.filter(
        business=OuterRef("business"), reason=OuterRef("reason"), pk__gte=earliest_id(now - WITHIN)
    ).exclude(stage=Stage.INQUIRY)
    return disputes.annotate(
        similar_ended=_number(similar.exclude(status__in=OPEN)),
        similar_won=_number(similar.filter(status__in=FOR_THE_BUSINESS)),
    )


def _number(similar: QuerySet[Dispute]) -> Coalesce:
    counted = similar.order_by().values("business").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted), 0)
