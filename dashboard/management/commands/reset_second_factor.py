from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from dashboard.account import mfa_reset
from dashboard.activity.descriptions import FACTOR_NAMES
from merchants.audit import Actor
from merchants.commands import Document, DocumentCommand


class Command(DocumentCommand):
    help = (
        "Remove a person's authenticator app, passkeys and recovery codes, and end their sessions. The "
        "password stays. Make sure who is asking first. "
        "Example: manage.py reset_second_factor --email ada@example.com --reason 'Lost phone, ticket 4711'"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", required=True, help="with which the person signs in")
        parser.add_argument("--reason", required=True, help="why; it is kept in the audit trail")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, change nothing")
        super().add_arguments(parser)

    def handle(self, *, email: str, reason: str, dry_run: bool, json: bool, **options: Any) -> None:
        reason = reason.strip()
        if not 1 <= len(reason) <= 255:  # noqa: PLR2004  (as long as reasons are in the administration)
            raise CommandError("--reason must have 1 to 255 characters.", returncode=2)
        try:
            lost = (
                mfa_reset.holdings_of(email)
                if dry_run
                else mfa_reset.reset(
                    email=email, reason=reason, actor=Actor(name="reset_second_factor"), now=timezone.now()
                )
            )
        except mfa_reset.NoSuchPerson:
            raise CommandError(f"Nobody signs in as {email}.") from None
        except mfa_reset.NothingToReset:
            raise CommandError(f"{email} has no second factor.") from None
        self.show(
            {
                "email": lost.user.email,
                "dry_run": dry_run,
                "removed": lost.factors,
                "sessions_ended": len(lost.sessions),
            },
            as_json=json,
        )

    def lines(self, document: Document) -> Iterable[str]:
        removed, ended = ("Would remove", "Would end") if document["dry_run"] else ("Removed", "Ended")
        for factor in document["removed"]:
            yield f"{removed} {FACTOR_NAMES[factor]} of {document['email']}."
        yield f"{ended} {document['sessions_ended']} sessions."
