"""Checkout.com's published document of its interface, and what of an answer isn't valid against it.

The document is no part of the project. It is looked for beside the project's root, or where PROVIDER_DOCUMENTS says.
"""

import functools
import os
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator, validators
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("PROVIDER_DOCUMENTS") or ROOT.parent / "shared" / "providers")
URI = "urn:checkout"
DOCUMENT = FOLDER / "checkout" / "openapi.yaml"
# Members of newer editions, by name.
NEWER = frozenset({"processing_channel_id", "store_for_future_use", "acquirer_reference_number"})


def require_document():
    """Skip the calling module, in one line, where the document is absent."""
    if not DOCUMENT.is_file():
        pytest.skip("the providers' documents are absent (PROVIDER_DOCUMENTS)", allow_module_level=True)


@functools.cache
def document():
    """Return the document, corrected where it contradicts itself."""
    found = yaml.load(DOCUMENT.read_text(), Loader=yaml.CSafeLoader)
    schemas = found["components"]["schemas"]
    schemas["PaymentResponseBalances"]["required"] = []  # demands an `id` that balances don't have
    schemas["3dsRequest"]["required"] = ["enabled"]  # demands a member without a name
    evidence = schemas["Dispute"]["properties"]["relevant_evidence"]
    evidence["items"] = {
        "type": "string",
        "enum": evidence["items"]["enum"],
    }  # the names are words, not lists
    for name in ("FinancialActionListResponse", "ReportListResponse", "ReportResponse", "FileResponse"):
        for link in schemas[name]["properties"]["_links"]["properties"].values():
            del link["additionalProperties"]  # excludes the `href` that the link consists of
    return found


@functools.cache
def _registry():
    resource = Resource.from_contents(document(), default_specification=DRAFT202012)
    return Registry().with_resource(URI, resource).crawl()


def answer_schema(method, path, status):
    """Return the schema of an answer, or None if it has no body."""
    answers = document()["paths"][path][method.lower()]["responses"]
    place = f"paths/{_escaped(path)}/{method.lower()}/responses/{status}"
    return _json(place) if "content" in answers[str(status)] else None


def request_schema(method, path):
    return _json(f"paths/{_escaped(path)}/{method.lower()}/requestBody")


def component(name):
    return {"$ref": f"#/components/schemas/{name}"}


def _json(place):
    return {"$ref": f"#/{place}/content/application~1json/schema"}


def _escaped(path):
    return path.replace("/", "~1")


def complaints(instance, schema):
    """Return what of an instance isn't valid, and which of its members the document doesn't know."""
    validator = _Validator({"$ref": URI + schema["$ref"]}, registry=_registry())
    invalid = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(instance)]
    return invalid + list(_unknown(instance, schema, "$"))


def _resolved(schema):
    while "$ref" in schema:
        schema = functools.reduce(
            lambda node, part: node[part.replace("~1", "/").replace("~0", "~")],
            schema["$ref"].removeprefix("#/").split("/"),
            document(),
        )
    return schema


def _discriminated(validator, discriminator, instance, schema):
    """Validate with the schema that the discriminator names, which refers to this one again."""
    mapping, name = discriminator.get("mapping", {}), discriminator["propertyName"]
    if isinstance(instance, dict) and (target := mapping.get(instance.get(name))):
        parts = _resolved({"$ref": target}).get("allOf", [])
        for part in parts:
            if "$ref" not in part:
                yield from validator.descend(instance, part)


# The document's alternatives overlap: any of them will do. Its `minItems` of objects says nothing.
_Validator = validators.extend(
    Draft202012Validator,
    {"oneOf": Draft202012Validator.VALIDATORS["anyOf"], "discriminator": _discriminated},
)


def _members(schema, instance):
    """Yield the described members of an object and their schemas."""
    schema = _resolved(schema)
    yield from schema.get("properties", {}).items()
    for part in [*schema.get("allOf", []), *schema.get("oneOf", []), *schema.get("anyOf", [])]:
        yield from _members(part, instance)
    discriminator = schema.get("discriminator", {})
    if target := discriminator.get("mapping", {}).get(instance.get(discriminator.get("propertyName"))):
        for part in _resolved({"$ref": target}).get("allOf", []):
            if "$ref" not in part:
                yield from _members(part, instance)


def _unknown(instance, schema, path):
    schema = _resolved(schema)
    if isinstance(instance, list):
        candidates = [schema, *map(_resolved, schema.get("oneOf", []))]
        items = next((one["items"] for one in candidates if "items" in one), {})
        for place, item in enumerate(instance):
            yield from _unknown(item, items, f"{path}[{place}]")
    elif isinstance(instance, dict):
        members = list(_members(schema, instance))
        for name, value in instance.items():
            known = [one for key, one in members if key == name]
            if members and not known and name not in NEWER:
                yield f"{path}.{name} is not in the document"
            if known and name != "metadata":  # alternatives: the one that knows most
                yield from min((list(_unknown(value, one, f"{path}.{name}")) for one in known), key=len)
