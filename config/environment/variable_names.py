"""Misspelt names of environment variables. They are reported, never refused: `.env` may hold others' variables.

>>> nearest("MAIL_FORM", {"MAIL_FROM", "MAIL_URL"}), nearest("HOME", {"MAIL_FROM"})
('MAIL_FROM', None)
"""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from config.environment.env import PROJECT

SIMILAR = 0.85  # of 1: MAIL_FORM and MAIL_FROM have 0.89
_ASSIGNMENT = re.compile(r"^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=", re.MULTILINE)


def misspelt(*, file: Path = PROJECT / ".env") -> list[str]:
    """Return a sentence for each line of `.env` that is none of our variables, and for each similar name that is set."""
    ours = known()
    if not ours:
        return []
    in_file = set(_ASSIGNMENT.findall(file.read_text(encoding="utf-8"))) if file.is_file() else set()
    unset = {name for name in ours if name not in os.environ and name not in in_file}
    of_file = (_sentence(f".env: {name}", nearest(name, ours)) for name in sorted(in_file - ours))
    similar = ((name, nearest(name, unset)) for name in sorted(set(os.environ) - ours - in_file))
    return [*of_file, *(_sentence(name, near) for name, near in similar if near)]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is most like a name, if it is very like it, or None."""
    return next(iter(get_close_matches(name, candidates, n=1, cutoff=SIMILAR)), None)


@lru_cache(maxsize=1)
def known() -> frozenset[str]:
    """Return the names of all our variables, which `.env.example` describes. Empty if an installation lacks the file."""
    file = PROJECT / ".env.example"
    return frozenset(_ASSIGNMENT.findall(file.read_text(encoding="utf-8"))) if file.is_file() else frozenset()


def _sentence(name: str, near: str | None) -> str:
    return f"{name} is none of Sluice's variables" + (f"; did you mean {near}?" if near else ".")
