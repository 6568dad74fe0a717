"""The database's clock: one for all processes, whichever machine they run on."""

from datetime import datetime

from django.db import connection
from django.utils import timezone


def database_now() -> datetime:
    """Return the moment that the database's clock shows; within a transaction it goes on.

    SQLite runs in this very process, and its clock is the process's.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment
