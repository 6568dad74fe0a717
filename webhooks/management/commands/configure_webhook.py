from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from kit.api.fields.field_errors import closest, shown
from kit.db import clock
from merchants.commands import Document, DocumentCommand, add_business_argument, chosen_business
from merchants.people.audit import Actor
from webhooks.models import SUBSCRIPTIONS, Category
from webhooks.services import UnusableEndpoint, UrlTaken, configure, refusal_of_url


class Command(DocumentCommand):
    help = (
        "Set the webhook URL and events of a business. The signing key is generated, and shown, the first "
        "time only. Example: manage.py configure_webhook --business 'Ada Books' "
        "--url https://ada.example/hooks --events payment,payout"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_business_argument(parser)
        parser.add_argument(
            "--url", required=True, help="https URL (http in the sandbox) that receives the events"
        )
        parser.add_argument(
            "--events",
            required=True,
            help=f"names of events, or categories, separated by commas: {', '.join(Category.values)}",
        )
        parser.add_argument(
            "--disable", action="store_true", help="hold deliveries until the endpoint is re-enabled"
        )
        super().add_arguments(parser)

    def handle(
        self, *, business: str, url: str, events: str, disable: bool, json: bool, **options: Any
    ) -> None:
        subscribed = [event.strip() for event in events.split(",") if event.strip()]
        for word in subscribed:
            if word not in SUBSCRIPTIONS:
                raise CommandError(_unknown(word), returncode=2)
        try:
            configured = configure(
                business=chosen_business(business),
                url=url,
                subscribed_events=subscribed,
                enabled=not disable,
                actor=Actor(name="configure_webhook"),
                now=clock.now(),
            )
        except (UnusableEndpoint, UrlTaken) as problem:
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
        if refusal := refusal_of_url(endpoint.url, strict=True):  # saved, so this is a sandbox
            self.stderr.write(f"Production refuses this URL: {refusal}", self.style.WARNING)

    def lines(self, document: Document) -> Iterable[str]:
        state = "enabled" if document["enabled"] else "disabled: deliveries are held"
        yield f"{document['url']} receives {_listed(document['subscribed_events'])} events ({state})."
        if "hash_key" in document:
            yield f"Signing key (shown only once): {document['hash_key']}"


def _unknown(word: str) -> str:
    suggestion = closest(word, SUBSCRIPTIONS)
    hint = f" Did you mean {suggestion}?" if suggestion else ""
    listed = ", ".join(Category.values)
    return (
        f"--events: there is no event or category {shown(word)}.{hint} Subscribe to one or more of {listed}, or to "
        "single events."
    )


def _listed(words: list[str]) -> str:
    """Join words with commas and "and".

    >>> _listed(["payment"]), _listed(["payment", "payout", "refund"])
    ('payment', 'payment, payout and refund')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
