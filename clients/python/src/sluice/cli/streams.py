"""Standard output and error of a terminal, a pipe or a file that can't take everything."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

# C0 without tab and line feed, DEL, C1, and the marks that change the direction of text: a terminal acts upon them.
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def prepare_streams() -> None:
    """Let no character and no closed stream end a command."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Write what is still buffered, and all that follows, nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Print progress, which is no result."""
    print(safe(text, sys.stderr), file=sys.stderr, flush=True)


def safe(text: str, stream: TextIO) -> str:
    """Return a text with the characters escaped that a terminal would act upon, if it goes to one."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if stream.isatty() else text
