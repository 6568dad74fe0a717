"""The filters of a list, read as strictly as a body."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from merchants.strict_fields import Errors, RequestSerializer, error

M = TypeVar("M", bound=Model)

PAGING = frozenset({"limit", "cursor"})


def narrowed(
    rows: QuerySet[M], query: QueryDict, *, serializer: RequestSerializer, lookups: Mapping[str, str]
) -> QuerySet[M]:
    """Narrow a list down as the query says; `lookups` has the database's name of each parameter.

    :raises ValidationError: an unknown parameter, one given twice, or a value that is none
    """
    given = {name: values for name, values in query.lists() if name not in PAGING}
    repeated: Errors = {
        name: error("This parameter was given more than once.", "repeated")
        for name, values in given.items()
        if len(values) > 1
    }
    if repeated:
        raise ValidationError(repeated)
    wanted: Mapping[str, Any] = serializer.run_validation({name: values[0] for name, values in given.items()})
    return rows.filter(**{lookups[name]: value for name, value in wanted.items()})
