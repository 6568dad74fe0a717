from types import SimpleNamespace

import pytest

from developer_site.guides import field_tables
from developer_site.guides.field_tables import TABLES, FieldTable, rows, written
from developer_site.guides.guides import DOCS
from kit.api.fields.answer_fields import NONE, TEXT, Answer, Field

BOX = Answer("Box", "A box.", Field("name", TEXT, "Its name.", "books"))


@pytest.mark.parametrize("file", sorted({"limits.md", *(table.file for table in TABLES)}))
def test_guides_have_the_tables_as_declared(file):
    """`make field-tables` writes them."""
    text = (DOCS / file).read_text()

    assert written(file, text) == text


def test_new_field_appears_in_answer_schema_and_guide(monkeypatch):
    """It is declared once."""
    wider = BOX.extended("Box", "A box.", Field("colour", TEXT, "Its colour.", "red", omit=NONE))
    assert wider.represent(SimpleNamespace(name="books", colour="blue")) == {
        "name": "books",
        "colour": "blue",
    }
    assert wider.schema()["properties"]["colour"]["description"] == "Its colour."
    monkeypatch.setattr(field_tables, "TABLES", (FieldTable("boxes.md", "Field of a box", wider),))

    guide = written("boxes.md", "# Boxes\n\n| Field of a box |\n|---|\n| `name` |\n\nThe end.\n")

    assert guide == (
        "# Boxes\n\n| Field of a box | Type | Meaning |\n|---|---|---|\n| `name` | string | Its name. |\n"
        "| `colour` | string, optional | Its colour. |\n\nThe end.\n"
    )


def test_missing_table_is_an_error(monkeypatch):
    monkeypatch.setattr(field_tables, "TABLES", (FieldTable("boxes.md", "Field of a box", BOX),))

    with pytest.raises(ValueError, match="no table with the heading"):
        written("boxes.md", "# Boxes\n")


def test_table_of_a_kind_has_its_fields_only():
    (table,) = (each for each in TABLES if each.heading == "Field of a payout")

    lines = "\n".join(rows(table))
    assert "`reversal`" in lines
    assert "`total_amount_captured`" not in lines
