"""CPU time that processes have used, from the kernel. Works on Linux, for processes of this machine."""

import os
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: Iterable[int]) -> dict[int, float]:
    """Return the CPU seconds used so far by each process that still exists, all its threads included."""
    found = {}
    for pid in pids:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            continue
        found[pid] = sum(map(int, stat.rsplit(")", 1)[1].split()[11:13])) / TICKS
    return found


def used_between(before: dict[int, float], after: dict[int, float]) -> float:
    """Return the CPU seconds used between two readings. A process that is new in the second counts from zero."""
    return sum(seconds - before.get(pid, 0) for pid, seconds in after.items())


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
