"""Faults that a simulator injects into its next messages.

>>> Mischief.read("delay 0.5")
Mischief(act=<Act.DELAY: 'delay'>, seconds=0.5)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Act(Enum):
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


class NoSuchAct(ValueError):
    """The word is not a fault, or the seconds are not a number."""


@dataclass(frozen=True, slots=True)
class Mischief:
    act: Act
    seconds: float = 0.0

    @classmethod
    def read(cls, text: str) -> Mischief:
        """Parse a fault: a word, optionally followed by seconds.

        :raises NoSuchAct: the text is invalid
        """
        word, _, seconds = text.strip().partition(" ")
        try:
            return cls(Act(word), float(seconds or 0))
        except ValueError:
            raise NoSuchAct(f"{text!r} is not one of {', '.join(act.value for act in Act)}") from None


ANSWER = Mischief(Act.ANSWER)
