"""What a collection consists of, in no format: folders of requests with their checks.

Paths and bodies hold variables, as `{{payment_reference}}`. Postman and Bruno write them alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

NEW_REFERENCE = "{{new_reference}}"  # set by the signing script before each request
BASE_URL = "{{base_url}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A query parameter or header that is written down but not sent until the user enables it."""

    name: str
    value: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A response that the OpenAPI document shows."""

    name: str
    status: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, with what its response must have and what later requests use of the response."""

    name: str
    method: str
    url: str
    text: str = ""
    query: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    body: str = ""  # JSON
    form: Mapping[str, str] = field(default_factory=dict)  # instead of a body; redirects are not followed
    accepted: tuple[int | str, ...]  # statuses of success, and codes of problems
    expected: Mapping[str, str] = field(default_factory=dict)  # fields of the response
    saved: Mapping[str, str] = field(default_factory=dict)  # variables, and dotted paths of the response
    examples: tuple[Example, ...] = ()

    @property
    def accepts_problems(self) -> bool:
        return any(isinstance(each, str) for each in self.accepted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    name: str
    text: str
    items: tuple[Folder | Request, ...]
    is_sandbox_only: bool = False  # its requests refuse a live key

    def requests(self) -> Iterator[Request]:
        """Yield all requests in the order in which they run."""
        for item in self.items:
            if isinstance(item, Folder):
                yield from item.requests()
            else:
                yield item


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    name: str
    text: str
    base_url: str
    folders: tuple[Folder, ...]
    variables: Mapping[str, str]  # those that responses set, with their first values
