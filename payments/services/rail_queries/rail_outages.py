"""Rails that stopped answering: one early question at a time finds out when they answer again.

Questions about one transaction are asked at growing intervals. After an outage most would wait for minutes or
hours. So the first answer after a silence makes them due at once. What was unknown for hours before the silence
keeps its intervals: it was asked while the rail answered, so the outage isn't its reason. Decision 0044.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction as database
from django.db.models import QuerySet

from kit.db.prepared_statements import insert_if_absent
from payments.models import RailSilence
from payments.services.rail_queries.query_leases import Lane

PROBE_INTERVAL = timedelta(minutes=1)
LONGEST_PROBE_INTERVAL = timedelta(hours=1)
PROBES = 10  # an interval is the silence's age divided by this, between the two above
# What is older than this when a silence begins is not asked early.
BEFORE_SILENCE = timedelta(hours=6)
# A single lost answer is no outage: questions are not brought forward after it.
SHORTEST_OUTAGE = timedelta(seconds=20)
AT_ONCE = 20_000  # rows of one table brought forward; the others keep their intervals


def silences() -> list[RailSilence]:
    """Return the lanes that did not answer the last time."""
    return list(RailSilence.objects.order_by("lane"))


def note_silence(lane: Lane, *, now: datetime) -> None:
    insert_if_absent(RailSilence(lane=str(lane), since=now, probed_at=now))


def may_probe(silence: RailSilence, *, now: datetime) -> bool:
    """Return whether this process may ask a question early. Only one process may, each time."""
    interval = min(max((now - silence.since) / PROBES, PROBE_INTERVAL), LONGEST_PROBE_INTERVAL)
    last = RailSilence.objects.filter(lane=silence.lane, probed_at__lte=now - interval)
    return last.update(probed_at=now) > 0


def asked_early_from(silence: RailSilence) -> datetime:
    """Return the moment of creation from which unknown outcomes may be asked about before they are due."""
    return silence.since - BEFORE_SILENCE


@database.atomic
def end_silence(lane: Lane, *, now: datetime) -> int:
    """The rail has answered: make the questions due that wait. Return how many."""
    silence = RailSilence.objects.select_for_update().filter(lane=str(lane)).first()
    if silence is None:
        return 0
    silence.delete()
    if now - silence.since < SHORTEST_OUTAGE:
        return 0
    created_from = asked_early_from(silence)
    found = [
        questions.filter(created_at__gte=created_from) for questions in (lane.transactions, lane.operations)
    ]
    return sum(_bring_forward(questions, now=now) for questions in found)


def _bring_forward(questions: QuerySet[Any], *, now: datetime) -> int:
    waiting = questions.filter(queries_made__gt=0, next_query_at__gt=now)
    unlocked = waiting.select_for_update(skip_locked=True, of=("self",)).order_by("next_query_at")
    keys = list(unlocked.values_list("pk", flat=True)[:AT_ONCE])
    return int(questions.model._default_manager.filter(pk__in=keys).update(next_query_at=now))
