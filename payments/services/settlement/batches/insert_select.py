"""INSERT ... SELECT for Django models, to insert thousands of rows in one statement."""

from collections.abc import Mapping
from typing import Any, cast

from django.db import connection, models
from django.db.models import Value
from django.db.models.expressions import Combinable


def insert_selected(
    model: type[models.Model], source: models.QuerySet[Any], columns: Mapping[str, Combinable | Any]
) -> int:
    """Insert one row of a model for each row of a query, and return their number.

    `columns` maps each field of the model to an expression over the source or to a constant.
    """
    fields = [cast("models.Field", model._meta.get_field(name)) for name in columns]
    selected = {
        f"selected_{place}": value if isinstance(value, Combinable) else Value(value, output_field=field)
        for place, (field, value) in enumerate(zip(fields, columns.values(), strict=True))
    }
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    statement, values = source.annotate(**selected).values_list(*selected).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {connection.ops.quote_name(model._meta.db_table)} ({names}) {statement}", values
        )
        return int(cursor.rowcount)
