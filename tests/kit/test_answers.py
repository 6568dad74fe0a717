from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from kit.api.fields.answer_fields import (
    COUNT,
    EMPTY,
    MOMENT,
    NONE,
    TEXT,
    Answer,
    Field,
    ListOf,
    one_of,
    page_of,
)

SENT_AT = datetime(2026, 1, 31, 8, tzinfo=UTC)


@dataclass
class Parcel:
    name: str = "books"
    kind: str = "heavy"
    weight: int | None = 20
    note: str = ""
    sent_at: datetime | None = None
    labels: list["Parcel"] = field(default_factory=list)


LABEL = Answer("Label", "A label.", Field("text", TEXT, "Its text.", "Fragile", "name"))
PARCEL = Answer(
    "Parcel",
    "A parcel.",
    Field("name", TEXT, "Its name.", "books"),
    Field("kind", one_of(["heavy", "light"]), "How heavy it is."),
    Field("weight", COUNT, "Grams.", 20, omit=NONE),
    Field("note", TEXT, "Your note.", omit=EMPTY),
    Field("sent_at", MOMENT, "When it was sent; null before.", "2026-01-31T08:00:00.000Z", is_nullable=True),
    Field("crane", TEXT, "What lifts it.", "C-1", lambda parcel: parcel.name.upper(), kinds=("heavy",)),
    Field("labels", ListOf(LABEL), "Its labels."),
    kind_of=lambda parcel: parcel.kind,
)


class TestRepresentation:
    def test_sends_fields_in_the_declared_order(self):
        shown = PARCEL.represent(Parcel(note="by the door"))

        assert list(shown) == ["name", "kind", "weight", "note", "sent_at", "crane", "labels"]

    def test_omits_fields_without_a_value_and_sends_null_where_declared(self):
        shown = PARCEL.represent(Parcel(weight=None))

        assert "weight" not in shown
        assert "note" not in shown
        assert shown["sent_at"] is None

    def test_sends_zero_where_only_null_is_omitted(self):
        assert PARCEL.represent(Parcel(weight=0))["weight"] == 0

    def test_converts_values_and_represents_nested_answers(self):
        shown = PARCEL.represent(Parcel(sent_at=SENT_AT, labels=[Parcel(name="Fragile")]))

        assert shown["sent_at"] == "2026-01-31T08:00:00.000Z"
        assert shown["labels"] == [{"text": "Fragile"}]

    def test_sends_a_field_of_one_kind_for_this_kind_only(self):
        assert PARCEL.represent(Parcel(kind="heavy"))["crane"] == "BOOKS"
        assert "crane" not in PARCEL.represent(Parcel(kind="light"))


class TestSchema:
    def test_requires_fields_that_are_always_sent(self):
        assert PARCEL.schema()["required"] == ["name", "kind", "sent_at", "labels"]

    def test_allows_null_only_for_nullable_fields(self):
        properties = PARCEL.schema()["properties"]

        assert properties["sent_at"]["type"] == ["string", "null"]
        assert properties["weight"]["type"] == "integer"

    def test_refers_to_nested_answers(self):
        assert PARCEL.schema()["properties"]["labels"]["items"] == {"$ref": "#/components/schemas/Label"}
        assert [each.name for each in page_of(PARCEL, "A page.").within()] == [
            "ParcelList",
            "Parcel",
            "Label",
        ]


class TestExample:
    def test_has_the_example_of_each_field_of_its_kind(self):
        assert PARCEL.example("light", kind="light", labels=[]) == {
            "name": "books",
            "kind": "light",
            "weight": 20,
            "sent_at": "2026-01-31T08:00:00.000Z",
            "labels": [],
        }


@pytest.mark.parametrize("colour", ["red", None])
def test_new_field_is_declared_in_one_place(colour):
    """It appears in the representation, the schema and the example."""
    wider = PARCEL.extended(
        "WideParcel", "A parcel.", Field("colour", TEXT, "Its colour.", "red", lambda _: colour, NONE)
    )

    shown: dict[str, Any] = wider.represent(Parcel())
    assert shown.get("colour") == colour
    assert wider.schema()["properties"]["colour"] == {
        "type": "string",
        "maxLength": 4096,
        "description": "Its colour.",
        "examples": ["red"],
    }
    assert wider.example()["colour"] == "red"
