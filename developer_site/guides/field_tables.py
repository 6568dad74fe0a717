"""The guides' tables of fields, written from the declarations of answers: `make field-tables`.

A table belongs to the answer that its first heading names. The limits of payment links are written from their numbers
alike. Everything else in a guide is written by its authors.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from developer_site.guides import link_limits
from developer_site.guides.guides import DOCS
from kit.api.fields.answer_fields import Answer, Field, ListOf
from merchants.views import LOG_ENTRY
from payments.representation import links, payments
from payments.representation.events import EVENT, EVENT_ATTEMPT
from payments.views.capabilities import CAPABILITY
from virtual_accounts.representation import TRANSFER_DETAILS, VIRTUAL_ACCOUNT
from webhooks.representation import WEBHOOK_EVENT


@dataclass(frozen=True, slots=True)
class FieldTable:
    """A table of a guide. `kind` limits it to the fields of one kind of the answer."""

    file: str
    heading: str
    answer: Answer
    kind: str = ""


TABLES = (
    FieldTable("card-payments.md", "Field of a card payment", payments.PAYMENT, payments.CARD),
    FieldTable("card-payments.md", "Field of `source`", payments.CARD_SHOWN),
    FieldTable("card-payments.md", "Field of a refund", payments.REFUND),
    FieldTable("card-checks.md", "Field of a card check", payments.PAYMENT, payments.CARD_CHECK),
    FieldTable("payouts.md", "Field of a payout", payments.PAYMENT, payments.PAYOUT),
    FieldTable("payouts.md", "Field of `reversal`", payments.REVERSAL),
    FieldTable("payment-links.md", "Field of a payment link", links.PAYMENT_LINK),
    FieldTable("payment-links.md", "Field of a checkout", links.CHECKOUT),
    FieldTable("settlement.md", "Field of a batch", payments.SETTLEMENT),
    FieldTable("settlement.md", "Field of an item", payments.SETTLEMENT_ITEM),
    FieldTable("signing.md", "Field of a request", LOG_ENTRY),
    FieldTable("virtual-accounts.md", "Field of an account", VIRTUAL_ACCOUNT),
    FieldTable("virtual-accounts.md", "Field of `virtual_account_details`", TRANSFER_DETAILS),
    FieldTable("virtual-accounts.md", "Field of an unapplied transfer", payments.UNAPPLIED_TRANSFER),
    FieldTable("limits.md", "Field of a capability", CAPABILITY),
    FieldTable("webhooks.md", "Field of the body", WEBHOOK_EVENT),
    FieldTable("webhooks.md", "Field of an event", EVENT),
    FieldTable("webhooks.md", "Field of an attempt", EVENT_ATTEMPT),
)

FORMATS = {"uuid": "UUID", "date-time": "RFC 3339, UTC", "date": "date", "uri": "URL"}


def written(file: str, markdown: str) -> str:
    """Return the text of a guide with its tables as declared.

    :raises ValueError: a table's heading is missing
    """
    for table in TABLES:
        if table.file == file:
            markdown = _with_table(markdown, file, table.heading, rows(table))
    if file == link_limits.FILE:
        markdown = _with_table(markdown, file, link_limits.HEADING, link_limits.rows())
    return markdown


def write() -> None:
    """Write the tables into the guides."""
    for file in sorted({link_limits.FILE, *(table.file for table in TABLES)}):
        path = DOCS / file
        path.write_text(written(file, path.read_text()))


def _with_table(markdown: str, file: str, heading: str, table: Iterable[str]) -> str:
    lines = markdown.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith(f"| {heading} |")), None)
    if start is None:
        message = f"docs/{file} has no table with the heading {heading!r}."
        raise ValueError(message)
    end = next((at for at in range(start, len(lines)) if not lines[at].startswith("|")), len(lines))
    return "\n".join([*lines[:start], *table, *lines[end:], ""])


def rows(table: FieldTable) -> Iterator[str]:
    r"""Yield the lines of a table.

    >>> print(*rows(FieldTable("", "Field of `source`", payments.CARD_SHOWN)), sep="\n")  # doctest: +ELLIPSIS
    | Field of `source` | Type | Meaning |
    |---|---|---|
    | `type` | string | Always `card`. |
    ...
    """
    yield f"| {table.heading} | Type | Meaning |"
    yield "|---|---|---|"
    for field in table.answer.fields_of(table.kind):
        optional = ", optional" if field.omit else ""
        yield f"| `{field.name}` | {_type(field)}{optional} | {_meaning(field)} |"


def _type(field: Field) -> str:
    if isinstance(field.type, ListOf):
        return "array"
    if isinstance(field.type, Answer):
        name = "object"
    else:
        schema = field.type.schema
        name = schema.get("type", "boolean")
        name += f" ({FORMATS[schema['format']]})" if schema.get("format") in FORMATS else ""
    return f"{name} or null" if field.is_nullable else name


def _meaning(field: Field) -> str:
    values = [f"`{value}`" for value in field.schema().get("enum", ())]
    if all(value in field.meaning for value in values):
        return field.meaning
    return f"{field.meaning} One of {', '.join(values)}."
