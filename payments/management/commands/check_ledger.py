import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from kit.terminal.progress import show_progress
from kit.text.plurals import counted
from ledger.invariants import Invariant, check, lacks_statistics
from merchants.commands import Document, DocumentCommand
from payments.invariants.registry import INVARIANTS


class Command(DocumentCommand):
    help = (
        "Check every money invariant and list the rows that break one. Exits with 1 if there are any. Reads only, "
        "so it can run on a live system. docs/operations/invariants.md lists the checks."
        " Example: manage.py check_ledger --json"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--explain", action="store_true", help="print the invariants as Markdown without checking them"
        )
        parser.add_argument("--timings", action="store_true", help="show the duration of each check")

    def handle(self, *, json: bool, explain: bool, timings: bool, **options: Any) -> None:
        if explain:
            self.stdout.write("\n".join(explained(invariant) for invariant in INVARIANTS), ending="")
            return
        if lacks_statistics():
            self.stderr.write(
                "PostgreSQL has no statistics for these tables, for example after a restore, so this may take very "
                "long. Stop it, run ANALYZE, and start it again."
            )
        self.with_timings = timings
        checks = show_progress(
            check(INVARIANTS), total=len(INVARIANTS), stream=self.stderr, what="invariants"
        )
        checked = list(checks)
        document = {
            "ok": all(one.holds for one in checked),
            "invariants": [
                {
                    "name": one.invariant.name,
                    "holds": one.holds,
                    "broken": one.broken,
                    "milliseconds": round(one.milliseconds, 1),
                }
                for one in checked
            ],
        }
        self.show(document, as_json=json)
        if not document["ok"]:
            sys.exit(1)

    def lines(self, document: Document) -> Iterable[str]:
        invariants = document["invariants"]
        for one in invariants:
            if self.with_timings:
                yield f"{one['milliseconds']:8.1f} ms  {one['name']}"
            if not one["holds"]:
                yield f"BROKEN {one['name']}: {RULES[one['name']]}"
                yield from (f"  {row}" for row in one["broken"])
        broken = sum(not one["holds"] for one in invariants)
        yield (
            counted(
                broken,
                f"of {len(invariants)} invariants is broken.",
                f"of {len(invariants)} invariants are broken.",
            )
            if broken
            else (f"All {len(invariants)} invariants hold.")
        )


def explained(invariant: Invariant) -> str:
    """Return the section of docs/operations/invariants.md about an invariant."""
    return f"## {invariant.name}\n\n{invariant.rule}\n\n```sql\n{_flush_left(invariant.sql)}\n```\n"


def _flush_left(statement: str) -> str:
    """Remove the first line's indentation from all lines. Nested statements may be indented less."""
    lines = [line.rstrip() for line in statement.splitlines() if line.strip()]
    indentation = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(
        line[indentation:] if not line[:indentation].strip() else line.lstrip() for line in lines
    )


RULES = {invariant.name: invariant.rule for invariant in INVARIANTS}
