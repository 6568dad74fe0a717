"""The statements of the hot path, made once and sent again and again.

Django writes the SQL of a query anew each time it runs; for a table of forty columns that costs several
times what the database needs to answer. A signed request would spend most of its time there (figures in
`docs/decisions/`). So the handful of statements that every API call runs are made at first use and kept:
insert a row, insert it unless it is there, move it on, find it by its key. They read and
write whole model instances, through the models' own fields; everything else uses the ORM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from django.db import connection, models, transaction

M = TypeVar("M", bound=models.Model)

Converter = Callable[[Any], Any]


class Consequence(Protocol):
    """What follows from a move and is more than a row to be inserted."""

    @property
    def clauses(self) -> str:
        """Return, for PostgreSQL, the parts of a WITH that do it for each row of `moved`."""

    @property
    def values(self) -> list[Any]:
        """Return the values of their placeholders."""

    def write(self) -> object:
        """Do it by statements of its own, within the transaction of the move."""


Follower: TypeAlias = models.Model | Consequence


def insert(row: models.Model) -> None:
    """Insert a row. A key that the database makes is set on it."""
    statement, attributes, made_by_database = _insert_statement(type(row), connection.vendor)
    with connection.cursor() as cursor:
        if made_by_database is None:
            cursor.execute(statement, _values(row, attributes))
        else:
            cursor.execute(f"{statement} RETURNING {made_by_database}", _values(row, attributes))
            row.pk = cursor.fetchone()[0]
    _is_stored(row)


def insert_if_absent(row: models.Model) -> bool:
    """Insert a row in one statement; return False where one of its unique keys is taken.

    Whoever gets True was first, whatever else runs in parallel. Outside a transaction the row is
    committed when this returns.
    """
    statement, attributes, _ = _insert_statement(type(row), connection.vendor)
    inserted = _execute(f"{statement} ON CONFLICT DO NOTHING", _values(row, attributes)) == 1
    if inserted:
        _is_stored(row)
    return inserted


def move(
    row: models.Model, fields: tuple[str, ...], *, still: tuple[str, Any], then: Sequence[Follower] = ()
) -> bool:
    """Write some fields of a row and what follows from it, if one of its columns is still as it was.

    All of it or nothing. Who gets True has moved the row; False means that somebody else was first. On
    PostgreSQL this is one statement: no round trips for BEGIN and COMMIT, and no lock is held across any.
    """
    if connection.vendor == "postgresql":
        return _move_in_one_statement(row, fields, still, then)
    with transaction.atomic():
        statement, attributes, key = _update_statement(type(row), fields, still[0], connection.vendor)
        moved = _execute(statement, [*_values(row, attributes), key(row.pk), still[1]]) == 1
        for follower in then if moved else ():
            if isinstance(follower, models.Model):
                insert(follower)
            else:
                follower.write()
    return moved


def _move_in_one_statement(
    row: models.Model, fields: tuple[str, ...], still: tuple[str, Any], then: Sequence[Follower]
) -> bool:
    statement = _moving_statement(type(row), fields, still[0], tuple(_shape(follower) for follower in then))
    _, attributes, key = _update_statement(type(row), fields, still[0], connection.vendor)
    values = [*_values(row, attributes), key(row.pk), still[1]]
    for follower in then:
        if isinstance(follower, models.Model):
            values += _values(follower, _insert_statement(type(follower), connection.vendor)[1])
        else:
            values += follower.values
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.fetchone()[0])


def _shape(follower: Follower) -> type[models.Model] | str:
    """Return what a statement is made of for a follower; equal for all of its sort."""
    return type(follower) if isinstance(follower, models.Model) else follower.clauses


@lru_cache(maxsize=64)
def _moving_statement(
    model: type[models.Model], fields: tuple[str, ...], still: str, then: tuple[type[models.Model] | str, ...]
) -> str:
    """Return the UPDATE and, fed by it, the rest; the answer is whether the UPDATE found its row."""
    update, _, _ = _update_statement(model, fields, still, connection.vendor)
    parts = [f"moved AS ({update} RETURNING 1)"]
    for place, follower in enumerate(then):
        if isinstance(follower, str):
            parts.append(follower)
            continue
        inserted = _inserted_fields(follower)
        columns = ", ".join(_column(field) for field in inserted)
        # A placeholder in a SELECT has no type of its own. Without the length: a cast would cut, not refuse.
        values = ", ".join(f"%s::{str(field.db_type(connection)).partition('(')[0]}" for field in inserted)
        table = _table(follower)
        parts.append(f"then_{place} AS (INSERT INTO {table} ({columns}) SELECT {values} FROM moved)")
    return f"WITH {', '.join(parts)} SELECT count(*) FROM moved"


def _execute(statement: str, values: list[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


class Lookup(Generic[M]):
    """Find one row by the values of some columns, with the rows it points to by the names in `joined`.

    With `lock` the row is locked until the transaction ends (on SQLite the transaction itself is the lock).
    With `share` others may read it so too, but nobody changes it.
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
        self._made: dict[str, tuple[str, list[Converter | None], list[_Part]]] = {}  # by database vendor

    def find(self, *values: Any) -> M | None:
        statement, keys, parts = self._made.get(connection.vendor) or self._make()
        with connection.cursor() as cursor:
            cursor.execute(
                statement, [key(value) if key else value for key, value in zip(keys, values, strict=True)]
            )
            found = cursor.fetchone()
        if found is None:
            return None
        main, *others = (part.read(found) for part in parts)
        for name, other in zip(self._joined, others, strict=True):
            setattr(main, name, other)
        return cast("M", main)

    def _make(self) -> tuple[str, list[Converter | None], list[_Part]]:
        table = _table(self._model)
        parts, selected, joins = [_Part(self._model, 0)], _qualified(self._model), ""
        for link in (_field(self._model, name) for name in self._joined):
            other = cast("type[models.Model]", link.related_model)
            parts.append(_Part(other, parts[-1].end))
            selected += _qualified(other)
            joins += f" JOIN {_table(other)} ON {_table(other)}.{_column(other._meta.pk)} = {table}.{_column(link)}"
        keys = [_field(self._model, name) for name in self._columns]
        conditions = " AND ".join(f"{table}.{_column(field)} = %s" for field in keys)
        locking = f" FOR {self._lock} OF {table}" if self._lock and connection.vendor == "postgresql" else ""
        statement = f"SELECT {', '.join(selected)} FROM {table}{joins} WHERE {conditions}{locking}"
        self._made[connection.vendor] = made = (statement, [_attribute(field)[1] for field in keys], parts)
        return made


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
        return self._model.from_db(connection.alias, self._names, values)


def _converters(field: models.Field) -> Iterable[Converter]:
    """Return what turns a column's value into the field's, as a query of Django's would."""
    expression = field.get_col(field.model._meta.db_table)
    steps = [*connection.ops.get_db_converters(expression), *field.get_db_converters(connection)]
    return [lambda value, step=step: step(value, expression, connection) for step in steps]  # type: ignore[misc]


def _values(row: models.Model, attributes: Iterable[tuple[str, Converter | None]]) -> list[Any]:
    return [
        getattr(row, name) if prepare is None else prepare(getattr(row, name)) for name, prepare in attributes
    ]


def _is_stored(row: models.Model) -> None:
    row._state.adding = False
    row._state.db = connection.alias


def _attribute(field: models.Field) -> tuple[str, Converter | None]:
    """Return the name of a field's value and what prepares it for the database, if anything has to."""
    if isinstance(field, models.BooleanField | models.IntegerField):
        return field.attname, None
    if type(field) is models.CharField:
        return field.attname, _plain_text
    return field.attname, lambda value: field.get_db_prep_save(value, connection)


def _plain_text(value: Any) -> Any:
    return value if value is None or type(value) is str else str(value)  # a choice is a str that knows more


@lru_cache(maxsize=64)
def _insert_statement(
    model: type[models.Model], _vendor: str
) -> tuple[str, tuple[tuple[str, Converter | None], ...], str | None]:
    key = model._meta.pk
    made = key if isinstance(key, models.AutoField) else None
    fields = _inserted_fields(model)
    columns = ", ".join(_column(field) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {_table(model)} ({columns}) VALUES ({places})"
    return statement, tuple(_attribute(field) for field in fields), _column(made) if made else None


def _inserted_fields(model: type[models.Model]) -> list[models.Field]:
    """Return the fields whose values come from us: not a key that the database makes, nor a composite one."""
    return [
        field
        for field in model._meta.concrete_fields
        if field.column and not isinstance(field, models.AutoField)
    ]


@lru_cache(maxsize=64)
def _update_statement(
    model: type[models.Model], names: tuple[str, ...], still: str, _vendor: str
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
