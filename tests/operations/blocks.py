"""The commands of docs/operations.md, read from its blocks, so that no test repeats them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
GUIDE = PROJECT / "docs" / "operations.md"

HEADING = re.compile(r"#{2,3} (.+)")
FENCE = re.compile(r"```(\w+)")


@dataclass(frozen=True)
class Block:
    """A block of code of the guide, with the heading above it and its language."""

    section: str
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The commands of a `console` block, without their output, or the whole script of an `sh` block."""
        if self.language == "sh":
            return [self.text]
        return [line.removeprefix("$ ") for line in self.text.splitlines() if line.startswith("$ ")]

    def with_version(self, version: str) -> "Block":
        """Return the block for another version than the guide's example, 1.1."""
        assert "1.1" in self.text
        return replace(self, text=self.text.replace("1.1", version))


def read_blocks(guide: str) -> Iterator[Block]:
    section, lines = "", iter(guide.splitlines())
    for line in lines:
        if heading := HEADING.fullmatch(line):
            section = heading[1]
        elif fence := FENCE.fullmatch(line):
            text = list(iter(lambda: next(lines), "```"))
            yield Block(section, fence[1], "\n".join(text))


class Guide:
    """The guide's blocks, which tests take section by section. Those that none has taken remain."""

    def __init__(self) -> None:
        self.remaining = list(read_blocks(GUIDE.read_text()))

    def take(self, section: str, *, count: int) -> list[Block]:
        """Return all blocks of a section, in order.

        :raises AssertionError: the section has more or fewer blocks than the caller handles
        """
        taken = [block for block in self.remaining if block.section == section]
        assert len(taken) == count, f"{section!r} has {len(taken)} blocks; its test handles {count}"
        self.remaining = [block for block in self.remaining if block.section != section]
        return taken
