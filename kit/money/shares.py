"""Shares of a whole, in tenths of a percent."""

WHOLE = 1000


def rounded_share(part: int, whole: int) -> int:
    """Return a share, rounded half up. It may exceed the whole.

    >>> rounded_share(12, 18), rounded_share(14, 30), rounded_share(3, 2)
    (667, 467, 1500)
    """
    return (2 * WHOLE * part + whole) // (2 * whole)


def per_mille(part: int, whole: int) -> int:
    """Return a share, rounded half up, but the whole for everything only, and zero for nothing only.

    >>> per_mille(12, 18), per_mille(9_999, 10_000), per_mille(1, 10_000), per_mille(5, 5), per_mille(0, 5)
    (667, 999, 1, 1000, 0)
    """
    if part in (0, whole):
        return WHOLE if part else 0
    return min(max(rounded_share(part, whole), 1), WHOLE - 1)
