import copy

import pytest

from config.checks import api_document


@pytest.fixture(scope="module")
def document():
    """A small document that breaks no rule."""
    text = {"type": "string", "description": "Words.", "examples": ["text"]}

    def word(value):
        return {"type": "string", "enum": [value], "description": "Always the same.", "examples": [value]}

    def an_object(**properties):
        return {"type": "object", "description": "An object.", "properties": properties}

    def reference(name):
        return {"$ref": f"#/components/schemas/{name}"}

    def content(schema, **examples):
        return {"content": {"application/json": {"schema": schema, "examples": examples}}}

    event = {
        "operationId": "receiveThingSuccess",
        "summary": "A thing succeeded.",
        "parameters": [
            {
                "in": "header",
                "name": "X-Service-Signature",
                "description": "Words.",
                "schema": {"type": "string"},
                "example": "ab",
            }
        ],
        "requestBody": content(reference("ThingSuccessEvent")),
        "responses": {"2XX": {"description": "Received."}, "4XX": {"description": "Refused."}},
        "security": [],
    }
    create = {
        "operationId": "createThing",
        "summary": "Create a thing",
        "parameters": [
            {
                "in": "query",
                "name": "colour",
                "description": "Words.",
                "schema": reference("Colour"),
                "example": "red",
            }
        ],
        "requestBody": content(reference("CreateThingRequest")),
        "responses": {
            "201": {"description": "Created.", **content(reference("Thing"))},
            "400": {"description": "- `unknown_field`", **content(reference("Problem"), unknown_field={})},
            "409": {
                "description": "- `duplicate_reference`",
                **content(reference("Conflict"), duplicate_reference={}),
            },
        },
    }
    return {
        "info": {
            "title": "Things",
            "version": "1",
            "description": "Words.",
            "license": {"name": "None", "identifier": "LicenseRef-none"},
            "contact": {"name": "Ada"},
        },
        "paths": {"/api/things": {"post": create}},
        "webhooks": {"thing.success": {"post": event}},
        "components": {
            "schemas": {
                "BigThingRequest": an_object(size=word("big"), name=text),
                "SmallThingRequest": an_object(size=word("small"), name=text),
                "CreateThingRequest": {
                    "oneOf": [reference("BigThingRequest"), reference("SmallThingRequest")]
                },
                "Colour": {"type": "string", "enum": ["red", "blue"]},
                "Thing": an_object(
                    colour=reference("Colour") | {"description": "Words."},
                    response_code=text | {"x-extensible-enum": ["1", "2"]},
                ),
                "Problem": an_object(code=text),
                "DuplicateReference": an_object(code=word("duplicate_reference")),
                "Conflict": {"anyOf": [reference("DuplicateReference"), reference("Problem")]},
                "ThingSuccessEvent": an_object(
                    event=word("thing.success"), data=reference("Thing") | {"description": "Words."}
                ),
                "WebhookEvent": {
                    "oneOf": [reference("ThingSuccessEvent")],
                    "discriminator": {
                        "propertyName": "event",
                        "mapping": {"thing.success": "#/components/schemas/ThingSuccessEvent"},
                    },
                },
            }
        },
    }


def _set(document, path, value):
    """Return a copy of the document with a value at a path, such as `paths//api/things/post`, removed if it is None."""
    changed = copy.deepcopy(document)
    *parents, last = path.split(" ")
    node = changed
    for part in parents:
        node = node[int(part)] if part.isdigit() and isinstance(node, list) else node[part]
    if value is None:
        del node[last]
    elif isinstance(node, list):
        node[int(last)] = value
    else:
        node[last] = value
    return changed


SCHEMAS = "components schemas"
POST = "paths /api/things post"
EVENT = "webhooks thing.success post"
REFERENCE = {"$ref": "#/components/schemas/Thing"}

BREAKS = {
    "names": [
        (f"{SCHEMAS} Thing title", "A thing"),
        (f"{SCHEMAS} Thing properties colour title", "Colour"),
        (f"{SCHEMAS} big_thing", {"type": "object"}),
        (f"{SCHEMAS} ThinG", {"type": "object"}),
        (f"{SCHEMAS} Problem properties problem", {"type": "string"}),
    ],
    "endings": [
        (f"{SCHEMAS} BigThingRequest properties inner", REFERENCE),
        (f"{EVENT} requestBody content application/json schema", REFERENCE),
    ],
    "constants": [(f"{SCHEMAS} Thing properties colour", {"const": False})],
    "answers": [
        (f"{POST} responses 201 content application/json schema", {"allOf": [REFERENCE]}),
        (f"{POST} responses 400 content application/json schema", REFERENCE),
        (f"{POST} responses 409 content application/json schema", {"$ref": "#/components/schemas/Problem"}),
        (f"{POST} responses 400 description", "Refused."),
    ],
    "unions": [
        (f"{SCHEMAS} BigThingRequest properties size enum", ["small"]),
        (f"{SCHEMAS} SmallThingRequest", {"oneOf": []}),
        (f"{SCHEMAS} CreateThingRequest oneOf 0", {"type": "object"}),
        (f"{SCHEMAS} WebhookEvent discriminator mapping thing.success", "#/components/schemas/Thing"),
    ],
    "open lists": [(f"{SCHEMAS} Thing properties response_code enum", ["1", "2"])],
    "defaults": [(f"{SCHEMAS} BigThingRequest properties name default", "text")],
    "types": [
        (f"{SCHEMAS} Thing properties colour", {"type": "string", "enum": ["red", "blue"]}),
        (f"{SCHEMAS} Thing properties colour", {"description": "Anything."}),
        (f"{SCHEMAS} Thing properties colour", {"type": "string", "anyOf": [{"type": "string"}]}),
    ],
    "descriptions": [
        ("info license", None),
        ("info license identifier", None),
        ("info contact", None),
        (f"{POST} operationId", "thingCreation"),
        (f"{POST} operationId", "receiveThingSuccess"),
        (f"{POST} summary", ""),
        ("paths /api/things/{id}", {"get": {"operationId": "getThing", "summary": "Get a thing", "responses": {}}}),
        (f"{POST} parameters 0 description", ""),
        (f"{POST} parameters 0 example", "green"),
        (f"{SCHEMAS} Thing properties response_code description", ""),
        (f"{SCHEMAS} Thing properties response_code examples", []),
        (f"{SCHEMAS} Thing properties response_code examples", [1]),
        (f"{SCHEMAS} Thing properties colour $ref", "#/components/schemas/Lost"),
    ],
    "webhooks": [
        (f"{SCHEMAS} WebhookEvent discriminator", None),
        (f"{EVENT} requestBody content application/json schema", REFERENCE),
        (f"{SCHEMAS} WebhookEvent oneOf", []),
        (f"{SCHEMAS} ThingSuccessEvent additionalProperties", False),
        (f"{EVENT} responses 4XX", None),
        (f"{EVENT} security", None),
        (f"{EVENT} parameters", []),
    ],
}  # fmt: skip


def test_accepts_a_document_that_breaks_no_rule(document):
    assert api_document.complaints(document) == []


def test_has_a_broken_document_for_each_rule():
    assert BREAKS.keys() == api_document.RULES.keys()


def test_reports_what_breaks_a_rule(subtests, document):
    for rule, path, value in [
        (rule, path, value) for rule, changes in BREAKS.items() for path, value in changes
    ]:
        with subtests.test(rule=rule, path=path):
            assert list(api_document.RULES[rule](_set(document, path, value)))


def test_knows_that_ours_breaks_no_rule(client):
    assert api_document.complaints(client.get("/api/openapi.json").json()) == []
