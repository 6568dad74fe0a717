"""What a search in the administration may mean. Every meaning is a look into an index, at any size."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from django.db.models import Model, QuerySet

from merchants.admin.base import FOUND, Look
from merchants.models import Business

BUSINESSES = 5  # that a part of a name finds at most


def by_id(field: str = "pk") -> Look:
    """Whose id, or other column of ids, is the term."""

    def look(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
        try:
            wanted = UUID(term)
        except ValueError:
            return
        yield model._default_manager.filter(**{field: wanted})

    return look


def exactly(*fields: str, shape: str = ".+", read: Callable[[str], Any] = str) -> Look:
    """Whose field has the term for its value. The field has an index, or the table is small."""

    def look(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
        if re.fullmatch(shape, term, re.ASCII | re.DOTALL):
            for field in fields:
                yield model._default_manager.filter(**{field: read(term)})

    return look


def in_each_business(*fields: str, shape: str = ".+", business: str = "business", **parts: slice) -> Look:
    """Whose field has the term for its value, where the index begins with the business: each is asked.

    `parts` are further fields of the index, and which part of the term they hold.
    """

    def look(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
        if re.fullmatch(shape, term, re.ASCII | re.DOTALL):
            everybody = Business.objects.order_by().values("pk")
            for field in fields:
                also = {name: term[part] for name, part in parts.items()}
                yield model._default_manager.filter(**{f"{business}__in": everybody, field: term}, **also)

    return look


def by_business_name(business: str = "business") -> Look:
    """The newest rows of businesses with the term in their names."""

    def look(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
        for named in Business.objects.filter(name__icontains=term)[:BUSINESSES]:
            yield model._default_manager.filter(**{business: named}).order_by("-pk")[:FOUND]

    return look
