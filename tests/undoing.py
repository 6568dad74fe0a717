"""A database transaction around each run of a state machine, rolled back at its end."""

from django.db import transaction as database
from django.db.transaction import Atomic

from payments.trace_numbers import trace_numbers


def begin_undone() -> Atomic:
    """Begin a transaction that Django treats as a test's own, so that code that must not run in one can
    run.
    """
    undone = database.atomic()
    undone._from_testcase = True
    undone.__enter__()
    trace_numbers.discard()  # the previous run rolled its reservation back
    return undone


def undo(begun: Atomic) -> None:
    database.set_rollback(True)
    begun.__exit__(None, None, None)
