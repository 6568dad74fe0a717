"""What an examination of a connector finds: harmless calls of the provider, and what is wrong in its dashboard."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding about a connector's account, with advice if something is wrong."""

    check: str
    said: str
    advice: str = ""
    is_broken: bool = False  # payments or payouts don't work; otherwise, advice is a warning
