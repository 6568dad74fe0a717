"""Misspelt names of environment variables. They are reported, never refused: `.env` may hold others' variables.

>>> nearest("MAIL_FORM", {"MAIL_FROM", "MAIL_URL"}), nearest("HOME", {"MAIL_FROM"})
('MAIL_FROM', None)
"""

import os
import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path

from config.env import PROJECT

EDITS = 2  # at most; one in a short name
SHORT = 6  # letters
_ASSIGNMENT = re.compile(r"^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=", re.MULTILINE)


def misspelt(*, file: Path = PROJECT / ".env") -> list[str]:
    """Return a sentence for each line of `.env` that is none of our variables, and for each similar name that is set."""
    ours = known()
    if not ours:
        return []
    in_file = set(_ASSIGNMENT.findall(file.read_text())) if file.is_file() else set()
    unset = {name for name in ours if name not in os.environ and name not in in_file}
    of_file = (_sentence(f".env: {name}", nearest(name, ours)) for name in sorted(in_file - ours))
    similar = ((name, nearest(name, unset)) for name in sorted(set(os.environ) - ours - in_file))
    return [*of_file, *(_sentence(name, near) for name, near in similar if near)]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate with the fewest edits, if these are few enough, or None."""
    allowed = EDITS if len(name) > SHORT else 1
    near = ((_edits(name, other), other) for other in candidates if abs(len(other) - len(name)) <= allowed)
    edits, found = min(near, default=(EDITS + 1, ""))
    return found if edits <= allowed else None


@lru_cache(maxsize=1)
def known() -> frozenset[str]:
    """Return the names of all our variables, which `.env.example` describes. Empty if an installation lacks the file."""
    file = PROJECT / ".env.example"
    return frozenset(_ASSIGNMENT.findall(file.read_text())) if file.is_file() else frozenset()


def _sentence(name: str, near: str | None) -> str:
    return f"{name} is none of Sluice's variables" + (f"; did you mean {near}?" if near else ".")


def _edits(one: Collection[str], other: Collection[str]) -> int:
    """Return the number of letters to insert, remove, replace or swap with the next one.

    >>> _edits("PROT", "PORT"), _edits("MAIL_URL", "MAIL_URI"), _edits("A", "ABC")
    (1, 1, 2)
    """
    a, b = tuple(one), tuple(other)
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
