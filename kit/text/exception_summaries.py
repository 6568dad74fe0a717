"""What a log may say of an unexpected exception: no number, which could be a card's, and no row of the database."""

import re
import traceback

from django.db import Error as DatabaseError

_NUMBER = re.compile(r"[0-9][0-9 -]*[0-9]")


def summary_of(error: Exception) -> dict[str, str]:
    """Return the exception's type, its message without numbers and its location.

    The message of a database error is omitted, because it may quote a row.
    """
    return {
        "error": type(error).__name__,
        "said": "" if isinstance(error, DatabaseError) else _NUMBER.sub("…", str(error)),
        "where": "".join(traceback.format_tb(error.__traceback__)),
    }
