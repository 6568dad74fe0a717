"""What a simulator can be told to do to its next messages, one word for each.

>>> Mischief.read("delay 0.5")
Mischief(act=<Act.DELAY: 'delay'>, seconds=0.5)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Act(Enum):
    ANSWER = "answer"  # as it should be
    SWALLOW = "swallow"  # act upon it and never say so
    LOSE = "lose"  # neither act nor answer
    DELAY = "delay"  # act at once, answer after some seconds
    ARRIVE_LATE = "arrive_late"  # act and answer after some seconds
    TWICE = "twice"  # answer two times
    CUT = "cut"  # act, then close the connection
    LOSE_AND_CUT = "lose_and_cut"  # close the connection without having acted
    HALF = "half"  # act, send half of the answer, close the connection
    GARBAGE = "garbage"  # act, and send bytes that are no answer
    DRIP = "drip"  # the bank: answer one byte at a time, with so many seconds in between
    REDIRECT = "redirect"  # the bank: send the caller elsewhere


class NoSuchAct(ValueError):
    """A word that is none of the acts, or seconds that are no number."""


@dataclass(frozen=True, slots=True)
class Mischief:
    act: Act
    seconds: float = 0.0

    @classmethod
    def read(cls, text: str) -> Mischief:
        """Return what a word, and the seconds behind it, stand for.

        :raises NoSuchAct: nothing
        """
        word, _, seconds = text.strip().partition(" ")
        try:
            return cls(Act(word), float(seconds or 0))
        except ValueError:
            raise NoSuchAct(f"{text!r} is none of {', '.join(act.value for act in Act)}") from None


ANSWER = Mischief(Act.ANSWER)
