#!/usr/bin/env python3
"""The operators' entrance: `manage.py help` lists the commands."""

import os
import sys
from pathlib import Path

from django.core.management import execute_from_command_line

from config.environment import env
from config.environment.sandbox_folder import CURRENT, DEFAULT, started_last
from kit.terminal.streams import prepare_outputs

SETTINGS = "config.settings"
SETTINGS_OF = {
    "deliver_webhooks": "config.runtime.sender_settings"
}  # for commands that need only some settings


def main() -> None:
    prepare_outputs()
    command = next(iter(sys.argv[1:]), "")
    if os.environ.get("DJANGO_SETTINGS_MODULE", SETTINGS) == SETTINGS:
        os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS_OF.get(command, SETTINGS)
    if command != "sandbox":  # it has an option for its folder
        use_the_sandbox_that_was_started_last()
    # Migrations and reports may take long. Only processes that serve requests need a statement timeout.
    os.environ.setdefault("DATABASE_STATEMENT_TIMEOUT", "0")
    execute_from_command_line(sys.argv)


def use_the_sandbox_that_was_started_last() -> None:
    """Let a command in a second terminal find the sandbox of the first one without a variable."""
    folder = started_last(Path(env.text("SANDBOX_CURRENT", default=str(CURRENT))))
    if env.text("ENVIRONMENT") == "production" or env.text("SANDBOX_DATA") or folder in (None, DEFAULT):
        return
    os.environ["SANDBOX_DATA"] = str(folder)
    print(f"Using the sandbox in {folder}, which was started last.", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main()
