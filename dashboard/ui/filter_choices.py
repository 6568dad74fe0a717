"""Choices of filters."""

from collections.abc import Sequence


def choices(values: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the options of a filter, with "All" first.

    >>> choices([("partially_refunded", "partially refunded")])
    [('', 'All'), ('partially_refunded', 'Partially refunded')]
    """
    return [("", "All"), *((value, label.capitalize()) for value, label in values)]
