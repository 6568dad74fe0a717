"""Errors of the client. All are `SluiceError`s."""


class SluiceError(Exception):
    """Anything that this client raises about a request, an answer or an event."""
