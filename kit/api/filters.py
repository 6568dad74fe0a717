"""Filters of lists, validated as strictly as request bodies."""

from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from kit.api.fields.field_errors import Errors, error, shown
from kit.api.fields.strict_fields import Moment, RequestSerializer, instance_of
from kit.time.time_ordered_ids import earliest_id, latest_id

M = TypeVar("M", bound=Model)


class CreatedFrom(Moment):
    """The first millisecond of a list, converted to the smallest id of that millisecond.

    Ids begin with `created_at`, so the list is in primary key order, and a filter by time reads one range of that
    index.
    """

    MEANING = "Created at this time or later, to the millisecond."
    EXAMPLE = "2026-01-31T00:00:00Z"

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, source="id__gte", **options)

    def to_internal_value(self, data: Any) -> UUID:
        moment: datetime = super().to_internal_value(data)
        return earliest_id(moment)


class CreatedTo(Moment):
    """The last millisecond of a list, converted to the largest id of that millisecond."""

    MEANING = "Created at this time or earlier, to the millisecond."
    EXAMPLE = "2026-01-31T23:59:59Z"

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, source="id__lte", **options)

    def to_internal_value(self, data: Any) -> UUID:
        moment: datetime = super().to_internal_value(data)
        return latest_id(moment)


PAGING = frozenset({"limit", "cursor"})


def narrowed(rows: QuerySet[M], query: QueryDict, filters: type[RequestSerializer]) -> QuerySet[M]:
    """Filter a list by the query parameters. The `source` of each is an ORM lookup.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    return rows.filter(**read_query(query, filters))


def read_query(query: QueryDict, filters: type[RequestSerializer]) -> dict[str, Any]:
    """Return the filters of a list's query by their `source`, without `limit` and `cursor`.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    given = {name: values for name, values in query.lists() if name not in PAGING}
    repeated: Errors = {
        shown(name): error("This parameter was given more than once.", "repeated")
        for name, values in given.items()
        if len(values) > 1
    }
    if repeated:
        raise ValidationError(repeated)
    serializer = instance_of(filters)
    serializer.beside = PAGING.difference(query)
    wanted: dict[str, Any] = serializer.run_validation({name: values[0] for name, values in given.items()})
    return wanted
