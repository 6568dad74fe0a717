"""Values of people and of the network can't control the terminal of an operator; an empty database is named."""

import io
import logging
import logging.config
import os
import subprocess
import sys

import pytest
from django.core.management import call_command

from config.logging import logs
from kit.terminal.terminal import escaped
from merchants.models import Business
from tests.factories import BusinessFactory
from tests.journeys.service import PROJECT

HOSTILE = "\x1b[8m\x00\r\x7f\x9b2J\u202e\u2066"
HARMLESS = "\\x1b[8m\\x00\\r\\x7f\\x9b2J\\u202e\\u2066"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_leaves_other_text_as_it_is():
    assert escaped("Ọláídé\tÑ\n₦2,500 👍🏽") == "Ọláídé\tÑ\n₦2,500 👍🏽"


@pytest.mark.django_db
def test_commands_escape_control_characters_on_a_terminal():
    hostile, harmless = HOSTILE.replace("\x00", ""), HARMLESS.replace("\\x00", "")  # PostgreSQL stores no NUL
    Business.objects.filter(pk=BusinessFactory().pk).update(name=f"Ada{hostile}")
    terminal, file = Terminal(), io.StringIO()

    for output in (terminal, file):
        call_command("list_businesses", stdout=output)

    assert f"Ada{harmless}" in terminal.getvalue()
    assert f"Ada{hostile}" in file.getvalue()


def test_log_on_a_terminal_escapes_control_characters():
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    before = logging.root.handlers[:], logging.root.level
    try:
        logs.configure(level="INFO", as_json=False)
        handler.setFormatter(logging.root.handlers[0].formatter)
        handler.handle(logging.makeLogRecord({"name": "sluice.requests", "msg": f"GET /{HOSTILE}"}))
    finally:
        logging.root.handlers[:], logging.root.level = before

    assert HARMLESS in lines.getvalue()


@pytest.mark.parametrize("command", [["list_businesses"], ["deliver_webhooks", "--once"]])
def test_on_a_database_that_is_not_migrated_says_what_to_run(tmp_path, command):
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"], "SANDBOX_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "CommandError: The database is not migrated. Run manage.py migrate.\n"
