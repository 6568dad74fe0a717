"""The sections of the guides as plain text, for the search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from developer_site.guides.guides import Guide, plain_text, tokens_of

TEXTS = frozenset({"inline", "fence", "code_block"})


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under a heading of a guide. The first section has no heading of its own and no anchor."""

    title: str
    anchor: str
    text: str


def sections_of(guide: Guide) -> Iterator[Section]:
    """Yield the sections of a guide in their order, those of each level of headings."""
    return sections_in(*tokens_of(guide))


def sections_in(title: str, tokens: Sequence[Token]) -> Iterator[Section]:
    """Yield the sections of a text."""
    anchor, texts = "", list[str]()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            yield Section(title, anchor, _joined(texts))
            title, anchor, texts = plain_text(tokens[place + 1]), str(token.attrs["id"]), []
        elif token.type in TEXTS and tokens[place - 1].type != "heading_open":
            texts.append(_text_of(token))
    yield Section(title, anchor, _joined(texts))


def _text_of(token: Token) -> str:
    if token.type != "inline":
        return token.content
    return "".join(" " if "break" in child.type else child.content for child in token.children or [])


def _joined(texts: list[str]) -> str:
    return " ".join(" ".join(texts).split())
