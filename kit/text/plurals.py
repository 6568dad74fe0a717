"""Numbers that agree with their nouns, in messages and command output. Templates use Django's `pluralize`."""


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun. The plural is needed only if it isn't the singular with an s.

    >>> counted(1, "payment"), counted(0, "payment"), counted(1_200, "delivery", "deliveries")
    ('1 payment', '0 payments', '1,200 deliveries')
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
