"""What PostgreSQL says of locks that could not be had."""

from django.db import OperationalError

NOT_AVAILABLE = "55P03"  # waited for as long as lock_timeout allows
DEADLOCK = "40P01"


def code_of(error: Exception) -> str:
    """Return PostgreSQL's code of a database error; nothing where the error came from somewhere else."""
    return getattr(error.__cause__, "sqlstate", None) or ""


def is_waiting_in_vain(error: Exception) -> bool:
    """Return whether a lock was waited for as long as allowed: somebody else holds it."""
    return isinstance(error, OperationalError) and code_of(error) == NOT_AVAILABLE


def is_about_a_lock(error: Exception) -> bool:
    """Return whether these rows only could not be had, while the database itself is well."""
    return isinstance(error, OperationalError) and code_of(error) in {NOT_AVAILABLE, DEADLOCK}
