"""What a provider's connector does about disputes: it returns cases, and sends the answers to them.

A case is named by the provider's number of it. Every method may raise `AnswerLost`, `RateLimited` or `RailBlocked`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from disputes.services.reports.reports import ReportedCase


class NoSuchCase(Exception):
    """The provider has no such case, or it is about a payment that wasn't made here."""


class UnreadableCase(Exception):
    """A case can't be understood. The message says why, and repeats nothing of it but words of the provider's interface."""


class AnswerRefused(Exception):
    """The provider refuses the answer to a case, so that nothing was sent. The message has its reason, for staff."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case as the provider reports it now."""

    reported: ReportedCase
    # What the merchant conceded, where the provider reports that in place of the disputed amount. Minor units.
    conceded: int | None = None
    # False: the provider tells no disputed amount, and `reported` has the most that it can be.
    tells_amount: bool = True
    # False: the provider's status leaves open whether it has the answer already. Then no answer is sent again.
    is_status_clear: bool = True


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The files that a provider takes with an answer."""

    most: int
    types: Collection[str]  # media types


@dataclass(frozen=True, slots=True)
class File:
    """A file of evidence."""

    kind: str
    name: str
    type: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a business to a case: evidence, or what it concedes. Minor units."""

    dispute: UUID
    case_number: str
    conceded: int | None  # None: it defends itself
    is_fraud: bool
    texts: Sequence[tuple[str, str]] = ()  # kind and text
    lines: Sequence[str]  # all texts, and what we know about the payment
    document: bytes  # a PDF of these lines
    files: Callable[[], Iterator[File]]  # reads one at a time, because all of them may take much memory
    customer_name: str = ""
    customer_email: str = ""
    customer_phone: str = ""


class DisputeRail(Protocol):
    """Disputes at one account of a provider."""

    name: str
    account: str  # as transactions store it
    file_limits: FileLimits
    accepts_parts: bool  # whether a part of a case can be conceded

    def case(self, number: str) -> Case:
        """Return a case.

        :raises NoSuchCase: it isn't there, or isn't ours
        :raises UnreadableCase: it can't be understood
        """

    def open_cases(self) -> list[str]:
        """Return the numbers of the cases that aren't closed there."""

    def prepare(self, answer: Answer) -> Any:
        """Send the evidence of an answer, which may be repeated, and return what `finish` needs of it.

        :raises AnswerRefused: the provider refuses it
        """

    def finish(self, answer: Answer, prepared: Any) -> None:
        """Submit what was prepared, or concede: finally, and once.

        :raises AnswerRefused: the provider refuses it; an earlier call may have succeeded
        """
