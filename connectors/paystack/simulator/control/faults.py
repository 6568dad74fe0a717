"""Faults of the next calls: what the caller gets instead of the answer.

A planned fault is a word of `Fault`, optionally for certain calls only: `swallow`, `POST /transfer: cut`.
"""

from collections import deque
from dataclasses import dataclass

from payments.simulators.fault_injection import ANSWER, EVERY_KIND, Fault, FaultKind

WITHOUT_EFFECT = {FaultKind.LOSE, FaultKind.LOSE_AND_CUT, FaultKind.REFUSE, FaultKind.ARRIVE_LATE}
WITHOUT_ANSWER = {
    FaultKind.SWALLOW,
    FaultKind.LOSE,
    FaultKind.ARRIVE_LATE,
    FaultKind.CUT,
    FaultKind.LOSE_AND_CUT,
    FaultKind.HALF,
}
SLOW = {FaultKind.DELAY, FaultKind.DRIP}
HIDDEN_SECONDS = 60.0


class Unanswered(OSError):
    """The call was not answered, or too late."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.kind.value)
        self.kind = fault.kind


@dataclass(frozen=True, slots=True)
class Planned:
    fault: Fault
    method: str = ""
    path: str = ""  # this one, and all below it

    @classmethod
    def read(cls, text: str) -> "Planned":
        """Parse a planned fault.

        :raises UnknownFault: it is none
        """
        where, colon, word = text.rpartition(":")
        if not colon:
            return cls(Fault.read(word, kinds=EVERY_KIND))
        method, _, path = where.partition(" ")
        return cls(Fault.read(word, kinds=EVERY_KIND), method, path)

    def fits(self, method: str, path: str) -> bool:
        return self.method in {"", method} and f"{path}/".startswith(f"{self.path.rstrip('/')}/")


class Plan:
    def __init__(self) -> None:
        self._planned: deque[Planned] = deque()

    def __len__(self) -> int:
        return len(self._planned)

    def extend(self, words: list[str]) -> None:
        self._planned.extend([Planned.read(word) for word in words])

    def take(self, method: str, path: str) -> Fault:
        """Take the first fault that fits a call."""
        for planned in self._planned:
            if planned.fits(method, path):
                self._planned.remove(planned)
                return planned.fault
        return ANSWER
