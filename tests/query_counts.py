"""Count the queries of a page or a service, without the statements that only begin, end or plan a transaction."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.test.utils import CaptureQueriesContext

FRAMES = ("SAVEPOINT", "RELEASE SAVEPOINT", "BEGIN", "COMMIT", "SET LOCAL")


@contextmanager
def at_most(most: int) -> Iterator[None]:
    """Fail if more than `most` queries are made."""
    with CaptureQueriesContext(connection) as captured:
        yield
    made = [each["sql"] for each in captured.captured_queries if not each["sql"].startswith(FRAMES)]
    assert len(made) <= most, "\n".join([f"{len(made)} queries instead of {most}:", *made])
