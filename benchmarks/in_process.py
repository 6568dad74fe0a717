"""Run our code in the measuring process, with its own database."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from tests.journeys.service import postgresql_database


@contextmanager
def own_database() -> Iterator[str]:
    """Set Django up with a new database on the server of DATABASE_URL, and drop it afterwards.

    Use this once per process. Models can be imported only inside the block.
    """
    with (
        TemporaryDirectory(prefix="sluice-bench-") as folder,
        postgresql_database(os.environ["DATABASE_URL"]) as url,
    ):
        os.environ |= {
            "DATABASE_URL": url,
            "SANDBOX_DATA": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "LOG_LEVEL": "ERROR",
            "REDIS_URL": "",
        }
        import django  # noqa: PLC0415  (the settings read the environment)

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415
        from django.db import connections  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        try:
            yield url
        finally:
            connections.close_all()
