"""Check that a package is small enough to find a module in it by its name: part of `make lint`."""

from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from kit.text.plurals import counted

MOST = 12  # modules directly in a package, besides `__init__.py`


def complaints(folder: Path = settings.BASE_DIR) -> list[str]:
    """Return the packages of the product with more modules. Migrations are numbered, so any number is clear."""
    return [
        f"{package.relative_to(folder)} has {counted(modules, 'module')}, more than {MOST}. Group what belongs together."
        for start in sorted(folder.glob("*/__init__.py"))
        for package in _packages(start.parent)
        if (modules := len({*package.glob("*.py")} - {package / "__init__.py"})) > MOST
    ]


def _packages(top: Path) -> Iterator[Path]:
    yield top
    yield from sorted(path for path in top.rglob("*") if path.is_dir() and path.name != "migrations")
