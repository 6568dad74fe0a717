from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from disputes.models import AnswerBatch
from disputes.services.answers import answer_files
from disputes.services.reports import report_files
from disputes.services.reports.report_files import Account
from kit.db import clock
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand


class Command(DocumentCommand):
    help = (
        f"Write the answers to disputes for an acquirer that takes files: {answer_files.ANSWERS} with a row for each "
        f"({', '.join(answer_files.COLUMNS)}), and {answer_files.EVIDENCE} with a folder for each that has evidence. Each "
        "answer is written once; a run without new ones writes nothing. Exits with 2 if nothing can be written. "
        "Example: manage.py write_dispute_answers --output answers"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--account", metavar="NAME", help="the acquirer (default: the only one that sends files)"
        )
        parser.add_argument(
            "--output", required=True, type=Path, metavar="DIR", help="the folder, made if it is missing"
        )
        parser.add_argument(
            "--again", type=int, metavar="BATCH", help="write this earlier batch once more, and nothing new"
        )
        super().add_arguments(parser)

    def handle(
        self, *, account: str | None, output: Path, again: int | None, json: bool, **options: Any
    ) -> None:
        try:
            of = report_files.account_of(account)
            output.mkdir(parents=True, exist_ok=True)
        except report_files.SendsNoFiles as problem:
            raise CommandError(str(problem), returncode=2) from None
        except (OSError, ValueError) as problem:
            raise CommandError(f"{output} can't be made: {_reason(problem)}.", returncode=2) from None
        batch = answer_files.collect(of, now=clock.now()) if again is None else _earlier(of, again)
        answers = self._written(batch, output) if batch is not None else 0
        document = {
            "account": of.connector,
            "batch": None if batch is None else batch.pk,
            "answers": answers,
            "output": str(output),
        }
        self.show(document, as_json=json)

    def _written(self, batch: AnswerBatch, output: Path) -> int:
        try:
            return answer_files.write(batch, output)
        except OSError as error:
            raise CommandError(
                f"Batch {batch.pk} could not be written to {output}: {_reason(error)}. {_again(batch)}",
                returncode=2,
            ) from None
        except BaseException:  # also Ctrl-C: the next run has no new answers
            self.stderr.write(f"Batch {batch.pk} was not written. {_again(batch)}")
            raise

    def lines(self, document: Document) -> Iterable[str]:
        if document["batch"] is None:
            yield "No new answers. Nothing was written."
            return
        yield f"Wrote {counted(document['answers'], 'answer')} to {document['output']}, as batch {document['batch']}."


def _earlier(account: Account, number: int) -> AnswerBatch:
    batch = answer_files.find_batch(account, number) if number < 2**63 else None
    if batch is None:
        raise CommandError(f"{account.connector} has no batch {number}.", returncode=2)
    return batch


def _again(batch: AnswerBatch) -> str:
    return f"Write it with --again {batch.pk}."


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "invalid name"
