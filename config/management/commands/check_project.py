from io import StringIO
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

from config.checks import api_document, migrations, package_sizes, templates
from kit.files import bounded_json
from kit.terminal.terminal import TerminalCommand


class Command(TerminalCommand):
    help = (
        "Check settings, models, migrations, templates, packages and the API description, as `make lint` does. "
        "Example: manage.py check_project"
    )
    requires_system_checks = ()  # they are the first part

    def handle(self, **options: Any) -> None:
        call_command("check", fail_level="WARNING")
        call_command("makemigrations", check=True, dry_run=True, verbosity=0)
        if unsafe := migrations.complaints():
            raise CommandError("\n".join(["Migrations that would disturb the previous release:", *unsafe]))
        if faults := templates.complaints():
            raise CommandError("\n".join(["Templates without a protection:", *faults]))
        if large := package_sizes.complaints():
            raise CommandError("\n".join(["Packages in which modules are hard to find:", *large]))
        document = StringIO()
        call_command("spectacular", format="openapi-json", validate=True, fail_on_warn=True, stdout=document)
        if broken := api_document.complaints(bounded_json.loads(document.getvalue())):
            raise CommandError(
                "\n".join(["What generated clients can't use in the API description:", *broken])
            )
