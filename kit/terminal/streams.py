"""Standard output and error that can't take everything: another encoding, a closed pipe, a full disk."""

import io
import os
import sys


class LossyOutput(io.TextIOWrapper):
    """An output that is discarded from its first error on, so that a command finishes its work with its own exit code."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as problem:
            self._discard(problem)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as problem:
            self._discard(problem)

    def _discard(self, problem: OSError) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        if not isinstance(problem, BrokenPipeError):  # the reader, such as `head`, has enough
            message = (
                f"The output could not be written: {problem.strerror}. The exit code is that of the command."
            )
            print(message, file=sys.stderr)  # noqa: T201


def prepare_outputs() -> None:
    """Let no character and no output that is full or closed end this process."""
    for name in ("stdout", "stderr"):
        given = getattr(sys, name)
        output = LossyOutput(
            open(os.devnull, "wb") if given is None else given.buffer,  # noqa: SIM115, PTH123  (None: closed)
            encoding="utf-8" if given is None else given.encoding,
            errors="backslashreplace",
            line_buffering=given is not None and given.line_buffering,
            write_through=given is not None and given.write_through,
        )
        setattr(sys, name, output)
