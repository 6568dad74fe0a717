from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from dashboard.account.second_factor import mfa_reset
from dashboard.activity.descriptions import FACTOR_NAMES
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from merchants.people.audit import Actor

LONGEST_REASON = 255  # characters, as in the administration


class Command(DocumentCommand):
    help = (
        "Remove a user's authenticator app, passkeys and recovery codes, and end their sessions. The "
        "password doesn't change. Verify the user's identity first. "
        "Example: manage.py reset_second_factor --email ada@example.com --reason 'Lost phone, ticket 4711'"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", required=True, help="email address of the user")
        parser.add_argument("--reason", required=True, help="reason, recorded in the audit trail")
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be removed, change nothing"
        )
        super().add_arguments(parser)

    def handle(self, *, email: str, reason: str, dry_run: bool, json: bool, **options: Any) -> None:
        reason = reason.strip()
        if not 1 <= len(reason) <= LONGEST_REASON:
            raise CommandError(f"--reason must have 1 to {LONGEST_REASON} characters.", returncode=2)
        try:
            removed = (
                mfa_reset.access_of(email)
                if dry_run
                else mfa_reset.reset(
                    email=email, reason=reason, actor=Actor(name="reset_second_factor"), now=timezone.now()
                )
            )
        except mfa_reset.UnknownUser:
            raise CommandError(f"No user has the email address {email}.") from None
        except mfa_reset.NothingToReset:
            raise CommandError(f"{email} has no second factor.") from None
        self.show(
            {
                "email": removed.user.email,
                "dry_run": dry_run,
                "removed": removed.factors,
                "sessions_ended": len(removed.sessions),
            },
            as_json=json,
        )

    def lines(self, document: Document) -> Iterable[str]:
        verb, end_verb = ("Would remove", "Would end") if document["dry_run"] else ("Removed", "Ended")
        for factor in document["removed"]:
            yield f"{verb} {FACTOR_NAMES[factor]} of {document['email']}."
        yield f"{end_verb} {counted(document['sessions_ended'], 'session')}."
