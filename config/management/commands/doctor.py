import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from config.operations.doctor import examine, worst
from merchants.commands import Document, DocumentCommand

MARKS = {"fine": "ok     ", "warning": "WARNING", "broken": "BROKEN "}


class Command(DocumentCommand):
    help = (
        "Examine this installation, and say what to do about what is wrong. Exits with 0 where all is fine, "
        "1 with warnings, 2 where something is broken. Example: manage.py doctor --json"
    )
    requires_system_checks: list[str] = []  # it runs them itself

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)

    def handle(self, *, json: bool, **options: Any) -> None:
        findings = examine(now=timezone.now())
        verdict = worst(findings)
        document = {
            "verdict": verdict.name.lower(),
            "findings": [finding.document() for finding in findings],
        }
        self.show(document, as_json=json)
        if verdict:
            sys.exit(verdict)

    def lines(self, document: Document) -> Iterable[str]:
        for finding in document["findings"]:
            yield f"{MARKS[finding['severity']]}  {finding['check']}: {finding['said']}"
            if finding["advice"]:
                yield f"         {finding['advice']}"
        yield f"Verdict: {document['verdict']}."
