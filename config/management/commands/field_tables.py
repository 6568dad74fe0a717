from typing import Any

from django.core.management.base import BaseCommand

from config.docs_site import field_tables


class Command(BaseCommand):
    help = "Write the tables of fields in docs/*.md from the declarations of answers. Example: manage.py field_tables"
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        field_tables.write()
