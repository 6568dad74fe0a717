"""Lists of the API, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from sluice.caller import Meta

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list. Iterating runs through this page and all that follow, which are fetched when they are needed.

    `next` is the target of the next page, or None. Of the address in the answer only path and query are used, and never
    its host: a hostile answer can't make this client send a signed request elsewhere.
    """

    data: list[T]
    next: str | None
    meta: Meta | None
    _fetch: Callable[[str], Page[T]] = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.data

    def pages(self) -> Iterator[Page[T]]:
        """Yield this page and all that follow."""
        page = self
        while True:
            yield page
            if page.next is None:
                return
            page = page._fetch(page.next)


def target_of(address: object) -> str | None:
    """Return path and query of an address, exactly as they are. The path begins with a slash.

    >>> target_of("https://pay.example/api/payments?cursor=a%3ab&limit=2")
    '/api/payments?cursor=a%3ab&limit=2'
    """
    if not isinstance(address, str) or not address:
        return None
    parts = urlsplit(address)
    path = "/" + parts.path.removeprefix("/")
    return f"{path}?{parts.query}" if parts.query else path
