"""Mounts and a network that only this process and its children have. They end with the last of these processes."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def private_mounts() -> Iterator[None]:
    """Keep the mounts of containers away from the machine."""
    with _namespace("mnt", CLONE_NEWNS):
        _run("mount", "--make-rprivate", "/")
        # crun refuses cgroup v1 and v2 side by side, even for containers without cgroups.
        if Path("/sys/fs/cgroup/unified").is_dir():
            _run("mount", "-t", "tmpfs", "none", "/sys/fs/cgroup")
        yield


@contextmanager
def private_network(address: str) -> Iterator[None]:
    """Have a loopback interface only, with another address. Packets can't leave the machine."""
    with _namespace("net", CLONE_NEWNET):
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "address", "add", f"{address}/32", "dev", "lo")
        yield


@contextmanager
def _namespace(kind: str, flag: int) -> Iterator[None]:
    """Move this thread, and what it starts, into a new namespace; return to the previous one at the end."""
    folder = Path.cwd()
    with Path("/proc/thread-self/ns", kind).open("rb") as previous:
        _check(_libc.unshare(flag))
        try:
            yield
        finally:
            _check(_libc.setns(previous.fileno(), flag))
            os.chdir(folder)  # entering a mount namespace changes to its root


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=30)
