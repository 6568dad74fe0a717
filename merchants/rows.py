"""Rows that two requests may want to write at the same moment."""

from functools import lru_cache

from django.db import connection, models


def insert_if_absent(row: models.Model) -> bool:
    """Insert a row in one statement; return False where one of its unique keys is taken.

    Whoever gets True was first, whatever else runs in parallel. Outside a transaction the row is
    committed when this returns.
    """
    model = type(row)
    statement, fields = _insert_statement(model, connection.vendor)
    values = [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        inserted = cursor.rowcount == 1
    row._state.adding = not inserted  # noqa: SLF001  (what Model.save does)
    row._state.db = connection.alias  # noqa: SLF001
    return inserted


@lru_cache(maxsize=32)
def _insert_statement(model: type[models.Model], _vendor: str) -> tuple[str, tuple[models.Field, ...]]:
    """Return the INSERT of a model, made once, and the fields its values come from."""
    fields = tuple(field for field in model._meta.concrete_fields if field.column)
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    table = quote(model._meta.db_table)
    return f"INSERT INTO {table} ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING", fields  # noqa: S608
