#!/usr/bin/env python3
"""The operators' entrance: `manage.py help` lists the commands."""

import os
import sys

from django.core.management import execute_from_command_line

SETTINGS = "config.settings"
SETTINGS_OF = {
    "deliver_webhooks": "config.runtime.sender_settings"
}  # for commands that need only some settings


def main() -> None:
    command = next(iter(sys.argv[1:]), "")
    if os.environ.get("DJANGO_SETTINGS_MODULE", SETTINGS) == SETTINGS:
        os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS_OF.get(command, SETTINGS)
    # Migrations and reports may take long. Only processes that serve requests need a statement timeout.
    os.environ.setdefault("DATABASE_STATEMENT_TIMEOUT", "0")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
