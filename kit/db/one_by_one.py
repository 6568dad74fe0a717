"""Work on rows one by one, each in a database transaction of its own."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import structlog
from django.db import InterfaceError, OperationalError

from kit.db import locks
from kit.text.exception_summaries import summary_of

Row = TypeVar("Row")
Result = TypeVar("Result")

log = structlog.get_logger("sluice.work")


def one_by_one(act: Callable[[Row], Result], rows: Iterable[Row], *, failure: str) -> Iterator[Result | None]:
    """Act on each row, and yield the results. A failure of one is logged and yields None: it must not stop the others.

    :raises OperationalError: the database is unavailable, which is no failure of one
    :raises InterfaceError: likewise
    """
    for row in rows:
        try:
            yield act(row)
        except Exception as error:
            if is_database_unavailable(error):
                raise
            log.error(failure, row=str(getattr(row, "pk", row)), **summary_of(error))  # noqa: TRY400  (the message may quote a row)
            yield None


def is_database_unavailable(error: Exception) -> bool:
    """Return whether an error affects all rows. A lock time-out affects only one."""
    return isinstance(error, OperationalError | InterfaceError) and not locks.is_lock_error(error)
