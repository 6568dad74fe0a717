"""The third column of the API reference: a request as source code, and what the API returns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from dashboard.ui.json_markup import json_markup
from developer_site.guides.request_samples import LANGUAGES
from developer_site.reference.code_markup import code_markup
from developer_site.reference.pages import ErrorCode, Kind, ReferencePage, Success, pages
from payments.rules.code_samples import SampleCall, sample

SHOWN_ERRORS = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)  # one example each
MOST_SUCCESSES = 3
MOST_ITEMS = 2  # of a list
KEY = re.compile('<span class="k">([^<]*)</span>:')


@dataclass(frozen=True, slots=True)
class Tab:
    """A text that can be chosen among others."""

    name: str
    label: str
    code: SafeString


@dataclass(frozen=True, slots=True)
class Column:
    """What stands beside the text of a page."""

    requests: tuple[Tab, ...]
    answers: tuple[Tab, ...]


@lru_cache(maxsize=512)
def column_of(slug: str, example: str) -> Column:
    """Return the column of a page for one of its examples."""
    page = pages()[slug]
    if page.kind is not Kind.OPERATION:
        label = "Body" if page.kind is Kind.EVENT else "Object"
        return Column((), (Tab("example", label, _json(page.examples[example]["value"])),))
    return Column(tuple(_requests(page, example)), tuple(_answers(page, example)))


@cache
def event_bodies(event: str) -> tuple[Tab, ...]:
    """Return the example bodies of an event, one for each flow."""
    examples = pages()[event].examples
    return tuple(
        Tab(name.replace("_", "-"), each["summary"], _plain_json(each["value"]))
        for name, each in examples.items()
    )


def example_named(page: ReferencePage, name: str) -> str:
    """Return the name of an example: the given one if the page has it, otherwise the first."""
    return name if name in page.examples else next(iter(page.examples), "")


def _requests(page: ReferencePage, example: str) -> Iterator[Tab]:
    body = page.examples[example]["value"] if example else None
    call = SampleCall(page.method, page.target, body)
    for language, label in LANGUAGES.items():
        yield Tab(language, label, code_markup(sample(call, language, is_sandbox=settings.SANDBOX)))


def _answers(page: ReferencePage, example: str) -> Iterator[Tab]:
    for success in page.successes[:1]:
        yield from _successes(success, example)
    seen: set[int] = set()
    for error in page.own_errors:
        if error.status in SHOWN_ERRORS and error.status not in seen:
            seen.add(error.status)
            yield _error(error)


def _json(document: Any) -> SafeString:
    """Return a document as JSON with coloured values. Lists are cut to two items. Quotes need no escape between tags."""
    if isinstance(document.get("data"), list):
        document = document | {"data": document["data"][:MOST_ITEMS]}
    text = KEY.sub(r"\1:", json_markup(document)).replace("&quot;", '"')
    return mark_safe(text)  # noqa: S308  (it is escaped)


def _plain_json(document: Any) -> SafeString:
    """Return a document as JSON without colours, for a page with many."""
    text = escape(json.dumps(document, indent=2, ensure_ascii=False))
    return mark_safe(text.replace("&quot;", '"'))  # noqa: S308  (it is escaped)


def _successes(success: Success, example: str) -> Iterator[Tab]:
    """Yield the response to an example of a request if it has one, otherwise the first ones."""
    fitting = {name: each for name, each in success.examples.items() if name == example}
    shown = fitting or dict(list(success.examples.items())[:MOST_SUCCESSES])
    for name, each in shown.items():
        label = f"{success.status} {each['summary']}" if len(shown) > 1 else str(success.status)
        yield Tab(name.replace("_", "-"), label, _json(each["value"]))


def _error(error: ErrorCode) -> Tab:
    return Tab(f"error-{error.status}", str(error.status), _json(error.example))
