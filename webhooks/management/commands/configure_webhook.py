from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from kit.db import clock
from merchants.audit import Actor
from merchants.commands import Document, DocumentCommand, add_business_argument, chosen_business
from webhooks.models import Category
from webhooks.services import UnusableEndpoint, configure


class Command(DocumentCommand):
    help = (
        "Say where a business hears of events, or change it. The signing key is made, and shown, the first "
        "time only. Example: manage.py configure_webhook --business 'Ada Books' "
        "--url https://ada.example/hooks --events payment,payout"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_business_argument(parser)
        parser.add_argument("--url", required=True, help="https address that receives the events")
        parser.add_argument(
            "--events",
            required=True,
            help=f"categories, with commas between them: {', '.join(Category.values)}",
        )
        parser.add_argument(
            "--disable", action="store_true", help="hold deliveries until it is enabled again"
        )
        super().add_arguments(parser)

    def handle(
        self, *, business: str, url: str, events: str, disable: bool, json: bool, **options: Any
    ) -> None:
        try:
            configured = configure(
                business=chosen_business(business),
                url=url,
                subscribed_events=[event.strip() for event in events.split(",") if event.strip()],
                enabled=not disable,
                actor=Actor(name="configure_webhook"),
                now=clock.now(),
            )
        except UnusableEndpoint as problem:
            raise CommandError(str(problem.detail), returncode=2) from None
        endpoint = configured.endpoint
        document: Document = {
            "business": str(endpoint.business_id),
            "url": endpoint.url,
            "subscribed_events": endpoint.subscribed_events,
            "enabled": endpoint.enabled,
        }
        if configured.new_hash_key:
            document["hash_key"] = configured.new_hash_key
        self.show(document, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        state = "enabled" if document["enabled"] else "disabled: deliveries are held"
        yield f"{document['url']} receives {_listed(document['subscribed_events'])} events ({state})."
        if "hash_key" in document:
            yield f"Signing key, shown this once: {document['hash_key']}"


def _listed(words: list[str]) -> str:
    """Return words as a sentence has them.

    >>> _listed(["payment"]), _listed(["payment", "payout", "refund"])
    ('payment', 'payment, payout and refund')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
