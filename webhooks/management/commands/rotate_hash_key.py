import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from merchants.audit import Actor
from merchants.businesses import NoSuchBusiness, find_business
from webhooks import services
from webhooks.models import Endpoint


class Command(BaseCommand):
    help = (
        "Make a new signing key for a business's webhooks. The old one ends at once, also for retries. "
        "Example: manage.py rotate_hash_key --business 'Ada Books'"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--business", required=True, metavar="ID_OR_NAME")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, business: str, json: bool, **options: Any) -> None:
        try:
            rotated = services.rotate_hash_key(
                business=find_business(business), actor=Actor(name="rotate_hash_key"), now=timezone.now()
            )
        except NoSuchBusiness as problem:
            raise CommandError(str(problem)) from None
        except Endpoint.DoesNotExist:
            raise CommandError("This business has no webhook yet: see configure_webhook.") from None
        self._show(
            {"business": str(rotated.endpoint.business_id), "hash_key": rotated.new_hash_key}, as_json=json
        )

    def _show(self, document: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(document, indent=2))
        else:
            self.stdout.write(f"New signing key, shown this once: {document['hash_key']}")
