"""Search rules of the admin. Every rule uses an index."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from kit.text.folding import in_any_order
from merchants.admin.base import FOUND, SearchRule
from merchants.models import Business

BUSINESSES = 5  # maximum number of businesses found by part of a name


def by_id(field: str = "pk") -> SearchRule:
    """Match rows whose id, or other UUID column, equals the term."""

    def search(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
        for wanted in _ids(term):
            yield model._default_manager.filter(**{field: wanted})

    return search


def _ids(term: str) -> list[UUID]:
    """Return the UUID that a term is, if it is one."""
    try:
        return [UUID(term)]
    except ValueError:
        return []


def exactly(*fields: str, shape: str = ".+", read: Callable[[str], Any] = str) -> SearchRule:
    """Match rows with a field equal to the term. The field must be indexed, or the table small."""

    def search(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
        if re.fullmatch(shape, term, re.ASCII | re.DOTALL):
            for field in fields:
                yield model._default_manager.filter(**{field: read(term)})

    return search


def in_each_business(
    *fields: str, shape: str = ".+", business: str = "business", **parts: slice
) -> SearchRule:
    """Match rows with a field equal to the term, for an index that begins with the business.

    `parts` maps further fields of the index to the slice of the term that they hold.
    """

    def search(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
        if re.fullmatch(shape, term, re.ASCII | re.DOTALL):
            businesses = Business.objects.order_by().values("pk")
            for field in fields:
                also = {name: term[part] for name, part in parts.items()}
                yield model._default_manager.filter(**{f"{business}__in": businesses, field: term}, **also)

    return search


def by_business_name(business: str = "business") -> SearchRule:
    """Match the newest rows of businesses whose name has all words of the term, or whose ID it is."""

    def search(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
        wanted = Q(name__regex=in_any_order(term)) | Q(pk__in=_ids(term))
        for named in Business.objects.filter(wanted)[:BUSINESSES]:
            yield model._default_manager.filter(**{business: named}).order_by("-pk")[:FOUND]

    return search
