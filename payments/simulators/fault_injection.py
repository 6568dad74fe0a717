"""Faults that a simulator injects into its next messages.

>>> Fault.read("delay 0.5")
Fault(kind=<FaultKind.DELAY: 'delay'>, seconds=0.5)
"""

from __future__ import annotations

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
    DRIP = "drip"  # bank only: send the answer byte by byte, with a pause of some seconds
    REDIRECT = "redirect"  # bank only: redirect the caller


class UnknownFault(ValueError):
    """The word is not a fault, or the seconds are not a number."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: FaultKind
    seconds: float = 0.0

    @classmethod
    def read(cls, text: str) -> Fault:
        """Parse a fault: a word, optionally followed by seconds.

        :raises UnknownFault: the text is invalid
        """
        word, _, seconds = text.strip().partition(" ")
        try:
            return cls(FaultKind(word), float(seconds or 0))
        except ValueError:
            raise UnknownFault(
                f"{text!r} is not one of {', '.join(kind.value for kind in FaultKind)}"
            ) from None


ANSWER = Fault(FaultKind.ANSWER)
