"""Health of an endpoint: its state, and its attempts of the last 24 hours.

The charts are drawn from the newest deliveries only, so that their cost is bounded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from uuid import UUID

from django.db.models import Q, Value
from django.utils import timezone

from dashboard.ui.components.charts import round_up
from dashboard.ui.components.figures import NO_PAST, Change, change_by, change_of_rate, percent
from kit.money.shares import per_mille
from merchants.models import AuditEntry
from webhooks.endpoints.outages import Outage, outage_of
from webhooks.models import Attempt, Delivery, DeliveryQuerySet, Endpoint

HOURS = 24
NEWEST = 1000  # deliveries counted
HOUR = timedelta(hours=1)
LABEL_EVERY = 4  # hours
BOX = 100  # height of a chart; each hour is 10 wide
MOST_CHANGES = 3
BEFORE = timedelta(days=1)  # before an outage, in which changes of settings are shown
State = Delivery.State
STATE_NAMES = {"off": "Off", "failing": "Failing", "untried": "Not tried yet", "healthy": "Healthy"}
# The delivery of an attempt, its start, its error, and its milliseconds until the response; None without one.
Made = tuple[UUID, datetime, str, float | None]
OPEN_STATES = (State.WAITING, State.HELD, State.DEAD)


@dataclass(frozen=True, slots=True)
class Slot:
    """An hour of a chart: its left edge in percent, and its reading."""

    x: str
    label: str  # on the axis, empty for most hours
    is_minor: bool  # a label that narrow screens leave out
    text: str  # empty if the chart has no readings, or the hour no attempts


@dataclass(frozen=True, slots=True)
class HourChart:
    """Two series over the hours, as the geometry of paths in a box with a height of 100 and 10 for each hour."""

    series: Sequence[str]
    slots: Sequence[Slot]
    top: int
    middle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of an endpoint, and its last 24 hours, hour by hour."""

    outage: Outage | None
    open_counts: dict[str, int]
    attempts: HourChart
    response_time: HourChart
    delivered: int  # attempts
    failed: int  # attempts
    median_ms: float | None  # of the attempts that got a response
    p95_ms: float | None
    is_sample: bool  # there were more deliveries than were counted
    change: Change  # of the rate, since the 24 hours before
    median_change: Change  # likewise
    next_at: datetime | None  # of the next attempt at what is retrying
    stopped_at: datetime | None  # when the newest of the stopped was created

    @property
    def total(self) -> int:
        return self.delivered + self.failed

    @property
    def rate(self) -> str:
        """Return the share of attempts that succeeded: 100% only if none failed."""
        return percent(per_mille(self.delivered, self.total)) if self.total else ""

    @property
    def attempts_name(self) -> str:
        return f"Attempts by hour, last 24 hours: {self.delivered} delivered, {self.failed} failed"

    @property
    def waiting(self) -> int:
        return self.open_counts.get(State.WAITING, 0)

    @property
    def held(self) -> int:
        return self.open_counts.get(State.HELD, 0)

    @property
    def stopped(self) -> int:
        return self.open_counts.get(State.DEAD, 0)


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change of an endpoint's settings that may have caused an outage."""

    what: str
    at: datetime
    actor: str


def changes_before(outage: Outage, endpoint: Endpoint) -> list[SettingsChange]:
    """Return what was changed from a day before an outage until now, newest first."""
    found = AuditEntry.objects.filter(
        business=endpoint.business_id,
        action__in=["webhook.configured", "webhook.key_rotated"],
        target=endpoint.audit_target,
        at__gte=outage.began_at - BEFORE,
    ).order_by("-at")
    return [SettingsChange(_what_changed(each), each.at, each.actor) for each in found[:MOST_CHANGES]]


def _what_changed(entry: AuditEntry) -> str:
    if entry.action == "webhook.key_rotated":
        return "Signing key rotated"
    if not entry.before:
        return "Endpoint created"
    names = {"url": "URL", "subscribed_events": "events", "enabled": "on or off"}
    changed = [name for key, name in names.items() if entry.before.get(key) != entry.after.get(key)]
    return f"Changed: {', '.join(changed)}" if changed else "Settings saved without a change"


def state_of(endpoint: Endpoint, outage: Outage | None) -> tuple[str, str]:
    """Return the state of an endpoint as a code and as pages name it."""
    was_tried = outage is not None or Endpoint.objects.tried().filter(pk=endpoint.pk).exists()
    code = state_code(endpoint, is_failing=outage is not None, was_tried=was_tried)
    return code, STATE_NAMES[code]


def state_code(endpoint: Endpoint, *, is_failing: bool, was_tried: bool) -> str:
    if not endpoint.enabled:
        return "off"
    if is_failing:
        return "failing"
    return "healthy" if was_tried else "untried"


def first_hour(now: datetime) -> datetime:
    """Return the begin of the first of the hours of a chart."""
    return now.replace(minute=0, second=0, microsecond=0) - (HOURS - 1) * HOUR


def hour_of(at: datetime, begin: datetime) -> int:
    return min((at - begin) // HOUR, HOURS - 1)


def health_of(endpoint: Endpoint, *, now: datetime) -> Health:
    begin = first_hour(now)
    mine = Delivery.objects.without_tests().of_endpoint(endpoint)
    counts: Counter[tuple[int, bool]] = Counter()
    times: dict[int, list[float]] = defaultdict(list)
    made, before = _attempts_at(mine, begin)
    for _, started_at, error, response_ms in made:
        hour = hour_of(started_at, begin)
        counts[hour, not error] += 1
        if response_ms is not None:
            times[hour].append(response_ms)
    everything = [each for hour in times.values() for each in hour]
    delivered, failed = ([counts[hour, good] for hour in range(HOURS)] for good in (True, False))
    still_open = list(
        mine.filter(state__in=OPEN_STATES).values_list("state", "next_attempt_at", "created_at")[:NEWEST]
    )
    return Health(
        outage=outage_of(endpoint),
        open_counts=Counter(state for state, *_ in still_open),
        attempts=_attempts(begin, delivered, failed),
        response_time=times_by_hour(begin, times),
        delivered=sum(delivered),
        failed=sum(failed),
        median_ms=median(everything) if everything else None,
        p95_ms=p95(everything) if everything else None,
        is_sample=len({delivery for delivery, *_ in made}) == NEWEST,
        change=change_of_rate(_rate_of(made), _rate_of(before)),
        median_change=_change_of_median(everything, [ms for *_, ms in before if ms is not None]),
        next_at=min((at for state, at, _ in still_open if state == State.WAITING and at), default=None),
        stopped_at=max((at for state, _, at in still_open if state == State.DEAD), default=None),
    )


def _attempts_at(mine: DeliveryQuerySet, begin: datetime) -> tuple[list[Made], list[Made]]:
    """Return the attempts at the newest deliveries since a time, and of the 24 hours before it, in one query."""
    lately, earlier = Q(created_at__gte=begin), Q(created_at__gte=begin - HOURS * HOUR, created_at__lt=begin)
    parts = [
        Attempt.objects.filter(
            delivery__in=mine.filter(created).order_by("-created_at")[:NEWEST].values("pk")
        ).values_list(Value(is_before), "delivery", "started_at", "error", Attempt.RESPONSE_MS)
        for is_before, created in ((False, lately), (True, earlier))
    ]
    made: list[Made] = []
    before: list[Made] = []
    for is_before, *attempt in parts[0].union(parts[1], all=True):
        (before if is_before else made).append(tuple(attempt))
    return made, before


def _rate_of(made: Sequence[Made]) -> int | None:
    return per_mille(sum(not error for _, _, error, _ in made), len(made)) if made else None


def _change_of_median(times: Sequence[float], before: Sequence[float]) -> Change:
    """Compare response times in whole milliseconds. Slower is worse."""
    if not times or not before:
        return NO_PAST
    past = round(median(before))
    change = round(median(times)) - past
    return change_by(change, f"{abs(change)} ms", f"{past} ms", is_more_good=False)


def p95(times: Iterable[float]) -> float:
    """Return the 95th percentile.

    >>> p95(range(1, 101))
    95
    """
    ordered = sorted(times)
    return ordered[max(-(-len(ordered) * 19 // 20) - 1, 0)]


def _attempts(begin: datetime, delivered: Sequence[int], failed: Sequence[int]) -> HourChart:
    pairs = list(zip(delivered, failed, strict=True))
    top = max(round_up(max(map(sum, pairs), default=0)), 2)
    good = "".join(_bar(hour, 0, value, top) for hour, (value, _) in enumerate(pairs))
    bad = "".join(_bar(hour, base, value, top) for hour, (base, value) in enumerate(pairs))
    texts = [
        f"{timezone.localtime(begin + hour * HOUR):%H:00}: {made} delivered, {missed} failed"
        if made or missed
        else ""
        for hour, (made, missed) in enumerate(pairs)
    ]
    return HourChart((good, bad), _slots(begin, texts), top, f"{top / 2:g}")


def _bar(hour: int, base: int, value: int, top: int) -> str:
    """Return a bar that stands on another value.

    >>> _bar(1, 0, 5, 10), _bar(0, 3, 0, 10)
    ('M12 100V50h6V100z', '')
    """
    lower, upper = BOX - base / top * BOX, BOX - (base + value) / top * BOX
    return f"M{hour * 10 + 2} {lower:.3g}V{upper:.3g}h6V{lower:.3g}z" if value else ""


def times_by_hour(begin: datetime, times: dict[int, list[float]]) -> HourChart:
    """Return the median and 95th percentile of the times of each hour."""
    medians, percentiles = _each_hour(times, median), _each_hour(times, p95)
    top = max(round_up(max((value for value in percentiles if value is not None), default=0)), 2)
    slots = _slots(begin, [""] * HOURS)
    return HourChart((_line(medians, top), _line(percentiles, top)), slots, top, f"{top / 2:g}")


def _line(values: _Values, top: int) -> str:
    """Return the points of a line. A value without neighbours is drawn as a short line.

    >>> _line([50, None, 0], 100), _line([None, 100], 100)
    ('5,50 25,100', '13,0 17,0')
    """
    points = [
        (hour * 10 + 5, f"{BOX - value / top * BOX:.3g}")
        for hour, value in enumerate(values)
        if value is not None
    ]
    if len(points) == 1:
        ((x, y),) = points
        points = [(x - 2, y), (x + 2, y)]
    return " ".join(f"{x},{y}" for x, y in points)


def _slots(begin: datetime, texts: Sequence[str]) -> list[Slot]:
    found = []
    for hour, text in enumerate(texts):
        at = timezone.localtime(begin + hour * HOUR)
        is_labelled = at.hour % LABEL_EVERY == 0 and 0 < hour < HOURS - 1
        found.append(
            Slot(
                x=f"{hour * 100 / HOURS:.1f}",
                label=f"{at:%H:00}" if is_labelled else "",
                is_minor=at.hour % (2 * LABEL_EVERY) != 0,
                text=text,
            )
        )
    return found


_Values = Sequence[float | None]
_Figure = Callable[[list[float]], float]


def _each_hour(times: dict[int, list[float]], figure: _Figure) -> _Values:
    return [figure(times[hour]) if times.get(hour) else None for hour in range(HOURS)]
