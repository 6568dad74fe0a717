"""Addresses that lead nowhere but to our own pages."""

from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme


def is_own_path(path: str) -> bool:
    return path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)


def own_path(path: str) -> str:
    """Return the path, or the overview's where it would lead away from here."""
    return path if is_own_path(path) else reverse("overview")
