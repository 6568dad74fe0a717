"""What a payer reads once there is nothing left to do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ending:
    """A notice in one of the tones plain, success, warning or danger, under a heading."""

    tone: str
    heading: str
    text: str
