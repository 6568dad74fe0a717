"""Cached SQL statements for the hot path.

Django builds the SQL of a query each time it runs. For a table of forty columns, this takes several times as long
as executing it, and would be most of the time of a signed request (figures in `docs/decisions/`). The few
statements that every API call runs are therefore built once: insert, insert if absent, conditional update, find by
key. They read and write through the models' fields. Everything else uses the ORM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any, Generic, NamedTuple, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connection, models

M = TypeVar("M", bound=models.Model)

Converter = Callable[[Any], Any]


class Unless(NamedTuple):
    """A row of another table that has the same values in these columns prevents an INSERT."""

    model: type[models.Model]
    columns: tuple[str, ...]


def insert(row: models.Model) -> None:
    """Insert a row. A key that the database generates is not read back: `row.pk` stays None."""
    statement, attributes = _insert_statement(type(row))
    _execute(statement, _values(row, attributes))
    _is_stored(row)


def insert_if_absent(
    row: models.Model, *, at_default: tuple[str, ...] = (), unless: Unless | None = None
) -> bool:
    """Insert a row in one statement; return False if one of its unique keys exists, or what `unless` describes.

    Of concurrent callers, exactly one gets True. Outside a transaction, the row is committed on return.
    `at_default` names fields that a new row leaves at their default: they become constants of the statement. psycopg
    parses a statement of more than fifty parameters anew each time.

    :raises ValueError: one of these fields is not at its default
    """
    _check_defaults(row, at_default)
    statement, attributes = _insert_statement(type(row), at_default, unless)
    inserted = _execute(f"{statement} ON CONFLICT DO NOTHING", _values(row, attributes)) == 1
    if inserted:
        _is_stored(row)
    return inserted


def update_if_unchanged(row: models.Model, fields: tuple[str, ...], *, still: tuple[str, Any]) -> bool:
    """Write some fields of a row if a column still has the given value. Return False if it has another by now.

    First writer wins: a second writer waits for the first one's commit and then finds another value.
    """
    statement, attributes, key = _update_statement(type(row), fields, still[0])
    return _execute(statement, [*_values(row, attributes), key(row.pk), still[1]]) == 1


def _check_defaults(row: models.Model, names: tuple[str, ...]) -> None:
    for name, default in _defaults(type(row), names):
        if getattr(row, name) != default:
            raise ValueError(f"{name} is not at its default, so this statement would not store it.")


@lru_cache(maxsize=64)
def _defaults(model: type[models.Model], names: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """Return the attributes of these fields and their defaults. A foreign key's attribute is its id."""
    return tuple((field.attname, field.get_default()) for field in (_field(model, name) for name in names))


def _execute(statement: str, values: list[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


class Lookup(Generic[M]):
    """Find rows by the values of some columns, joined with the foreign keys in `joined`.

    `lock` locks the row until the transaction ends; on SQLite the transaction itself is the lock. `share` takes a
    shared lock, which prevents changes.
    """

    def __init__(
        self,
        model: type[M],
        *columns: str,
        joined: tuple[str, ...] = (),
        lock: bool = False,
        share: bool = False,
    ) -> None:
        self._model = model
        self._columns = columns
        self._joined = joined
        self._lock = "UPDATE" if lock else "SHARE" if share else ""

    def find(self, *values: Any) -> M | None:
        """Return the row, or None."""
        found = self.find_all(*values)
        return found[0] if found else None

    def find_all(self, *values: Any) -> list[M]:
        """Return the rows, in no order."""
        statement, keys, parts = self._statement
        with connection.cursor() as cursor:
            cursor.execute(statement, _prepared(keys, values))
            return [self._read(found, parts) for found in cursor.fetchall()]

    def _read(self, found: tuple[Any, ...], parts: Iterable[_Part]) -> M:
        main, *others = (part.read(found) for part in parts)
        for name, other in zip(self._joined, others, strict=True):
            setattr(main, name, other)
        return cast("M", main)

    @cached_property
    def _statement(self) -> tuple[str, list[Converter | None], list[_Part]]:
        """The SQL, the converters of its values and the parts of its result. Models must be loaded."""
        table = _table(self._model)
        parts, selected, joins = [_Part(self._model, 0)], _qualified(self._model), ""
        for link in (_field(self._model, name) for name in self._joined):
            other = cast("type[models.Model]", link.related_model)
            parts.append(_Part(other, parts[-1].end))
            selected += _qualified(other)
            joins += f" JOIN {_table(other)} ON {_table(other)}.{_column(other._meta.pk)} = {table}.{_column(link)}"
        keys = [_field(self._model, name) for name in self._columns]
        conditions = " AND ".join(f"{table}.{_column(field)} = %s" for field in keys)
        locking = (
            f" FOR {self._lock} OF {table}"
            if self._lock and connection.features.has_select_for_update
            else ""
        )
        statement = f"SELECT {', '.join(selected)} FROM {table}{joins} WHERE {conditions}{locking}"
        return statement, [_attribute(field)[1] for field in keys], parts


def _prepared(keys: Iterable[Converter | None], values: Iterable[Any]) -> list[Any]:
    return [key(value) if key else value for key, value in zip(keys, values, strict=True)]


class _Part:
    """The columns of one model within a result row."""

    def __init__(self, model: type[models.Model], start: int) -> None:
        self._model = model
        self._fields = model._meta.concrete_fields
        self._names = [field.attname for field in self._fields]
        self._start, self.end = start, start + len(self._names)
        self._converters = [
            (place, converter) for place, field in enumerate(self._fields) for converter in _converters(field)
        ]

    def read(self, found: tuple[Any, ...]) -> models.Model:
        values = list(found[self._start : self.end])
        for place, converter in self._converters:
            values[place] = converter(values[place])
        return self._model.from_db(DEFAULT_DB_ALIAS, self._names, values)


def _converters(field: models.Field) -> Iterable[Converter]:
    """Return the converters from a column's value to the field's value, as Django's queries apply them."""
    expression = field.get_col(field.model._meta.db_table)
    steps = [*connection.ops.get_db_converters(expression), *field.get_db_converters(connection)]
    return [lambda value, step=step: step(value, expression, connection) for step in steps]  # type: ignore[misc]


def _values(row: models.Model, attributes: Iterable[tuple[str, Converter | None]]) -> list[Any]:
    return [
        getattr(row, name) if prepare is None else prepare(getattr(row, name)) for name, prepare in attributes
    ]


def _is_stored(row: models.Model) -> None:
    row._state.adding = False
    row._state.db = DEFAULT_DB_ALIAS


def _attribute(field: models.Field) -> tuple[str, Converter | None]:
    """Return a field's attribute name and the converter that prepares its value, if any."""
    if isinstance(field, models.BooleanField | models.IntegerField):
        return field.attname, None
    if type(field) is models.CharField:
        return field.attname, _plain_text
    return field.attname, lambda value: field.get_db_prep_save(value, connection)


def _plain_text(value: Any) -> Any:
    return value if value is None or type(value) is str else str(value)  # a choice is a subclass of str


@lru_cache(maxsize=64)
def _insert_statement(
    model: type[models.Model], at_default: tuple[str, ...] = (), unless: Unless | None = None
) -> tuple[str, tuple[tuple[str, Converter | None], ...]]:
    constants = {name: _literal(default) for name, default in _defaults(model, at_default)}
    fields = [field for field in _inserted_fields(model) if field.attname not in constants]
    columns = ", ".join([*map(_column, fields), *(_column(_field(model, name)) for name in constants)])
    places = ", ".join([*["%s"] * len(fields), *constants.values()])
    insert = f"INSERT INTO {_table(model)} ({columns})"
    if unless is None:
        return f"{insert} VALUES ({places})", tuple(_attribute(field) for field in fields)
    compared = [_field(model, name) for name in unless.columns]
    same = " AND ".join(f"{_column(_field(unless.model, name))} = %s" for name in unless.columns)
    statement = (
        f"{insert} SELECT {places} WHERE NOT EXISTS (SELECT 1 FROM {_table(unless.model)} WHERE {same})"
    )
    return statement, tuple(_attribute(field) for field in (*fields, *compared))


def _literal(default: str | int | None) -> str:
    if default is None:
        return "NULL"
    if isinstance(default, int):
        return str(default)
    return "'" + str(default).replace("'", "''") + "'"


def _inserted_fields(model: type[models.Model]) -> list[models.Field]:
    """Return the fields that an INSERT sets: not a generated key, nor a composite one."""
    return [
        field
        for field in model._meta.concrete_fields
        if field.column and not isinstance(field, models.AutoField)
    ]


@lru_cache(maxsize=64)
def _update_statement(
    model: type[models.Model], names: tuple[str, ...], still: str
) -> tuple[str, tuple[tuple[str, Converter | None], ...], Converter]:
    fields = [_field(model, name) for name in names]
    assignments = ", ".join(f"{_column(field)} = %s" for field in fields)
    tested = [model._meta.pk, _field(model, still)]
    conditions = " AND ".join(f"{_column(field)} = %s" for field in tested)
    statement = f"UPDATE {_table(model)} SET {assignments} WHERE {conditions}"
    key = model._meta.pk
    return (
        statement,
        tuple(_attribute(field) for field in fields),
        lambda pk: key.get_db_prep_save(pk, connection),
    )


def _qualified(model: type[models.Model]) -> list[str]:
    table = _table(model)
    return [f"{table}.{_column(field)}" for field in model._meta.concrete_fields]


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _column(field: models.Field) -> str:
    return connection.ops.quote_name(str(field.column))


def _field(model: type[models.Model], name: str) -> models.Field:
    return cast("models.Field", model._meta.get_field(name))
