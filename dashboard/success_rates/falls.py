"""Falls of success rates: found on a schedule, and kept until the rate has recovered.

A row is inserted once for each fall, in one statement, and with it the time at which its e-mail is due.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import OuterRef, Q, QuerySet, Subquery

from dashboard.models import FallenRate
from dashboard.success_rates.rates import ENOUGH, Group, rates_of
from kit.db.prepared_statements import insert_if_absent
from kit.time.time_ordered_ids import earliest_id
from merchants.models import Business
from payments.models import Transaction

HOURS = 6  # in which a fall is looked for
FEWEST_FAILED = ENOUGH // 3 + 1  # of the payments of a rate that has fallen by a third
KEPT = timedelta(days=1)  # a fall of which nothing is known any more


def update(*, now: datetime) -> None:
    """Record falls that began, and delete those that ended."""
    for business in _to_check(now=now):
        _update(business, now=now)


def _to_check(*, now: datetime) -> QuerySet[Business]:
    """Return the businesses that may have a fall: those with enough failed payments, or one that is recorded."""
    failed = Transaction.objects.filter(
        business=OuterRef("pk"),
        request_type=Transaction.RequestType.PAYMENT,
        status=Transaction.Status.FAILED,
        id__gte=earliest_id(now - timedelta(hours=HOURS)),
    )
    last_needed = failed.order_by("-id").values("pk")[FEWEST_FAILED - 1 : FEWEST_FAILED]
    fallen = FallenRate.objects.values("business")
    return Business.objects.alias(last_needed=Subquery(last_needed)).filter(
        Q(last_needed__isnull=False) | Q(pk__in=fallen), is_active=True
    )


def _update(business: Business, *, now: datetime) -> None:
    rates = {rate.group: rate for rate in rates_of(business, hours=HOURS, now=now)}
    for fall in FallenRate.objects.filter(business=business):
        rate = rates.get(Group(fall.kind, fall.key))
        is_known = rate is not None and rate.is_known
        if (rate is not None and rate.has_recovered) or (not is_known and fall.began_at < now - KEPT):
            fall.delete()
    for rate in rates.values():
        now_share, past_share = rate.per_mille, rate.past_per_mille
        if rate.has_fallen and now_share is not None and past_share is not None:
            insert_if_absent(
                FallenRate(
                    business=business,
                    kind=rate.group.kind,
                    key=rate.group.key,
                    per_mille=now_share,
                    past_per_mille=past_share,
                    began_at=now,
                    mail_due_at=now,
                )
            )
