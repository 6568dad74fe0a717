"""Run our code in the measuring process, with its own database."""

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from unittest.mock import patch
from urllib.parse import urlsplit

import django
from django.core.management import call_command
from django.db import connections
from django.utils.module_loading import import_string

from benchmarks.figures import Figure
from benchmarks.parts import Part
from tests.journeys.service import postgresql_database

InProcessPart = Callable[[str, argparse.Namespace], Iterator[Figure]]


def in_own_database(name: str) -> Part:
    """Return a part that runs the named function with the URL of a new database.

    The function is given by its dotted name: its module imports models, which needs Django to be set up.
    """

    def run(options: argparse.Namespace) -> Iterator[Figure]:
        with _own_database() as url:
            part: InProcessPart = import_string(name)
            yield from part(url, options)

    return run


@contextmanager
def _own_database() -> Iterator[str]:
    """Set Django up with a new database on the server of DATABASE_URL, and drop it afterwards."""
    with (
        TemporaryDirectory(prefix="sluice-bench-") as folder,
        postgresql_database(os.environ["DATABASE_URL"]) as url,
    ):
        environment = {
            "DATABASE_URL": url,
            "SANDBOX_DATA": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "LOG_LEVEL": "ERROR",
            "REDIS_URL": "",
        }
        with patch.dict(os.environ, environment):  # further parts start processes with the server's address
            django.setup()
            # Settings are read once in a process, which may run several parts.
            connections["default"].settings_dict["NAME"] = urlsplit(url).path.lstrip("/")
            call_command("migrate", verbosity=0)
            try:
                yield url
            finally:
                connections.close_all()
