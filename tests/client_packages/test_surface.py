"""The surface of both clients reaches the whole API. Each client compares itself with it in its own tests."""

import json

import pytest
from drf_spectacular.generators import SchemaGenerator

from config.environment.env import PROJECT

SURFACE = json.loads((PROJECT / "clients" / "surface.json").read_text())
METHODS = [method for group in SURFACE["groups"].values() for method in group.values()]
DISCRIMINATORS = {
    "request_type",
    "payment_method",
    "type",
    "account_type",
}  # set by the method that is called


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


@pytest.fixture(scope="module")
def operations(document):
    """The operations that need a signature, by their ids."""
    return {
        operation["operationId"]: operation
        for path in document["paths"].values()
        for operation in path.values()
        if operation["security"]
    }


def test_reaches_every_signed_operation_or_says_why_not(operations):
    reached = {operation for method in METHODS for operation in method["operations"]}
    without = set(SURFACE["operations_without_method"])

    assert operations.keys() - reached == without
    assert reached - operations.keys() == {"listScenarios"}  # open to everyone


def test_has_an_argument_for_every_field_and_filter(document, operations):
    missing = {
        name: sorted(_names(document, operation) - _arguments(name) - DISCRIMINATORS)
        for name, operation in operations.items()
        if name not in SURFACE["operations_without_method"]
    }

    assert {name: names for name, names in missing.items() if names} == {}


def test_has_no_field_that_the_api_does_not_know(document, operations):
    unknown = {
        field
        for method in METHODS
        for field in method.get("fields", ())
        if not any(field in _names(document, operations[each]) for each in method["operations"])
    }

    assert unknown == set()


def _arguments(operation):
    """Return the names of all that the methods which call an operation can send."""
    return {
        name
        for method in METHODS
        if operation in method["operations"]
        for kind in ("arguments", "fields", "sets")
        for name in method.get(kind, ())
    }


def _names(document, operation):
    """Return the names of the query parameters and of the fields of the body, without ignored ones."""
    names = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        names |= _fields(document, content["schema"])
    return names


def _fields(document, schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    of_members = [_fields(document, member) for member in schema.get("oneOf", ())]
    own = {
        name for name, field in schema.get("properties", {}).items() if field.get("description") != "Ignored."
    }
    return own.union(*of_members)
