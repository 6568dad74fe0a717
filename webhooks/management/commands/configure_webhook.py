import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from merchants.audit import Actor
from merchants.businesses import NoSuchBusiness, find_business
from webhooks.services import UnusableEndpoint, configure


class Command(BaseCommand):
    help = (
        "Say where a business hears of events, or change it. The signing key is made, and shown, the first "
        "time only. Example: manage.py configure_webhook --business 'Ada Books' "
        "--url https://ada.example/hooks --events payment,payout"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--business", required=True, metavar="ID_OR_NAME")
        parser.add_argument("--url", required=True, help="https address that receives the events")
        parser.add_argument("--events", required=True, help="payment, payout, or both with a comma")
        parser.add_argument(
            "--disable", action="store_true", help="hold deliveries until it is enabled again"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(
        self, *, business: str, url: str, events: str, disable: bool, json: bool, **options: Any
    ) -> None:
        try:
            configured = configure(
                business=find_business(business),
                url=url,
                subscribed_events=[event.strip() for event in events.split(",") if event.strip()],
                enabled=not disable,
                actor=Actor(name="configure_webhook"),
                now=timezone.now(),
            )
        except NoSuchBusiness as problem:
            raise CommandError(str(problem)) from None
        except UnusableEndpoint as problem:
            raise CommandError(str(problem.detail), returncode=2) from None
        endpoint = configured.endpoint
        document: dict[str, Any] = {
            "business": str(endpoint.business_id),
            "url": endpoint.url,
            "subscribed_events": endpoint.subscribed_events,
            "enabled": endpoint.enabled,
        }
        if configured.new_hash_key:
            document["hash_key"] = configured.new_hash_key
        self._show(document, as_json=json)

    def _show(self, document: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(document, indent=2))
            return
        state = "enabled" if document["enabled"] else "disabled: deliveries are held"
        self.stdout.write(
            f"{document['url']} hears of {' and '.join(document['subscribed_events'])} ({state})."
        )
        if "hash_key" in document:
            self.stdout.write(f"Signing key, shown this once: {document['hash_key']}")
