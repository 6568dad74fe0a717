import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from merchants.audit import Actor
from merchants.businesses import NoSuchBusiness, find_business
from merchants.keys import rotate_keys


class Command(BaseCommand):
    help = (
        "Make a new key pair; the older ones go on for the overlap, then end. "
        "Example: manage.py rotate_api_key --business 'Ada Books' --overlap 24"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--business", required=True, metavar="ID_OR_NAME")
        parser.add_argument(
            "--overlap",
            type=float,
            default=24.0,
            metavar="HOURS",
            help="how long the older keys go on (default 24; 0 ends them now)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, business: str, overlap: float, json: bool, **options: Any) -> None:
        if not 0 <= overlap <= 24 * 365:
            raise CommandError("--overlap must be 0 to 8760 hours.", returncode=2)
        try:
            owner = find_business(business)
        except NoSuchBusiness as problem:
            raise CommandError(str(problem)) from None
        now = timezone.now()
        key = rotate_keys(
            business=owner, overlap=timedelta(hours=overlap), actor=Actor(name="rotate_api_key"), now=now
        )
        ends_at = (now + timedelta(hours=overlap)).isoformat(timespec="seconds").replace("+00:00", "Z")
        self._show(
            {
                "business": str(owner.pk),
                "api_key": key.public_id,
                "secret_key": key.secret,
                "older_keys_end_at": ends_at,
            },
            as_json=json,
        )

    def _show(self, document: dict[str, str], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(document, indent=2))
            return
        self.stdout.write(f"api key     {document['api_key']}")
        self.stdout.write(f"secret key  {document['secret_key']}  (shown this once)")
        self.stdout.write(f"Older keys end at {document['older_keys_end_at']}.")
