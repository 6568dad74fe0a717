"""What a business sends with its answer: texts and files."""

import hashlib
import re
from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from disputes import rails
from disputes.models import Dispute, DisputeEvidence, DisputeFile
from disputes.services.locking import lock_dispute
from kit.files.file_types import JPEG, PDF, PNG, FileType, UnknownFileType, kind_of
from kit.money.money import money
from kit.text.plurals import counted
from kit.time.time_ordered_ids import new_id
from merchants.people.audit import Actor
from payments.models import CardOperation, InvalidState
from payments.rules.words.dispute_words import LONGEST_TEXT, EvidenceKind, Status

MOST_FILES = 10
LARGEST_FILE = 4 * 1024 * 1024  # bytes
LONGEST_NAME = 100
# A file is sent with the type that its content has, whatever the client says.
MEDIA_TYPES = tuple(each.media_type for each in (PDF, PNG, JPEG))


class WrongFileType(Exception):
    """The acquirer of the dispute takes no files of this type, or it is neither PDF, PNG nor JPEG."""


def add_text(dispute_id: UUID, *, kind: str, text: str, actor: Actor, now: datetime) -> DisputeEvidence:
    """Add a text to the answer of a dispute.

    :raises InvalidState: the dispute awaits no answer
    """
    with database.atomic():
        dispute = _lock_unanswered(dispute_id)
        return DisputeEvidence.objects.create(
            id=new_id(now), dispute=dispute, kind=kind, text=text, actor=actor.name, created_at=now
        )


def add_file(
    dispute_id: UUID, *, kind: str, name: str, content: bytes, actor: Actor, now: datetime
) -> DisputeEvidence:
    """Add a file to the answer of a dispute. It is stored as it is and never opened here.

    :raises WrongFileType: it is neither PDF, PNG nor JPEG
    :raises InvalidState: the dispute awaits no answer, or has ten files
    """
    file_type = _type_of(content)
    with database.atomic():
        dispute = _lock_unanswered(dispute_id)
        _require_room(dispute, file_type.media_type)
        item = DisputeEvidence.objects.create(
            id=new_id(now),
            dispute=dispute,
            kind=kind,
            name=safe_name(name, file_type.ending),
            type=file_type.media_type,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            actor=actor.name,
            created_at=now,
        )
        DisputeFile.objects.create(evidence=item, content=content)
    return item


def most_files(dispute: Dispute) -> int:
    """Return how many files the acquirer of a dispute takes."""
    limits = rails.file_limits(dispute.connector)
    return MOST_FILES if limits is None else limits.most


def _require_room(dispute: Dispute, media_type: str) -> None:
    """Refuse a file that the acquirer of a dispute wouldn't take.

    :raises WrongFileType: it takes no files of this type
    :raises InvalidState: it takes no more files
    """
    limits = rails.file_limits(dispute.connector)
    if limits is not None and media_type not in limits.types:
        raise WrongFileType
    most = most_files(dispute)
    if dispute.evidence.exclude(name="").count() >= most:
        raise InvalidState(f"This dispute takes {counted(most, 'file')}. Remove one first.")


def remove(dispute_id: UUID, item_id: UUID) -> bool:
    """Remove an item before the answer is submitted. Return False if there is none.

    :raises InvalidState: the dispute awaits no answer
    """
    with database.atomic():
        dispute = _lock_unanswered(dispute_id)
        deleted, _ = dispute.evidence.filter(pk=item_id).delete()
    return deleted > 0


def _type_of(content: bytes) -> FileType:
    try:
        return kind_of(content).type
    except UnknownFileType:
        raise WrongFileType from None


def safe_name(name: str, ending: str) -> str:
    r"""Return a file name without a path, and with the ending of its content.

    >>> safe_name("../../etc/passwd", "png"), safe_name("Quittung Ü.PDF", "pdf"), safe_name("", "jpg")
    ('passwd.png', 'Quittung Ü.pdf', 'file.jpg')
    """
    last = re.split(r"[/\\]", name)[-1]
    stem = last.rpartition(".")[0] or last
    kept = re.sub(r"[^\w .()-]", "", stem).strip(" .")[: LONGEST_NAME - len(ending) - 1]
    return f"{kept or 'file'}.{ending}"


def add_refunds(dispute: Dispute, *, now: datetime) -> None:
    """Add the refunds of the payment to the answer: they may be all that it needs."""
    refunds = dispute.transaction.operations.filter(kind=CardOperation.Kind.REFUND).exclude(
        status=CardOperation.Status.FAILED
    )
    zone = dispute.business.zone
    lines = [
        f"Refund {one.reference} of {money(one.amount, dispute.currency)} on {one.created_at.astimezone(zone):%Y-%m-%d}: "
        f"{one.outcome_text}."
        for one in refunds.order_by("id")
    ]
    if lines:
        DisputeEvidence.objects.create(
            id=new_id(now),
            dispute=dispute,
            kind=EvidenceKind.OTHER,
            text="\n".join(lines)[:LONGEST_TEXT],
            created_at=now,
        )


def _lock_unanswered(dispute_id: UUID) -> Dispute:
    dispute = lock_dispute(dispute_id)
    if dispute.status != Status.NEEDS_RESPONSE:
        raise InvalidState(f"This dispute awaits no answer: it is {dispute.status}.")
    return dispute
