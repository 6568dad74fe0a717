import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from connectors.registry import EXAMINATIONS
from merchants.commands import Document, DocumentCommand
from operations.doctor_checks import examine, examine_connector, worst

MARKS = {"fine": "ok     ", "warning": "WARNING", "broken": "BROKEN "}


class Command(DocumentCommand):
    help = (
        "Check this installation and suggest how to fix problems. Exits with 0 if everything is fine, "
        "1 with warnings, 2 if something is broken. With --connector, it makes harmless calls of a provider instead. "
        "Examples: manage.py doctor --json, manage.py doctor --connector paystack"
    )
    requires_system_checks = ()  # the command runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--connector", choices=list(EXAMINATIONS), help="examine the account at this provider"
        )

    def handle(self, *, json: bool, connector: str | None, **options: Any) -> None:
        findings = examine_connector(connector) if connector else examine(now=timezone.now())
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
