"""Write the answers to disputes to files for an acquirer that takes files: each answer once.

A batch commits before its files are written, so that two runs never write the same answer. If its files can't be
written then, or get lost, the batch is written once more.
"""

import csv
import json
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.db import transaction as database
from django.db.models import QuerySet

from disputes.models import AnswerBatch, Dispute, DisputeEvidence, DisputeStep
from disputes.services.answers.packet import packet_of
from disputes.services.reports.report_files import SEND_FILES, Account
from kit.time.timestamps import timestamp
from payments.rules.words.dispute_words import Status
from payments.services.rails.declared_accounts import same_as

ANSWERS, EVIDENCE = "answers.csv", "evidence.zip"
COLUMNS = ("case_number", "stage", "answer", "amount", "currency", "answered_at", "evidence")
ANSWERED = (DisputeStep.Kind.SUBMITTED, DisputeStep.Kind.CLOSED)


def unsent() -> QuerySet[Dispute]:
    """Return the disputes whose acquirer takes files, and waits for an answer that is in none yet."""
    return Dispute.objects.with_answer_to_write().filter(
        status__in=[Status.UNDER_REVIEW, Status.ACCEPTED], connector__in=SEND_FILES
    )


def is_unsent(dispute: Dispute) -> bool:
    """Return whether an answer is waited for and in no file yet."""
    is_waiting = dispute.status in {Status.UNDER_REVIEW, Status.ACCEPTED} and dispute.connector in SEND_FILES
    return is_waiting and dispute.has_answer_to_write


@database.atomic
def collect(account: Account, *, now: datetime) -> AnswerBatch | None:
    """Return a new batch of the answers of an account that are in none, or None if there are none."""
    waiting = Dispute.objects.with_answer_to_write().filter(
        connector=account.connector, account__in=same_as(account.connector, account.account)
    )
    disputes = list(waiting.select_for_update().order_by("id").values_list("pk", flat=True))
    if not disputes:
        return None
    batch = AnswerBatch.objects.create(connector=account.connector, account=account.account, created_at=now)
    Dispute.objects.filter(pk__in=disputes).update(answer_batch=batch)
    return batch


def find_batch(account: Account, number: int) -> AnswerBatch | None:
    """Return an earlier batch of an account, or None if it has none with this number."""
    batches: QuerySet[AnswerBatch] = AnswerBatch.objects.filter(
        pk=number, connector=account.connector, account__in=same_as(account.connector, account.account)
    )
    return batches.first()


def write(batch: AnswerBatch, folder: Path) -> int:
    """Write the files of a batch, in place of older ones, and return the number of its answers.

    :raises OSError: a file can't be written
    """
    disputes = list(batch.disputes.select_related("transaction__checkout__link").order_by("id"))
    _replace(folder / EVIDENCE, lambda file: _write_evidence(batch, disputes, file))
    _replace(folder / ANSWERS, lambda file: _write_answers(disputes, file))
    return len(disputes)


def _replace(path: Path, write_to: Callable[[IO[bytes]], None]) -> None:
    """Write a file under another name first, so that half of one is never read. Only its owner may read it."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            write_to(file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write_answers(disputes: list[Dispute], file: IO[bytes]) -> None:
    rows = csv.writer(_Encoded(file), lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(map(_row, disputes))


def _row(dispute: Dispute) -> tuple[object, ...]:
    answer = dispute.answer or {}
    is_accepted = "accept" in answer
    return (
        dispute.case_number,
        dispute.stage,
        "accept" if is_accepted else "submit",
        answer["accept"]["amount"] if is_accepted else 0,  # what the business concedes, minor units
        dispute.currency,
        timestamp(_answered_at(dispute)),
        "" if is_accepted else _folder(dispute),
    )


def _answered_at(dispute: Dispute) -> datetime:
    """Return when the business answered: of the first step, because a submitted dispute ends later."""
    return dispute.steps.filter(kind__in=ANSWERED).order_by("id").values_list("at", flat=True)[0]


def _folder(dispute: Dispute) -> str:
    """Return the folder of a dispute in the archive. A case number may contain what file systems don't take."""
    return str(dispute.pk)


def _write_evidence(batch: AnswerBatch, disputes: list[Dispute], file: IO[bytes]) -> None:
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for dispute in disputes:
            if "submit" not in (dispute.answer or {}):
                continue
            for name, content in _files(dispute):
                entry = ZipInfo(f"{_folder(dispute)}/{name}", date_time=batch.created_at.timetuple()[:6])
                entry.compress_type = ZIP_DEFLATED
                archive.writestr(entry, content)


def _files(dispute: Dispute) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of a dispute's evidence, then of the packet. One file at a time is in memory."""
    items: QuerySet[DisputeEvidence] = dispute.evidence.order_by("id")
    for number, item in enumerate(items, start=1):
        if item.is_file:
            ending = item.name.rpartition(".")[2]
            yield f"{number:02}-{item.kind}.{ending}", bytes(item.file.content)
        else:
            yield f"{number:02}-{item.kind}.txt", item.text.encode()
    if packet := packet_of(dispute):
        yield "payment.json", json.dumps(packet, indent=2, ensure_ascii=False).encode()


class _Encoded:
    """A file for text on one for bytes, which stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(text.encode())
