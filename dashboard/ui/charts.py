"""What charts share: the height of their box, and the value at its upper edge."""

BOX = 100.0
STEPS = (1, 2, 5)


def round_up(value: float) -> int:
    """Round up to 1, 2 or 5 times a power of ten.

    >>> [round_up(value) for value in (0, 1, 3, 7, 12, 180, 999)]
    [1, 1, 5, 10, 20, 200, 1000]
    """
    power = 1
    while True:
        for step in STEPS:
            if value <= step * power:
                return step * power
        power *= 10
