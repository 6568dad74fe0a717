"""The rows of a list, as its page reads, counts and sums them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

Rows = QuerySet[Any]


class ListRows:
    """The rows that a valid filter finds. `instead` replaces values of the filter, as tabs do."""

    sums_are = ""  # such as "succeeded"
    are_disjoint = False  # whether no row is in two of the sources, which makes counting cheaper

    def sources(self, **instead: str) -> Sequence[Rows]:
        """Return the matching rows, as querysets with an index each."""
        raise NotImplementedError

    def is_scan(self, **instead: str) -> bool:
        """Return whether some condition has no index, so that many rows could be read for few matches."""
        return False

    def newest(self) -> Rows:
        """Return the rows whose newest are counted for conditions without an index."""
        raise NotImplementedError

    def indexed(self) -> Rows:
        """Return the rows that the page reads for conditions without an index."""
        return self.newest()

    def sums(self) -> Sequence[str]:
        """Return the sums of the rows, whose exact number was counted."""
        return ()
