"""Search for metadata by one exact pair, written `key=value`.

On PostgreSQL a GIN index finds the rows with a pair, in no particular order, but lists show the newest first. Up to
`FEW` matches are all read and sorted. More frequent pairs are found quickly by reading from the newest row.

>>> pairs("order=1042"), pairs("note=a=b"), pairs("1042"), pairs("=1042")
([('order', '1042')], [('note', 'a=b'), ('note=a', 'b')], [], [])
"""

import json
from typing import Any, TypeVar

from django.db import connection
from django.db.models import BooleanField, Model, Q
from django.db.models.expressions import RawSQL

from kit.api.fields.strict_fields import Metadata
from kit.db import postgresql
from merchants.models import Business

M = TypeVar("M", bound=Model)

FEW = 1_000
MOST_READINGS = 5  # ways to split a text with several equals signs
LONGEST_SEARCH = Metadata.LONGEST_KEY + 1 + Metadata.LONGEST_VALUE


def pairs(text: str) -> list[tuple[str, str]]:
    """Return the possible keys and values of a text. Both may contain equals signs."""
    places = [place for place, character in enumerate(text) if character == "="]
    found = [(text[:place], text[place + 1 :]) for place in places]
    return [pair for pair in found if 1 <= len(pair[0]) <= Metadata.LONGEST_KEY][:MOST_READINGS]


def with_metadata(text: str, *, model: type[Model], business: Business) -> list[Q]:
    """Return the condition for the business's rows with the metadata of a search text; empty if it has no pair."""
    wanted = pairs(text)
    if not wanted:
        return []
    if connection.vendor != "postgresql":
        return [_pair_in_json(model, wanted)]
    ids = _few_ids(model, business, wanted)
    if ids is not None:
        return [Q(pk__in=ids)]
    common = Q()
    for key, value in wanted:
        common |= Q(metadata__contains={key: value})
    return [common]


def _few_ids(model: type[Model], business: Business, wanted: list[tuple[str, str]]) -> list[Any] | None:
    """Return the ids of the matching rows; None if there are more than `FEW`."""
    condition = " OR ".join(["metadata @> %s::jsonb"] * len(wanted))
    statement = f"SELECT id FROM {model._meta.db_table} WHERE business_id = %s AND ({condition}) LIMIT %s"  # noqa: S608
    documents = [json.dumps({key: value}) for key, value in wanted]
    # Force the index on metadata: the planner doesn't know how rare a pair is, and would read all rows of the business.
    with (
        postgresql.planning(enable_indexscan="off", enable_seqscan="off"),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, [business.pk, *documents, FEW + 1])
        ids = [row[0] for row in cursor.fetchall()]
    return ids if len(ids) <= FEW else None


def _pair_in_json(model: type[Model], wanted: list[tuple[str, str]]) -> Q:
    condition = " OR ".join(["(pair.key = %s AND pair.atom = %s)"] * len(wanted))
    exists = f"EXISTS (SELECT 1 FROM json_each({model._meta.db_table}.metadata) AS pair WHERE {condition})"  # noqa: S608
    parameters = [part for pair in wanted for part in pair]
    return Q(RawSQL(exists, parameters, output_field=BooleanField()))  # noqa: S611
