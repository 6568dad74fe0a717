"""Rows of fields are read from schemas: types, values, nested objects, and unions as one list."""

import pytest

from developer_site.reference.fields import field_rows, parameter_rows

SCHEMAS = {
    "Card": {
        "type": "object",
        "required": ["pan"],
        "properties": {
            "pan": {"type": "string", "description": "The number.", "maxLength": 40},
            "expiry": {"$ref": "#/components/schemas/Expiry", "description": "When it ends."},
        },
    },
    "Expiry": {
        "type": "object",
        "properties": {"month": {"type": "string", "description": "Two digits."}},
    },
    "Status": {"type": "string", "enum": ["open", "closed"], "description": "Its state."},
    "CardRequest": {
        "type": "object",
        "required": ["kind", "card"],
        "properties": {
            "kind": {"type": "string", "enum": ["card"], "description": "The kind."},
            "card": {"$ref": "#/components/schemas/Card", "description": "The card."},
            "note": {"type": "string", "description": "Free text."},
        },
    },
    "PayoutRequest": {
        "type": "object",
        "required": ["kind", "bank"],
        "properties": {
            "kind": {"type": "string", "enum": ["payout"], "description": "The kind."},
            "bank": {"type": "string", "description": "The bank."},
            "note": {"type": "string", "description": "Free text."},
        },
    },
    "Either": {
        "oneOf": [
            {"$ref": "#/components/schemas/CardRequest"},
            {"$ref": "#/components/schemas/PayoutRequest"},
        ]
    },
}


def reference(name, **beside):
    return {"$ref": f"#/components/schemas/{name}", **beside}


def an_object(**properties):
    return {"type": "object", "properties": properties}


def rows_of(schema, **options):
    return {row.name: row for row in field_rows(schema, SCHEMAS, **options)}


class TestFieldRows:
    def test_show_nested_objects_with_dotted_paths(self):
        rows = rows_of(reference("Card"))

        assert [row.path for row in rows["expiry"].within()] == ["expiry", "expiry.month"]
        assert rows["expiry"].words == "When it ends."

    def test_mark_required_fields_of_requests_only(self):
        assert rows_of(reference("Card"))["pan"].need == "Required"
        assert rows_of(reference("Card"), marks_required=False)["pan"].need == ""

    def test_say_the_limits_of_a_text(self):
        assert rows_of(reference("Card"))["pan"].words == "The number. Up to 40 characters."

    def test_list_the_items_of_an_array(self):
        rows = rows_of(an_object(data={"type": "array", "items": reference("Card")}))

        assert rows["data"].type == "array of objects"
        assert [row.name for row in rows["data"].fields] == ["pan", "expiry"]

    def test_link_objects_that_have_a_page_of_their_own(self):
        rows = rows_of(an_object(card=reference("Card")), elsewhere={"Card": "/there"})

        assert (rows["card"].fields, rows["card"].form_address) == ((), "/there")

    @pytest.mark.parametrize(
        ("schema", "expected"),
        [
            ({"type": "string", "format": "uuid"}, "string, UUID"),
            ({"type": ["string", "null"], "format": "date-time"}, "string, RFC 3339 or null"),
            ({"oneOf": [reference("Expiry"), {"type": "null"}]}, "object or null"),
            ({"type": "array", "items": {"type": "string"}}, "array of strings"),
        ],
    )
    def test_name_the_type(self, schema, expected):
        assert rows_of(an_object(it=schema))["it"].type == expected

    def test_list_values_unless_the_words_name_them(self):
        named = {"type": "string", "enum": ["a", "b"], "description": "`a` or `b`."}
        rows = rows_of(an_object(status=reference("Status"), named=named))

        assert rows["status"].values == ("open", "closed")
        assert rows["named"].values == ()

    def test_escape_words(self):
        assert "<b>" not in rows_of(an_object(it={"type": "string", "description": "<b>"}))["it"].words


class TestUnion:
    def test_shows_equal_fields_once(self):
        rows = field_rows(reference("Either"), SCHEMAS)

        assert [row.name for row in rows] == ["kind", "card", "note", "bank"]

    def test_says_which_requests_need_a_field(self):
        rows = rows_of(reference("Either"))

        assert rows["kind"].need == "Required"
        assert rows["kind"].values == ("card", "payout")
        assert rows["card"].need == "Required for cards"
        assert rows["note"].need == ""


def test_parameters_have_rows():
    [row] = parameter_rows(
        [{"name": "limit", "in": "query", "description": "How many.", "schema": {"type": "integer"}}], SCHEMAS
    )

    assert (row.name, row.type, row.need, row.words) == ("limit", "integer", "", "How many.")
