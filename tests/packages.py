"""Our packages, those of the service."""

from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PACKAGES = frozenset(file.parent.name for file in PROJECT.glob("*/__init__.py"))


def modules() -> Iterator[Path]:
    """Yield every module of the service."""
    for package in sorted(PACKAGES):
        yield from (PROJECT / package).rglob("*.py")
