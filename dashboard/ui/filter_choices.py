"""Choices of filters: everything, or one of a kind."""

from collections.abc import Sequence


def choices(values: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the options of a filter, "All" first.

    >>> choices([("partially_refunded", "partially refunded")])
    [('', 'All'), ('partially_refunded', 'Partially refunded')]
    """
    return [("", "All"), *((value, label.capitalize()) for value, label in values)]
