"""JSON values written as source code: as Python, as JavaScript, and as JSON to be read."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

WIDTH = 88  # characters; a longer value is written on several lines
BASIC_PLANE = 0xFFFF  # the last code point that one \u escape can name


class Member(NamedTuple):
    """An item between brackets: what precedes its value, the value, and a comment on the line."""

    before: str
    value: Any
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Language:
    """How a language writes values. `name` writes the name of an object's member."""

    indent: str
    words: Mapping[Any, str]  # of None, True and False
    text: Callable[[str], str]
    name: Callable[[str], str]
    comment: str = ""  # what begins a comment, with the blanks around it
    pad: str = ""  # inside the braces of an object on one line
    has_trailing_commas: bool = True

    def write(self, value: Any, *, column: int = 0, depth: int = 0) -> str:
        """Write a JSON value that begins at a column, in code that is indented by `depth` steps."""
        if isinstance(value, Mapping):
            members = [Member(f"{self.name(str(name))}: ", each) for name, each in value.items()]
            return self.enclose("{", members, "}", pad=self.pad, column=column, depth=depth)
        if isinstance(value, list | tuple):
            return self.enclose("[", [Member("", each) for each in value], "]", column=column, depth=depth)
        if isinstance(value, str):
            return self.text(value)
        return self.words[value] if value is None or isinstance(value, bool) else json.dumps(value)

    def enclose(
        self,
        opening: str,
        members: Sequence[Member],
        closing: str,
        *,
        pad: str = "",
        column: int = 0,
        depth: int = 0,
    ) -> str:
        """Write members between brackets, on one line if they fit and have no comments."""
        line = ", ".join(member.before + self.write(member.value) for member in members)
        line = f"{opening}{pad}{line}{pad}{closing}" if members else opening + closing
        is_short = "\n" not in line and column + len(line) < WIDTH
        if not members or (is_short and not any(member.comment for member in members)):
            return line
        lines = [self._line(member, depth + 1) for member in members]
        if not self.has_trailing_commas:
            lines[-1] = lines[-1].removesuffix(",")
        return "\n".join([opening, *lines, self.indent * depth + closing])

    def _line(self, member: Member, depth: int) -> str:
        start = self.indent * depth + member.before
        text = f"{start}{self.write(member.value, column=len(start), depth=depth)},"
        return f"{text}{self.comment}{member.comment}" if member.comment else text


def _quoted(text: str, escape: Callable[[int], str]) -> str:
    """Return a text in quotation marks, with escapes for everything that can't be seen."""
    return "".join(
        letter if letter.isprintable() else _escaped(ord(letter), escape)
        for letter in json.dumps(text, ensure_ascii=False)
    )


def _escaped(code: int, escape: Callable[[int], str]) -> str:
    return escape(code) if code > BASIC_PLANE else f"\\u{code:04x}"


def _python_text(text: str) -> str:
    return _quoted(text, "\\U{:08x}".format)


def _node_text(text: str) -> str:
    return _quoted(text, "\\u{{{:x}}}".format)


def _json_text(text: str) -> str:
    return _quoted(text, lambda code: json.dumps(chr(code))[1:-1])


def _node_name(name: str) -> str:
    """Return the name of a property. `__proto__` without brackets would set the object's prototype."""
    if name == "__proto__":
        return f'["{name}"]'
    return name if re.fullmatch("[A-Za-z_$][A-Za-z0-9_$]*", name) else _node_text(name)


WORDS = {None: "null", True: "true", False: "false"}

PYTHON = Language(
    "    ", {None: "None", True: "True", False: "False"}, _python_text, _python_text, comment="  # "
)
NODE = Language("  ", WORDS, _node_text, _node_name, comment=" // ", pad=" ")
JSON = Language("  ", WORDS, _json_text, _json_text, has_trailing_commas=False)
