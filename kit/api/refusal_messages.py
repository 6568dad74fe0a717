"""Refusals as messages, on the page that follows an action."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpRequest

from kit.api.errors import Problem


@contextmanager
def refusals_shown(request: HttpRequest, *, done: str = "") -> Iterator[None]:
    """Do something, and show its refusal as a message, or otherwise that it was done."""
    try:
        yield
    except Problem as refusal:
        messages.error(request, str(refusal.detail))
    else:
        if done:
            messages.success(request, done)
