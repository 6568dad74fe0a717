from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from merchants.audit import Actor
from merchants.commands import Document, DocumentCommand, add_business_argument, chosen_business
from webhooks import services
from webhooks.models import Endpoint


class Command(DocumentCommand):
    help = (
        "Generate a new signing key for a business's webhooks. The old one stops working at once, also for "
        "retries. "
        "Example: manage.py rotate_hash_key --business 'Ada Books'"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_business_argument(parser)
        super().add_arguments(parser)

    def handle(self, *, business: str, json: bool, **options: Any) -> None:
        try:
            rotated = services.rotate_hash_key(
                business=chosen_business(business), actor=Actor(name="rotate_hash_key"), now=timezone.now()
            )
        except Endpoint.DoesNotExist:
            raise CommandError("This business has no webhook yet: see configure_webhook.") from None
        self.show(
            {"business": str(rotated.endpoint.business_id), "hash_key": rotated.new_hash_key}, as_json=json
        )

    def lines(self, document: Document) -> Iterable[str]:
        yield f"New signing key (shown only once): {document['hash_key']}"
