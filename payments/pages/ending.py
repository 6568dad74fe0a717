"""The notice that a payer sees when a payment has ended."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ending:
    """A notice with a heading. `tone` is plain, success, warning or danger."""

    tone: str
    heading: str
    text: str
