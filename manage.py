#!/usr/bin/env python3
"""The operators' entrance: `manage.py help` lists the commands."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # A migration or a report may take as long as it takes; only who serves requests must give up in time.
    os.environ.setdefault("DATABASE_STATEMENT_TIMEOUT", "0")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
