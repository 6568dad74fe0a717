"""Faults that a simulator injects into its next messages.

>>> Fault.read("delay 0.5")
Fault(kind=<FaultKind.DELAY: 'delay'>, seconds=0.5)
>>> Fault.read("fail 500", kinds=EVERY_KIND).kind
<FaultKind.FAIL: 'fail'>
>>> Fault.read("fail 500")  # not a fault of the acquirer and the bank
Traceback (most recent call last):
payments.simulators.fault_injection.UnknownFault: 'fail 500' is not one of answer, swallow, lose, delay, arrive_late, twice, cut, lose_and_cut, half, garbage, drip, redirect
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum


class FaultKind(Enum):
    ANSWER = "answer"  # execute and answer, without a fault
    SWALLOW = "swallow"  # execute, but never answer
    LOSE = "lose"  # neither execute nor answer
    DELAY = "delay"  # execute at once, answer after some seconds
    ARRIVE_LATE = "arrive_late"  # execute and answer after some seconds
    TWICE = "twice"  # answer twice
    CUT = "cut"  # execute, then close the connection
    LOSE_AND_CUT = "lose_and_cut"  # close the connection without executing
    HALF = "half"  # execute, send half of the answer, close the connection
    GARBAGE = "garbage"  # execute, and send an invalid answer
    DRIP = "drip"  # over HTTP only: send the answer byte by byte, with a pause of some seconds
    REDIRECT = "redirect"  # over HTTP only: redirect the caller
    # Of simulated providers only (`OF_PROVIDERS`). A number that follows is a status or seconds.
    REFUSE = "refuse"  # don't execute, and answer with this status (401, 403, 429, 500, 503)
    FAIL = "fail"  # execute, and answer with this status (500, 502)
    HIDE = "hide"  # execute, but queries don't find the new record for some seconds
    REPEAT = "repeat"  # execute twice, and send the second answer
    WEBHOOK_FIRST = "webhook_first"  # execute, deliver the events, then answer


EVERY_KIND = frozenset(FaultKind)
OF_PROVIDERS = frozenset(
    {FaultKind.REFUSE, FaultKind.FAIL, FaultKind.HIDE, FaultKind.REPEAT, FaultKind.WEBHOOK_FIRST}
)


class UnknownFault(ValueError):
    """The word is not a fault, or the seconds are not a number."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: FaultKind
    seconds: float = 0.0

    @classmethod
    def read(cls, text: str, *, kinds: frozenset[FaultKind] = EVERY_KIND - OF_PROVIDERS) -> Fault:
        """Parse a fault: a word, optionally followed by seconds. `kinds` are those that the simulator has.

        :raises UnknownFault: the text is invalid, or the simulator has no such fault
        """
        word, _, seconds = text.strip().partition(" ")
        with suppress(ValueError):
            fault = cls(FaultKind(word), float(seconds or 0))
            if fault.kind in kinds:
                return fault
        raise UnknownFault(
            f"{text!r} is not one of {', '.join(kind.value for kind in FaultKind if kind in kinds)}"
        )


ANSWER = Fault(FaultKind.ANSWER)
