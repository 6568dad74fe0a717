from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from merchants.api.api_keys import rotate_keys
from merchants.commands import Document, DocumentCommand, add_business_argument, chosen_business
from merchants.people.audit import Actor


class Command(DocumentCommand):
    help = (
        "Create a new key pair. The older ones expire after the overlap. "
        "Example: manage.py rotate_api_key --business 'Ada Books' --overlap 24"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_business_argument(parser)
        parser.add_argument(
            "--overlap",
            type=float,
            default=24.0,
            metavar="HOURS",
            help="hours until the older keys expire (default 24; 0 expires them now)",
        )
        super().add_arguments(parser)

    def handle(self, *, business: str, overlap: float, json: bool, **options: Any) -> None:
        if not 0 <= overlap <= 24 * 365:
            raise CommandError("--overlap must be 0 to 8760 hours.", returncode=2)
        owner = chosen_business(business)
        now = timezone.now()
        key = rotate_keys(
            business=owner, overlap=timedelta(hours=overlap), actor=Actor(name="rotate_api_key"), now=now
        )
        ends_at = (now + timedelta(hours=overlap)).isoformat(timespec="seconds").replace("+00:00", "Z")
        self.show(
            {
                "business": str(owner.pk),
                "api_key": key.public_id,
                "secret_key": key.secret,
                "older_keys_end_at": ends_at,
            },
            as_json=json,
        )

    def lines(self, document: Document) -> Iterable[str]:
        yield f"api key     {document['api_key']}"
        yield f"secret key  {document['secret_key']}  (shown only once)"
        yield f"Older keys expire at {document['older_keys_end_at']}."
