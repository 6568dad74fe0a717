"""Columns of lists and fields of record pages, formatted for people."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from operator import attrgetter
from typing import Any

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from kit.money.money import money


@dataclass(frozen=True)
class FormattedColumn:
    """A column that shows a field formatted, under the name of the field."""

    field: str

    def __str__(self) -> str:
        return self.field

    @property
    def __name__(self) -> str:
        return self.field

    @property
    def short_description(self) -> str:
        return self.field.replace("_", " ")


@dataclass(frozen=True)
class Amount(FormattedColumn):
    """A column that shows minor units as formatted amounts."""

    currency: str

    def __call__(self, row: Model) -> str | None:
        minor_units, currency = attrgetter(self.field)(row), attrgetter(self.currency)(row)
        if minor_units is None or not currency:
            return None
        return format_html('<span class="amount">{}</span>', money(minor_units, currency))


@dataclass(frozen=True)
class Status(FormattedColumn):
    """A column that shows a state as pages name it. Without a name, the label of the model's choice is shown."""

    names: Mapping[str, str] = dataclass_field(hash=False)

    def __call__(self, row: Model) -> str | None:
        code = getattr(row, self.field)
        if not code:
            return None
        label = self.names.get(code) or str(getattr(row, f"get_{self.field}_display", lambda: code)())
        return status_label(code, sentence(label))


@dataclass(frozen=True)
class Choice(FormattedColumn):
    """A column that shows the label of a choice in sentence case."""

    def __call__(self, row: Model) -> str | None:
        label = getattr(row, f"get_{self.field}_display")()
        return sentence(str(label)) if label else None


@dataclass(frozen=True)
class Reference(FormattedColumn):
    """A column that links to the record page of the row that it names."""

    route: str

    def __call__(self, row: Model) -> str | None:
        other = getattr(row, self.field)
        return linked(str(other), reverse(self.route, args=[other.pk])) if other is not None else None


@dataclass(frozen=True)
class AnyObject(FormattedColumn):
    """A column with an ID that may belong to objects of several kinds. It links to a search for all of them."""

    def __call__(self, row: Model) -> str | None:
        key = getattr(row, self.field)
        return linked(str(key), everything_about(key)) if key else None


def status_label(code: str, name: str) -> str:
    """Return a status with the shape and colour of its code."""
    return format_html('<span class="status status--{}">{}</span>', code, name)


def everything_about(key: object) -> str:
    """Return the address of what has this ID, or mentions it.

    >>> everything_about("a b")
    '/admin/search/?q=a+b'
    """
    return f"{reverse('admin:search')}?{urlencode({'q': str(key)})}"


def list_address(name: str, term: object) -> str:
    """Return the address of the list of a model, such as `payments_proposal`, with a search.

    >>> list_address("merchants_business", "Ada")
    '/admin/merchants/business/?q=Ada'
    """
    return f"{reverse(f'admin:{name}_changelist')}?{urlencode({'q': str(term)})}"


def linked(text: object, address: str) -> str:
    return format_html('<a href="{}">{}</a>', address, text)


def two_lines(first: object, second: object) -> str:
    """Return a cell with a smaller second line."""
    return format_html('<span class="cell">{}</span><span class="cell__sub">{}</span>', first, second)


def sentence(label: str) -> str:
    """Return a label or code in sentence case. Django makes title case of the names of choices.

    >>> sentence("Card Check"), sentence("payout_reversed"), sentence("NGN account"), sentence("")
    ('Card check', 'Payout reversed', 'NGN account', '')
    """
    words = label.replace("_", " ").split(" ")
    rest = [word.lower() if word.istitle() else word for word in words[1:]]
    return " ".join([words[0][:1].upper() + words[0][1:], *rest])


def plain_name(field: Any) -> str:
    """Return the name of a field as people say it.

    >>> from merchants.models import User
    >>> plain_name(User._meta.get_field("is_staff")), plain_name(User._meta.get_field("last_login"))
    ('staff', 'last login')
    """
    return str(field.verbose_name).removeprefix("is ").removesuffix(" status")
