"""Redirect targets, restricted to paths of this site."""

from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme


def is_safe_path(path: str) -> bool:
    """Return whether a path stays on this site."""
    return path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)


def safe_path(path: str) -> str:
    """Return the path, or the overview's path if it would leave this site."""
    return path if is_safe_path(path) else reverse("overview")
