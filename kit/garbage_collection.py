"""Fewer runs of Python's cyclic garbage collector, for processes that make many short-lived objects.

Reference counting frees nearly all objects at once. The collector only finds cycles, and by default looks for them
after every 700 new objects: a third of the CPU of a process that sends webhooks.
"""

import gc

YOUNG = 20_000  # new objects, less those that were freed, after which the youngest are searched: a few MB


def collect_less_often() -> None:
    """Collect garbage less often in this process, and never search the objects that exist now, such as modules."""
    _, middle, old = gc.get_threshold()
    gc.set_threshold(YOUNG, middle, old)
    gc.collect()
    gc.freeze()
