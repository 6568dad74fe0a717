"""Errors for requests that conflict with the current state."""

from rest_framework import status

from kit.api.errors import Problem


class InvalidState(Problem):
    """The current state doesn't allow the request."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "invalid_state"
    default_detail = "The transaction's state does not allow this."


class AlreadyTransitioned(InvalidState):
    """The transaction was changed concurrently, or is already finished."""

    default_detail = "This transaction has changed in the meantime."
