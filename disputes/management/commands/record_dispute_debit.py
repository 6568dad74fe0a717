from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction

from disputes.models import Dispute
from disputes.services import debits
from disputes.services.locking import lock_dispute
from kit.db import clock
from kit.money.money import money
from merchants.commands import Document, DocumentCommand
from merchants.people.audit import Actor
from payments.rules.words.dispute_words import Stage


class Command(DocumentCommand):
    help = (
        "Record that the acquirer has debited a dispute, if no statement of it is imported here. A line of a statement "
        "records it automatically. The same debit again changes nothing. Exits with 2 if there is no such dispute, nothing of "
        "it was lost, or FOUR_EYES is on: two people then record it in the administration. Example: "
        "manage.py record_dispute_debit --case CB-2026-17"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--case", required=True, metavar="NUMBER", help="the acquirer's number of the case"
        )
        parser.add_argument(
            "--stage",
            choices=[each for each in Stage.values if each != Stage.INQUIRY],
            help="the stage, if it has several",
        )
        parser.add_argument("--by", default="record_dispute_debit", metavar="NAME", help="who records it")
        super().add_arguments(parser)

    @transaction.atomic
    def handle(self, *, case: str, stage: str | None, by: str, json: bool, **_: Any) -> None:
        if settings.FOUR_EYES:
            raise CommandError(
                "FOUR_EYES is on. Record it in the administration, at Disputes, where another person confirms it.",
                returncode=2,
            )
        dispute = lock_dispute(_only(case, stage).pk)
        dispute.business = dispute.transaction.business
        if not (amount := debits.amount_of(dispute)):
            raise CommandError(
                f"{case} ended and nothing of it was lost, so nothing was debited.", returncode=2
            )
        is_new = dispute.debited_at is None
        if is_new:
            debits.record(dispute, actor=Actor(name=by), now=clock.now())
        document = {"case": case, "stage": dispute.stage, "amount": amount, "currency": dispute.currency}
        self.show(document | {"is_new": is_new}, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        amount = money(document["amount"], document["currency"])
        yield f"{document['case']}: {amount} {'recorded' if document['is_new'] else 'was recorded before'}."


def _only(case: str, stage: str | None) -> Dispute:
    found = Dispute.objects.filter(case_number=case).exclude(stage=Stage.INQUIRY)
    rows = list(found.filter(stage=stage) if stage else found)
    if len(rows) != 1:
        why = "There is no such dispute." if not rows else "It has several stages or acquirers: name --stage."
        raise CommandError(f"{case}: {why}", returncode=2)
    return rows[0]
