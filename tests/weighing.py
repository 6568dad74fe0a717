"""Page weight before compression: the document with its stylesheets and scripts. Icons are not counted."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser

ICON = re.compile(r'<svg [^>]*viewBox="0 0 (?:16 16|20 20|24 24)".*?</svg>', re.DOTALL)


@dataclass(frozen=True)
class Weight:
    """Sizes in bytes."""

    document: int
    styles: int
    scripts: int  # beyond htmx
    htmx: int

    @property
    def page(self) -> int:
        """Return the total without htmx, which only pages that refresh automatically load."""
        return self.document + self.styles + self.scripts


def weigh(document: str, read: Callable[[str], bytes]) -> Weight:
    """Return the weight of a page. `read` returns the content at a URL."""
    linked = _Linked(document)
    own = [address for address in linked.scripts if "htmx" not in address]
    return Weight(
        document=len(ICON.sub("", document).encode()),
        styles=sum(len(read(address)) for address in linked.styles),
        scripts=sum(len(read(address)) for address in own),
        htmx=sum(len(read(address)) for address in linked.scripts if address not in own),
    )


class _Linked(HTMLParser):
    def __init__(self, document: str) -> None:
        super().__init__()
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") == "stylesheet":
            self.styles.append(given["href"] or "")
        if tag == "script" and given.get("src"):
            self.scripts.append(given["src"] or "")
