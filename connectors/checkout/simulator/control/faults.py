"""Faults of the next calls and webhooks, as words.

>>> CallFault.read("delay 2").seconds, CallFault.read("error_after 502").is_executed
(2.0, True)
>>> CallFault.read("authorise: error 422 currency_invalid").codes
('currency_invalid',)
"""

from collections import deque
from dataclasses import dataclass, replace

from payments.simulators.fault_injection import (
    ANSWER,
    EVERY_KIND,
    OF_PROVIDERS,
    Fault,
    FaultKind,
    UnknownFault,
)

LOST = frozenset(
    {
        FaultKind.SWALLOW,
        FaultKind.LOSE,
        FaultKind.CUT,
        FaultKind.LOSE_AND_CUT,
        FaultKind.HALF,
        FaultKind.GARBAGE,
    }
)
CUTS = frozenset({FaultKind.CUT, FaultKind.LOSE_AND_CUT, FaultKind.HALF})
NOT_EXECUTED = frozenset({FaultKind.LOSE, FaultKind.LOSE_AND_CUT})
OF_TRANSPORT = EVERY_KIND - OF_PROVIDERS - {FaultKind.DRIP, FaultKind.REDIRECT}

WEBHOOK_FAULTS = {
    "send": "no fault",
    "late": "N seconds later",
    "early": "before the answer of the call that causes it",
    "lose": "never",
    "twice": "twice",
    "swap": "after the next one, or after a minute",
    "forged": "followed by one that says the opposite, with a wrong signature",
    "unsigned": "without a signature",
    "no_reference": "without the merchant's reference",
}


@dataclass(frozen=True, slots=True)
class CallFault:
    """What happens to one call."""

    fault: Fault = ANSWER
    operation: str = ""  # only to a call of this operation
    status: int = 0  # an error of Checkout.com's
    codes: tuple[str, ...] = ()
    is_executed: bool = True
    is_twice: bool = False  # executed twice: two payments have the reference
    hidden: float = 0.0  # seconds for which the payment isn't found

    @property
    def seconds(self) -> float:
        return self.fault.seconds

    @classmethod
    def read(cls, text: str) -> "CallFault":
        """Parse a fault: optionally an operation and a colon, a word, and its arguments.

        :raises UnknownFault: the text is invalid
        """
        operation, colon, rest = text.rpartition(":")
        word, *arguments = rest.split() or [""]
        try:
            match word:
                case "error" | "error_after":
                    status, *codes = arguments
                    found = cls(status=int(status), codes=tuple(codes), is_executed=word == "error_after")
                case "hide":
                    found = cls(hidden=float(arguments[0]))
                case "duplicate":
                    found = cls(is_twice=True)
                case _:
                    fault = Fault.read(rest, kinds=OF_TRANSPORT)
                    found = cls(fault, is_executed=fault.kind not in NOT_EXECUTED)
        except (ValueError, IndexError) as problem:
            raise UnknownFault(
                f"{text!r}: {problem}; or: error N [CODE], error_after N, hide N, duplicate"
            ) from None
        return replace(found, operation=operation.strip() if colon else "")


@dataclass(frozen=True, slots=True)
class WebhookFault:
    word: str = "send"
    seconds: float = 0.0

    @classmethod
    def read(cls, text: str) -> "WebhookFault":
        """Parse a fault of a webhook.

        :raises UnknownFault: the text is invalid
        """
        word, _, seconds = text.strip().partition(" ")
        if word not in WEBHOOK_FAULTS:
            raise UnknownFault(f"{text!r} is not one of {', '.join(WEBHOOK_FAULTS)}")
        return cls(word, float(seconds or 0))


class Plan:
    """Faults of the next calls, each used once."""

    def __init__(self) -> None:
        self._faults: deque[CallFault] = deque()

    def add(self, *words: str) -> None:
        self._faults.extend([CallFault.read(word) for word in words])

    def take(self, operation: str) -> CallFault:
        """Remove and return the first fault that an operation can have."""
        for fault in self._faults:
            if fault.operation in {"", operation}:
                self._faults.remove(fault)
                return fault
        return CallFault()

    def __len__(self) -> int:
        return len(self._faults)
