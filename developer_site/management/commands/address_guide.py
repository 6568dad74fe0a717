from typing import Any

from developer_site.guides.address_guide import guide
from kit.terminal.terminal import TerminalCommand


class Command(TerminalCommand):
    help = "Print docs/addresses.md, written from the access rules of the views. Example: manage.py address_guide"
    requires_system_checks = ()

    def handle(self, **options: Any) -> None:
        self.stdout.write(guide(), ending="")
