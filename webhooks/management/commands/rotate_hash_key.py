from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from kit.time.timestamps import timestamp
from merchants.commands import Document, DocumentCommand, add_business_argument, chosen_business
from merchants.people.audit import Actor
from webhooks import services
from webhooks.management.endpoint_argument import add_endpoint_argument, chosen_endpoint
from webhooks.models import Endpoint
from webhooks.signing import standard_secret


class Command(DocumentCommand):
    help = (
        "Generate a new signing key for a business's webhooks. The old one stops working at once, also for "
        "retries; with --overlap, requests carry its signature too, in X-Service-Signature-Previous. "
        "Example: manage.py rotate_hash_key --business 'Ada Books'"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_business_argument(parser)
        parser.add_argument(
            "--overlap",
            type=float,
            default=0.0,
            metavar="HOURS",
            help="hours in which the old key signs beside the new one (0, the default, to 72)",
        )
        add_endpoint_argument(parser, default="the first one")
        super().add_arguments(parser)

    def handle(
        self, *, business: str, overlap: float, endpoint: str | None, json: bool, **options: Any
    ) -> None:
        longest = services.LONGEST_OVERLAP // timedelta(hours=1)
        if not 0 <= overlap <= longest:
            raise CommandError(f"--overlap must be 0 to {longest} hours.", returncode=2)
        owner = chosen_business(business)
        chosen = chosen_endpoint(owner, endpoint)
        try:
            rotated = services.rotate_hash_key(
                business=owner,
                number=chosen.number if chosen else Endpoint.FIRST,
                actor=Actor(name="rotate_hash_key"),
                now=timezone.now(),
                overlap=timedelta(hours=overlap),
            )
        except Endpoint.DoesNotExist:
            raise CommandError("This business has no webhook yet: see configure_webhook.") from None
        document: Document = {
            "business": str(rotated.endpoint.business_id),
            "hash_key": rotated.new_hash_key,
        }
        if rotated.new_hash_key and rotated.endpoint.standard_webhooks:
            document["standard_webhooks_secret"] = standard_secret(rotated.new_hash_key)
        ends_at = rotated.endpoint.previous_key_ends_at
        if ends_at is not None:
            document["previous_key_ends_at"] = timestamp(ends_at)
        self.show(document, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        yield f"New signing key (shown only once): {document['hash_key']}"
        if "standard_webhooks_secret" in document:
            yield f"As libraries of Standard Webhooks take it: {document['standard_webhooks_secret']}"
        if "previous_key_ends_at" in document:
            yield f"The old key also signs until {document['previous_key_ends_at']}."
