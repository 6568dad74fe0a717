r"""Output of commands on a terminal: the result first, then warnings in a line. Values can't control the terminal.

>>> escaped("Ada\x1b[8m Books\u202e\n")
'Ada\\x1b[8m Books\\u202e\n'
"""

import re
import sys
from typing import Any, Literal, TextIO

from django.core import checks
from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

# C0 but tab and line feed, DEL and C1, and the characters that change the direction of text (Unicode, UAX 9).
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def escaped(text: str) -> str:
    """Return a text with its control characters as Python writes them."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


# The tag of the system checks of an installation. Those of the code would load all pages before each command, and are left
# to `make lint`, `migrate` and `doctor`.
INSTALLATION = "installation"


class EscapedOutput(OutputWrapper):
    """An output of a command, with control characters escaped on a terminal. Files and programs get the values."""

    def write(self, msg: str = "", *options: Any, **more: Any) -> None:  # type: ignore[override]
        super().write(escaped(str(msg)) if self.isatty() else msg, *options, **more)


class TerminalCommand(BaseCommand):
    """A management command whose outputs are escaped.

    Errors of the checks of an installation stop it. Their warnings follow the result as one line, because `doctor` explains
    them.
    """

    requires_system_checks: list[str] | tuple[str, ...] | Literal["__all__"] = (INSTALLATION,)
    needs_tables = True

    def __init__(self, stdout: TextIO | None = None, stderr: TextIO | None = None, **options: Any) -> None:
        super().__init__(stdout, stderr, **options)
        self.stdout = EscapedOutput(stdout or sys.stdout)
        self.stderr = EscapedOutput(stderr or sys.stderr)
        self.stderr.style_func = self.style.ERROR
        self._warnings: list[str] = []

    def execute(self, *args: Any, stdout: Any = None, stderr: Any = None, **options: Any) -> str | None:
        if stdout:
            self.stdout = EscapedOutput(stdout)
        if stderr:
            self.stderr = EscapedOutput(stderr)
        try:
            done = super().execute(*args, **options)
        except DatabaseError:
            if self.needs_tables:
                require_migrated_database()
            raise
        except SystemExit:  # the exit code of a result
            self._warn()
            raise
        self._warn()
        return done

    def check(self, *args: Any, **options: Any) -> None:
        found = [one for one in checks.run_checks(*args, **options) if not one.is_silenced()]
        if any(one.is_serious() for one in found):
            super().check(*args, **options)
        self._warnings = sorted({str(one.id) for one in found if one.level >= checks.WARNING})

    def _warn(self) -> None:
        if self._warnings:
            self.stdout.flush()
            self.stderr.write(f"Warnings: {', '.join(self._warnings)}. manage.py doctor explains them.")


def require_migrated_database() -> None:
    """Check that the database has all migrations.

    :raises CommandError: it lacks some
    """
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CommandError("The database is not migrated. Run manage.py migrate.", returncode=2) from None
