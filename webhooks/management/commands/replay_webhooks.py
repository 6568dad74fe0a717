from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from kit.db import clock
from kit.plurals import counted
from kit.progress import show_progress
from merchants.audit import Actor
from merchants.commands import add_business_argument, chosen_business
from webhooks import services
from webhooks.models import Event


class Command(BaseCommand):
    help = (
        "Resend deliveries with the same id and body, signed with the current key. Deliveries whose bodies have "
        "been deleted (WEBHOOK_PAYLOAD_RETENTION) cannot be resent. "
        "Example: manage.py replay_webhooks --business 'Ada Books' --state dead --since 2026-01-31T00:00:00Z"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
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
        parser.add_argument("--dry-run", action="store_true", help="show the number without sending")

    def handle(self, *, business: str, state: str, dry_run: bool, **options: Any) -> None:
        chosen = services.replayable(
            business=chosen_business(business),
            states=[state],
            event=_EVENTS.get(options["event"]),
            since=_moment("--since", options["since"]),
            until=_moment("--until", options["until"]),
        ).values_list("pk", flat=True)
        if dry_run:
            self.stdout.write(f"Would replay {counted(len(chosen), 'delivery', 'deliveries')}.")
            return
        replayed = services.replay(chosen, actor=Actor(name="replay_webhooks"), now=clock.now())
        going = sum(show_progress(replayed, total=len(chosen), stream=self.stderr))
        self.stdout.write(f"Replaying {counted(going, 'delivery', 'deliveries')}.")


_EVENTS = {event.label: event.value for event in Event}


def _moment(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or timezone.is_naive(moment):
        raise CommandError(
            f"{option} needs a time with a UTC offset, such as 2026-01-31T00:00:00Z.", returncode=2
        )
    return moment
