from typing import Any

from developer_site.guides import field_tables
from kit.terminal.terminal import TerminalCommand


class Command(TerminalCommand):
    help = "Write the tables of fields in docs/*.md from the declarations of answers. Example: manage.py field_tables"
    requires_system_checks = ()

    def handle(self, **options: Any) -> None:
        field_tables.write()
