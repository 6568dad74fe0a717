from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_email
from django.utils import timezone

from kit.text.display_names import has_control_character, pasted
from merchants.businesses.businesses import open_business
from merchants.commands import Document, DocumentCommand
from merchants.models import Business
from merchants.people.audit import Actor

# The lengths of the columns.
LONGEST_NAME = 200
LONGEST_EMAIL = 254


class Command(DocumentCommand):
    help = (
        "Create a business with its owner and first key pair. The secret key and the password are shown "
        "only once. Example: manage.py create_business --name 'Ada Books' --email ada@example.com --json"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", required=True, help="the business's name, 1 to 200 characters")
        parser.add_argument("--email", required=True, help="the owner's e-mail address, used to sign in")
        parser.add_argument(
            "--allow-duplicate", action="store_true", help="create it even if a business has this name"
        )
        super().add_arguments(parser)

    def handle(self, *, name: str, email: str, allow_duplicate: bool, json: bool, **options: Any) -> None:
        name, email = pasted(name).strip(), pasted(email).strip()
        _check(name, email)
        if not allow_duplicate:
            _refuse_duplicate(name)
        opened = open_business(
            name=name, email=email, actor=Actor(name="create_business"), now=timezone.now()
        )
        self.show(opened.credentials(), as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        for label, value in document.items():
            if value is not None:
                yield f"{label.replace('_', ' '):>15}  {value}"
        yield "Save the secret key and the password now. They are not shown again."


def _check(name: str, email: str) -> None:
    if not 1 <= len(name) <= LONGEST_NAME:
        raise CommandError(f"--name must have 1 to {LONGEST_NAME} characters.", returncode=2)
    if has_control_character(name):
        raise CommandError("--name may not hold control characters.", returncode=2)
    if len(email) > LONGEST_EMAIL:
        raise CommandError(f"--email must have at most {LONGEST_EMAIL} characters.", returncode=2)
    try:
        validate_email(email)
    except ValidationError:
        raise CommandError("--email must be an e-mail address.", returncode=2) from None


def _refuse_duplicate(name: str) -> None:
    """Refuse a name that is in use: commands could then find neither business by its name."""
    existing = Business.objects.filter(name=name).first()
    if existing is not None:
        raise CommandError(
            f"A business named {name!r} exists already, with the id {existing.pk}. Choose another name, or add "
            "--allow-duplicate to create a second one.",
            returncode=2,
        )
