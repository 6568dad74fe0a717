"""The catalogue of events, made of the OpenAPI document and the sandbox's scenarios."""

from dataclasses import dataclass, replace
from functools import lru_cache

from developer_site.openapi.document import document
from developer_site.reference.fields import FieldRow
from developer_site.reference.pages import ReferencePage, large_objects, pages
from developer_site.reference.samples import Tab, event_bodies
from payments.sandbox.scenarios import Scenario, scenarios
from webhooks.models import Event, category_of


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """An event: when it is sent, to which endpoints, its schema and examples, and what triggers it in the sandbox."""

    page: ReferencePage
    subscription: str
    schema: str
    data: str  # name of the schema of `data`
    data_address: str
    bodies: tuple[Tab, ...]
    scenarios: tuple[Scenario, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All events, with what their requests have in common."""

    headers: tuple[FieldRow, ...]
    envelope: tuple[FieldRow, ...]
    entries: tuple[CatalogueEntry, ...]


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Return the catalogue. It is made once per process."""
    entries = tuple(map(_entry, Event))
    headers, body = entries[0].page.groups
    envelope = tuple(
        replace(row, values=()) if row.name == "event" else row for row in body.rows if row.name != "data"
    )
    return Catalogue(headers.rows, envelope, entries)


def _entry(event: Event) -> CatalogueEntry:
    schemas = document()["components"]["schemas"]
    mapping = schemas["WebhookEvent"]["discriminator"]["mapping"]
    schema = mapping[event.label].rpartition("/")[2]
    data = schemas[schema]["properties"]["data"]["$ref"].rpartition("/")[2]
    page = pages()[event.label]
    return CatalogueEntry(
        page=page,
        subscription=category_of(event),
        schema=schema,
        data=data,
        data_address=large_objects().get(data, page.address),
        bodies=event_bodies(event.label),
        scenarios=tuple(scenario for scenario in scenarios() if scenario.event == event),
    )
