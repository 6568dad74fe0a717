"""What the search of the documentation finds: operations, fields, events, errors, outcomes and sections of guides.

The entries come from the same sources as the pages.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from itertools import chain

from django.urls import reverse
from django.utils.html import strip_tags

from config.errors.error_codes import ERROR_CODES
from config.errors.error_details import DETAILS
from developer_site.guides.guide_sections import sections_in, sections_of
from developer_site.guides.guides import GUIDES, tokens_in
from developer_site.openapi.document import document
from developer_site.reference.pages import Kind, pages
from kit.api.fields.field_codes import FIELD_CODES
from payments.rules import outcomes
from payments.sandbox import sandbox_guide
from payments.sandbox.scenarios import scenarios
from webhooks.models import Event

LESS_USEFUL = frozenset({"changelog", "addresses"})  # guides that mention everything
OTHER_WORDS = {  # that readers use, by the title of what answers them
    "Lists": ("page", "pages", "paginate", "pagination", "paging", "cursor"),
    "Clients for your own code": ("library", "libraries", "npm", "pip", "sdk", "sdks"),
}
MOST_PAGES = 6  # that a field is listed with


@dataclass(frozen=True, slots=True)
class Entry:
    """A place of the documentation. `names` are the exact names that lead to it."""

    kind: str
    title: str
    address: str
    text: str
    trail: str = ""  # the page that it is a part of
    names: tuple[str, ...] = ()  # besides the title
    weight: float = 1.0  # of its matches


def entries() -> Iterator[Entry]:
    """Yield everything that can be found."""
    return chain(_pages(), _fields(), _errors(), _outcomes(), _sandbox(), _sections())


def _pages() -> Iterator[Entry]:
    for page in pages().values():
        address = f"{reverse('event-catalogue')}#{page.slug}" if page.kind is Kind.EVENT else page.address
        names, trail = (
            (page.path, page.summary) if page.method else ("", ""),
            page.summary if page.method else page.group,
        )
        yield Entry(
            page.kind.capitalize(), page.title, address, _plain(page.text), trail, (page.slug, *names), 1.5
        )


def _plain(html: str) -> str:
    return " ".join(unescape(strip_tags(html)).split())


def _fields() -> Iterator[Entry]:
    """Yield an entry for each path of a field, with the pages that have it. Requests come first."""
    found: dict[str, Entry] = {}
    titles: dict[str, list[str]] = {}
    names = set()
    for page in sorted(pages().values(), key=lambda each: each.kind is Kind.EVENT):
        for row in page.rows():
            if row.anchor and row.path not in found:
                is_first = row.name not in names
                names.add(row.name)
                found[row.path] = Entry(
                    "Field", row.name if is_first else row.path, f"{page.address}#{row.anchor}", _plain(row.words),
                    page.title, (row.path,), 1.0 if is_first else 0.4,
                )  # fmt: skip
            titles.setdefault(row.path, []).append(page.title)
    for path, entry in found.items():
        named = [title for title in dict.fromkeys(titles[path]) if title not in Event.labels][:MOST_PAGES]
        yield replace(entry, text=f"{entry.text} In: {'; '.join(named)}." if named else entry.text)


def _errors() -> Iterator[Entry]:
    """Yield the codes of errors, and those of single fields that are no codes of whole errors."""
    for code, kind in ERROR_CODES.items():
        text = " ".join((f"{kind.title}.", kind.help, *DETAILS.get(code, ()))).replace("`", "")
        address = reverse("error-page", args=[code])
        yield Entry("Error", code, address, text, f"HTTP status {kind.status}", (kind.title,), 1.6)
    for code, each in FIELD_CODES.items():
        if code not in ERROR_CODES:
            text = f"{each.meaning} {each.help}".replace("`", "")
            yield Entry(
                "Field error", code, f"{reverse('errors')}#field-{code}", text, "errors[].code", (), 1.5
            )


def _outcomes() -> Iterator[Entry]:
    """Yield an entry for each outcome code, with all its summaries."""
    address = f"{reverse('api-docs-page', args=['payment-object'])}#field-response_code"
    for code in outcomes.response_codes():
        meant = [each for each in outcomes.explained() if each.code == code]
        summaries = tuple(dict.fromkeys(each.summary for each in meant))
        advice = (
            " Check gateway_recommendation before you retry." if any(each.advice for each in meant) else ""
        )
        text = f"response_code {code}: {'; '.join(summaries)}.{advice}"
        yield Entry(
            "Outcome code", f"{code} {summaries[0]}", address, text, "response_code", (code, *summaries)
        )


def _sandbox() -> Iterator[Entry]:
    """Yield scenarios and tables of test data."""
    catalogue, listed = reverse("event-catalogue"), reverse("api-docs-page", args=["list-scenarios"])
    for scenario in scenarios():
        address = f"{catalogue}#{scenario.event.label}" if scenario.event else listed
        yield Entry("Scenario", scenario.name, address, f"{scenario.title}.", "Sandbox", weight=0.8)
    for table in sandbox_guide.tables():
        rows = (f"{row.trigger}: {row.status} {row.code} {row.result}" for row in table.rows)
        text = f"{table.note} {'; '.join(rows)}".replace("`", "").strip()
        cards = tuple(row.trigger for row in table.rows if row.trigger.isdecimal())
        yield Entry(
            "Test data", table.title, f"{reverse('test-data')}#{table.name}", text, "Test data", cards
        )


def _sections() -> Iterator[Entry]:
    """Yield the sections of the reference's introduction and of the guides."""
    reference, introduction = reverse("api-docs"), document()["info"]["description"]
    for section in list(sections_in(*tokens_in(introduction)))[1:]:
        names, there = OTHER_WORDS.get(section.title, ()), f"{reference}#{section.anchor}"
        yield Entry("Reference", section.title, there, section.text, "API reference", names, 1.5)
    for slug, guide in GUIDES.items():
        address, weight = reverse("guide", args=[slug]), 0.4 if slug in LESS_USEFUL else 1.0
        whole, *sections = sections_of(guide)
        yield Entry("Guide", guide.title, address, f"{guide.summary} {whole.text}", "", (slug,), weight * 1.6)
        for section in sections:
            names, there = OTHER_WORDS.get(section.title, ()), f"{address}#{section.anchor}"
            yield Entry("Guide", section.title, there, section.text, guide.title, names, weight)
