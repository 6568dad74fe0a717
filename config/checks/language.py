"""Find wording that docs, comments and messages of this project must not use: part of `make lint`.

The list is short: it keeps the worst from coming back, and doesn't replace reading. `ALTERNATIVES` says what to write.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings

ALTERNATIVES = {
    r"nobody": "no user, no other process; or rephrase",
    r"somebody": "name the user, the operator or the other process",
    r"who(so)?ever": "name the user or the caller, or rephrase",
    r"hears? of": "receives, is notified of",
    r"by hand": "manual, manually",
    r"by itself": "automatic, automatically",
    r"let(s|ting)? go of": "delete, purge, release",
    r"in vain": "without success, times out",
    r"at the door": "waiting for a connection",
    r"out of reach": "unavailable",
}
_PHRASES = {phrase: re.compile(rf"\b{phrase}\b", re.IGNORECASE) for phrase in ALTERNATIVES}
_QUOTATIONS = re.compile(r"“[^”]*”")
_SUFFIXES = {".py", ".md", ".html", ".txt", ".toml", ".yml", ".conf", ".service", ".example", ""}
_OTHERS = {"__pycache__", "node_modules"}  # folders of compiled and of installed files
_FOLDERS = (
    "benchmarks",
    "config",
    "dashboard",
    "docs",
    "kit",
    "ledger",
    "merchants",
    "payments",
    "templates",
    "tests",
    "virtual_accounts",
    "webhooks",
)


def complaints(root: Path | None = None) -> list[str]:
    """Return a line for each phrase found, with its place and what to write instead."""
    folder = root or settings.BASE_DIR
    return [
        f"{path.relative_to(folder)}:{number}: {found!r}: {ALTERNATIVES[phrase]}"
        for path in _files(folder)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        for phrase, found in _found(line)
    ]


def _found(line: str) -> Iterator[tuple[str, str]]:
    """Yield each phrase of a line, with the words that matched. Quotations aren't searched.

    >>> list(_found("Nobody waits")), list(_found("It said “nobody”")), list(_found("Nobodys"))
    ([('nobody', 'Nobody')], [], [])
    """
    plain = _QUOTATIONS.sub("", line)
    for phrase, pattern in _PHRASES.items():
        if found := pattern.search(plain):
            yield phrase, found[0]


def _files(folder: Path) -> Iterable[Path]:
    """Return the files that people write, without this one."""
    top = [path for path in folder.iterdir() if path.is_file() and path.name != ".env"]
    below = [path for name in _FOLDERS for path in (folder / name).rglob("*")]
    return sorted(
        path
        for path in [*top, *below]
        if path.is_file()
        and path.suffix in _SUFFIXES
        and not path.name.endswith(".lock")
        and path.name not in {"language.py", "test_language.py"}
        and not _OTHERS.intersection(path.parts)
    )
