from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from kit.db import clock
from kit.terminal.progress import show_progress
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand, add_business_argument, chosen_business
from merchants.people.audit import Actor
from webhooks import services
from webhooks.management.endpoint_argument import add_endpoint_argument, chosen_endpoint
from webhooks.models import Event


class Command(DocumentCommand):
    help = (
        "Resend deliveries with the same id and body, signed with the current key. With --state waiting, deliveries "
        "that wait for a retry get an extra attempt now and keep the planned one. Deliveries whose bodies have "
        "been deleted (WEBHOOK_PAYLOAD_RETENTION) cannot be resent. "
        "Example: manage.py replay_webhooks --business 'Ada Books' --state dead --since 2026-01-31T00:00:00Z"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        add_business_argument(parser)
        parser.add_argument("--since", help="created at or after this time, with a UTC offset")
        parser.add_argument("--until", help="created at or before this time, with a UTC offset")
        parser.add_argument(
            "--state",
            default="dead",
            choices=[str(state) for state in services.REPLAYABLE],
            help="(default dead)",
        )
        parser.add_argument("--event", choices=Event.labels, help="only this event kind")
        add_endpoint_argument(parser, default="all")
        parser.add_argument("--dry-run", action="store_true", help="show the number without sending")

    def handle(self, *, business: str, state: str, dry_run: bool, json: bool, **options: Any) -> None:
        owner = chosen_business(business)
        chosen = services.replayable(
            business=owner,
            endpoint=chosen_endpoint(owner, options["endpoint"]),
            states=[state],
            event=_EVENTS.get(options["event"]),
            since=_moment("--since", options["since"]),
            until=_moment("--until", options["until"]),
            now=clock.now(),
        ).values_list("pk", flat=True)
        count = len(chosen)
        if not dry_run:
            replayed = services.replay(chosen, actor=Actor(name="replay_webhooks"), now=clock.now())
            count = sum(show_progress(replayed, total=len(chosen), stream=self.stderr))
        self.show({"dry_run": dry_run, "deliveries": count}, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        does = "Would replay" if document["dry_run"] else "Replaying"
        yield f"{does} {counted(document['deliveries'], 'delivery', 'deliveries')}."


_EVENTS = {event.label: event.value for event in Event}


def _moment(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parse_datetime(text)
        if moment is not None and not timezone.is_naive(moment):
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):  # an invalid date, or outside the calendar once converted to UTC
        pass
    raise CommandError(
        f"{option} needs a time with a UTC offset, such as 2026-01-31T00:00:00Z.", returncode=2
    )
