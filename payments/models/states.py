"""What is refused because of the state that something is in."""

from rest_framework import status

from kit.api.errors import Problem


class InvalidState(Problem):
    """What was asked does not fit the state that the transaction is in."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "invalid_state"
    default_detail = "The transaction's state does not allow this."


class AlreadyMoved(InvalidState):
    """Somebody else has moved the transaction, or finished it: a finished one never moves again."""

    default_detail = "This transaction has moved on in the meantime."
