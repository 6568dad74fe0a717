"""Rails that stopped answering: one question a minute finds out when they are back.

Questions about one transaction are asked at growing intervals. After an outage most would wait for minutes or
hours. So the first answer after a silence makes them due at once.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction as database
from django.db.models import QuerySet

from merchants.rows import insert_if_absent
from payments.models import RailSilence
from payments.services.query_leases import Lane

PROBE_INTERVAL = timedelta(minutes=1)
# A single lost answer is no outage: questions are not brought forward after it.
SHORTEST_OUTAGE = timedelta(seconds=20)
AT_ONCE = 20_000  # rows of one table brought forward; the others keep their intervals


def silent_lanes() -> set[str]:
    """Return the names of the lanes that did not answer the last time."""
    return set(RailSilence.objects.values_list("lane", flat=True))


def note_silence(lane: Lane, *, now: datetime) -> None:
    insert_if_absent(RailSilence(lane=str(lane), since=now, probed_at=now))


def may_probe(lane: Lane, *, now: datetime) -> bool:
    """Return whether this process is the one to ask a question early; each time, one process is."""
    last = RailSilence.objects.filter(lane=str(lane), probed_at__lte=now - PROBE_INTERVAL)
    return last.update(probed_at=now) > 0


@database.atomic
def end_silence(lane: Lane, *, now: datetime) -> int:
    """The rail has answered: make the questions due that wait. Return how many."""
    silence = RailSilence.objects.select_for_update().filter(lane=str(lane)).first()
    if silence is None:
        return 0
    silence.delete()
    if now - silence.since < SHORTEST_OUTAGE:
        return 0
    return sum(_bring_forward(questions, now=now) for questions in (lane.transactions, lane.operations))


def _bring_forward(questions: QuerySet[Any], *, now: datetime) -> int:
    waiting = questions.filter(queries_made__gt=0, next_query_at__gt=now)
    unlocked = waiting.select_for_update(skip_locked=True, of=("self",)).order_by("next_query_at")
    keys = list(unlocked.values_list("pk", flat=True)[:AT_ONCE])
    return int(questions.model._default_manager.filter(pk__in=keys).update(next_query_at=now))
