"""How a transfer, a refund or an identification goes on: statuses, with the seconds that each lasts.

>>> read("pending 30 success 3600 reversed")
[('pending', 30.0), ('success', 3600.0), ('reversed', None)]
>>> read("pending"), read("pending success")
([('pending', None)], [('pending', 0.0), ('success', None)])
"""

from collections.abc import Callable

from payments.simulators.clock import Schedule

Timeline = list[tuple[str, float | None]]


class UnknownTimeline(ValueError):
    """The text is no timeline, or a status is not possible here."""


def read(text: str, *, statuses: frozenset[str] | None = None) -> Timeline:
    """Parse a timeline. The last status stays until it is changed.

    :raises UnknownTimeline: the text is none
    """
    timeline: Timeline = []
    for word in text.split():
        if word.replace(".", "", 1).isdecimal() and timeline:
            timeline[-1] = (timeline[-1][0], float(word))
        elif statuses is None or word in statuses:
            timeline.append((word, 0.0))
        else:
            raise UnknownTimeline(f"{word!r} is not one of {', '.join(sorted(statuses))}")
    if not timeline:
        raise UnknownTimeline("A timeline starts with a status.")
    timeline[-1] = (timeline[-1][0], None)
    return timeline


def follow(timeline: Timeline, schedule: Schedule, step: Callable[[str], bool]) -> None:
    """Take the first step now and the others when they are due, until one returns False because the record changed otherwise."""
    (status, seconds), *rest = timeline
    if step(status) and rest and seconds is not None:
        schedule.add(seconds, lambda: follow(rest, schedule, step))
