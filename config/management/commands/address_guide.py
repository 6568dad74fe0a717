from typing import Any

from django.core.management.base import BaseCommand

from config.docs_site.address_guide import guide


class Command(BaseCommand):
    help = "Print docs/addresses.md, written from config/access_rules.py. Example: manage.py address_guide"
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        self.stdout.write(guide(), ending="")
