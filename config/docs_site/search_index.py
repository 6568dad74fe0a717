"""What the search of the documentation finds: operations, fields, events, errors, outcomes and sections of guides.

The index is made once per process, from the same sources as the pages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import chain, groupby

from django.urls import reverse
from django.utils.html import strip_tags

from config.docs_site.guide_sections import sections_in, sections_of
from config.docs_site.guides import GUIDES, tokens_in
from config.docs_site.reference.fields import FieldRow
from config.docs_site.reference.pages import Kind, ReferencePage, pages
from config.error_codes import ERROR_CODES
from config.error_details import DETAILS
from config.openapi.generated import document
from kit.api.field_codes import FIELD_CODES
from payments import outcomes, sandbox_guide
from payments.scenarios import scenarios
from webhooks.models import Event

LESS_USEFUL = frozenset({"changelog", "invariants", "addresses"})  # guides that mention everything
KINDS = {Kind.OPERATION: "Operation", Kind.EVENT: "Event", Kind.OBJECT: "Object"}
MOST_PAGES = 6  # that a field is listed with


@dataclass(frozen=True, slots=True)
class Entry:
    """A place of the documentation. `keys` are the exact names that lead to it, in lower case."""

    kind: str
    title: str
    address: str
    text: str
    trail: str = ""  # the page that it is a part of
    keys: frozenset[str] = frozenset()
    weight: float = 1.0  # of its matches


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """Return everything that can be found."""
    return tuple(
        chain(
            _pages(),
            _fields(),
            _errors(),
            _field_codes(),
            _outcomes(),
            _scenarios(),
            _test_data(),
            _introduction(),
            _guides(),
        )
    )


def _pages() -> Iterator[Entry]:
    for page in pages().values():
        names = {page.title, page.slug, page.path, page.summary} if page.method else {page.title, page.slug}
        is_event = page.kind is Kind.EVENT
        yield Entry(
            kind=KINDS[page.kind],
            title=page.title,
            address=f"{reverse('event-catalogue')}#{page.slug}" if is_event else page.address,
            text=_plain(page.text),
            trail=page.summary if page.method else page.group,
            keys=_keys(names),
            weight=1.5,
        )


def _plain(html: str) -> str:
    return " ".join(unescape(strip_tags(html)).split())


def _fields() -> Iterator[Entry]:
    """Yield an entry for each name of a field, with the pages that have it, and for each further path. Requests come first."""
    found = [
        (row, page)
        for page in sorted(pages().values(), key=lambda each: each.kind is Kind.EVENT)
        for row in page.rows()
        if row.anchor
    ]
    found.sort(key=lambda each: each[0].name)
    for _, uses in groupby(found, key=lambda each: each[0].name):
        by_path: dict[str, list[tuple[FieldRow, ReferencePage]]] = {}
        for row, page in uses:
            by_path.setdefault(row.path, []).append((row, page))
        (first, *rest), all_pages = by_path.values(), [page for each in by_path.values() for _, page in each]
        yield _field(*first[0], all_pages, title=first[0][0].name)
        for further in rest:
            yield _field(*further[0], [page for _, page in further], weight=0.4)


def _field(
    row: FieldRow,
    page: ReferencePage,
    having: Iterable[ReferencePage],
    *,
    title: str = "",
    weight: float = 1.0,
) -> Entry:
    """Return the entry of a field of a page, with all pages that have it. Titled with its path by default."""
    return Entry(
        kind="Field",
        title=title or row.path,
        address=f"{page.address}#{row.anchor}",
        text=f"{_plain(row.words)} {_listed(dict.fromkeys(each.title for each in having))}".strip(),
        trail=page.title,
        keys=_keys({title, row.path}),
        weight=weight,
    )


def _listed(titles: Collection[str]) -> str:
    """Return the pages that have a field. Events have it in common, and are not named."""
    named = [title for title in titles if title not in Event.labels][:MOST_PAGES]
    return f"In: {'; '.join(named)}." if named else ""


def _errors() -> Iterator[Entry]:
    for code, kind in ERROR_CODES.items():
        yield Entry(
            kind="Error",
            title=code,
            address=reverse("error-page", args=[code]),
            text=" ".join((f"{kind.title}.", kind.help, *DETAILS.get(code, ()))).replace("`", ""),
            trail=f"HTTP status {kind.status}",
            keys=_keys({code, kind.title}),
            weight=1.5,
        )


def _field_codes() -> Iterator[Entry]:
    """Yield the codes of single fields, except those that are also codes of whole errors."""
    for code, each in FIELD_CODES.items():
        if code not in ERROR_CODES:
            yield Entry(
                kind="Field error",
                title=code,
                address=f"{reverse('errors')}#field-{code}",
                text=f"{each.meaning} {each.help}".replace("`", ""),
                trail="errors[].code",
                keys=_keys({code}),
                weight=1.5,
            )


def _outcomes() -> Iterator[Entry]:
    """Yield an entry for each outcome code, with all its summaries."""
    address = f"{reverse('api-docs-page', args=['payment-object'])}#field-response_code"
    for code in outcomes.response_codes():
        meant = [each for each in outcomes.explained() if each.code == code]
        advice = (
            "Check gateway_recommendation before you retry." if any(each.advice for each in meant) else ""
        )
        summaries = dict.fromkeys(each.summary for each in meant)
        yield Entry(
            kind="Outcome code",
            title=f"{code} {next(iter(summaries))}",
            address=address,
            text=f"response_code {code}: {'; '.join(summaries)}. {advice}".strip(),
            trail="response_code",
            keys=_keys({code, *summaries}),
            weight=1.5,
        )


def _scenarios() -> Iterator[Entry]:
    for scenario in scenarios():
        listed = reverse("api-docs-page", args=["list-scenarios"])
        yield Entry(
            kind="Scenario",
            title=scenario.name,
            address=f"{reverse('event-catalogue')}#{scenario.event.label}" if scenario.event else listed,
            text=f"{scenario.title}.",
            trail="Sandbox",
            keys=_keys({scenario.name}),
            weight=0.8,
        )


def _test_data() -> Iterator[Entry]:
    for table in sandbox_guide.tables():
        rows = (f"{row.trigger}: {row.status} {row.code} {row.result}" for row in table.rows)
        yield Entry(
            kind="Test data",
            title=table.title,
            address=f"{reverse('test-data')}#{table.name}",
            text=f"{table.note} {'; '.join(rows)}".replace("`", "").strip(),
            trail="Test data",
            keys=_keys({row.trigger for row in table.rows if row.trigger.isdecimal()} | {table.title}),
        )


def _introduction() -> Iterator[Entry]:
    """Yield the sections before the operations of the reference."""
    for section in sections_in(*tokens_in(document()["info"]["description"])):
        if section.anchor:
            yield Entry(
                kind="Reference",
                title=section.title,
                address=f"{reverse('api-docs')}#{section.anchor}",
                text=section.text,
                trail="API reference",
                keys=_keys({section.title}),
            )


def _guides() -> Iterator[Entry]:
    for slug, guide in GUIDES.items():
        for section in sections_of(guide):
            is_whole = not section.anchor
            yield Entry(
                kind="Guide",
                title=guide.title if is_whole else section.title,
                address=reverse("guide", args=[slug]) + (f"#{section.anchor}" if section.anchor else ""),
                text=f"{guide.summary} {section.text}" if is_whole else section.text,
                trail="" if is_whole else guide.title,
                keys=_keys({guide.title, slug} if is_whole else {section.title}),
                weight=0.4 if slug in LESS_USEFUL else 1.2 if is_whole else 1.0,
            )


def _keys(names: set[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names if name)
