"""Check the OpenAPI document for what makes generated clients fail: part of `make lint`.

Each rule is a function that yields the places which break it. The rules come from what openapi-python-client and
openapi-typescript could not read, and from what API references need (decision 0013).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any, TypeAlias

import jsonschema

Schema: TypeAlias = dict[str, Any]
Place: TypeAlias = str

METHODS = ("get", "put", "post", "delete", "patch")
PREFIX = "#/components/schemas/"
COMBINATIONS = ("oneOf", "anyOf", "allOf")
SINGLE_SUBSCHEMAS = ("items", "additionalProperties", "propertyNames")
# Lists that may grow. A generated client with a closed enum would crash on a new value.
OPEN_LISTS = {"code", "response_code", "gateway_code", "gateway_recommendation", "card_type"}
VERBS = {
    "accept", "activate", "add", "advance", "approve", "begin", "cancel", "capture", "create", "credit", "deactivate", "delete", "end", "get", "list", "poll", "receive",
    "remove", "report", "resend", "resolve", "retry", "return", "rotate", "simulate", "submit", "update", "void",
}  # fmt: skip


def complaints(document: Schema) -> list[str]:
    """Return what breaks a rule, with the rule's name and the place."""
    return [f"{name}: {found}" for name, rule in RULES.items() for found in rule(document)]


# R1 ---------------------------------------------------------------------------------------------------


def names(document: Schema) -> Iterator[str]:
    """Yield schemas with a title, which generators would take for the name, and names that are not unique."""
    components = document["components"]["schemas"]
    for place, schema in _component_schemas(document):
        if "title" in schema:
            yield f"{place} has a title; its name is the component's"
    for name, component in components.items():
        if not re.fullmatch("([A-Z][a-z0-9]*)+", name):
            yield f"{name} is not in PascalCase"
        if re.sub("(?<=.)([A-Z])", r"_\1", name).lower() in component.get("properties", {}):
            yield f"{name} has a field of the same name, for which a generator would use the same variable"
    for name, times in Counter(name.lower() for name in components).items():
        if times > 1:
            yield f"{name} is the name of {times} schemas, which differ in case only"


def endings(document: Schema) -> Iterator[str]:
    """Yield requests that are not named so, and events that are not."""
    components = document["components"]["schemas"]
    for name in sorted(_reachable(_request_bodies(document), components)):
        if not name.endswith("Request") and "enum" not in components[name]:
            yield f"{name} is sent in a request, but does not end in Request"
    for kind, body in _webhook_bodies(document).items():
        if not body.get("$ref", "").endswith("Event"):
            yield f"webhook {kind} has a body that does not end in Event"


# R2 ---------------------------------------------------------------------------------------------------


def constants(document: Schema) -> Iterator[str]:
    """Yield constants that are not strings: generators write `Literal[False]`, which their own types refuse."""
    for place, schema in _schemas(document):
        if "const" in schema and not isinstance(schema["const"], str):
            yield f"{place} is the constant {schema['const']!r}; use its type and words"


# R3 ---------------------------------------------------------------------------------------------------


def answers(document: Schema) -> Iterator[str]:
    """Yield answers whose schema is not a single reference, and errors that are not of the common schema."""
    for operation, status, answer in _answers(document):
        for content in answer.get("content", {}).values():
            is_file = content["schema"].get("format") == "binary"
            if set(content["schema"]) != {"$ref"} and not is_file:
                yield f"{operation} {status} is not a single reference"
            elif status[0] in "45":
                yield from _errors(operation, status, answer, content)


def _errors(operation: str, status: str, answer: Schema, content: Schema) -> Iterator[str]:
    codes = content["examples"]
    of_conflicts = {"duplicate_reference": "Conflict", "url_taken": "UrlConflict"}
    expected = next((schema for code, schema in of_conflicts.items() if code in codes), "Problem")
    if _target(content["schema"]) != expected:
        yield f"{operation} {status} is not of the schema {expected}"
    for code in codes:
        if f"`{code}`" not in answer["description"]:
            yield f"{operation} {status} does not describe {code}"


# R4 ---------------------------------------------------------------------------------------------------


def unions(document: Schema) -> Iterator[str]:
    """Yield unions within unions, and unions whose members can't be told apart."""
    components = document["components"]["schemas"]
    for name, union in components.items():
        members = [member for key in ("oneOf", "anyOf") for member in union.get(key, ())]
        for member in members:
            if set(member) != {"$ref"}:
                yield f"{name} has a member without a name"
            elif any(key in components[_target(member)] for key in COMBINATIONS):
                yield f"{name} has a union as a member: {_target(member)}"
        if "oneOf" not in union:
            continue
        named = [_target(member) for member in members if "$ref" in member]
        for one, other in combinations(named, 2):
            if not _differ(components[one], components[other]):
                yield f"{name}: no field tells {one} from {other}"
        yield from _discriminator(name, union, components)


def _differ(one: Schema, other: Schema) -> bool:
    """Return whether a field of both has exactly one value in each, and these differ, or each needs a field of its own."""
    words, of_other = _words(one), _words(other)
    return any(words[field] != of_other[field] for field in words.keys() & of_other.keys()) or (
        _needs_own_field(one, other) and _needs_own_field(other, one)
    )


def _needs_own_field(one: Schema, other: Schema) -> bool:
    return bool(set(one.get("required", ())) - other.get("properties", {}).keys())


def _words(schema: Schema) -> dict[str, str]:
    """Return the fields of an object that have only one value."""
    return {
        name: field["enum"][0]
        for name, field in schema.get("properties", {}).items()
        if len(field.get("enum", ())) == 1
    }


def _discriminator(name: str, union: Schema, components: Schema) -> Iterator[str]:
    if "discriminator" not in union:
        return
    field, mapping = union["discriminator"]["propertyName"], union["discriminator"]["mapping"]
    for value, reference in mapping.items():
        member = reference.removeprefix(PREFIX)
        if _words(components[member]).get(field) != value:
            yield f"{name}: {member}.{field} is not always {value}"
    if len(set(mapping.values())) != len(mapping) or len(mapping) != len(union["oneOf"]):
        yield f"{name}: its discriminator has not exactly one value for each member"


# R5 ---------------------------------------------------------------------------------------------------


def open_lists(document: Schema) -> Iterator[str]:
    """Yield lists that may grow and are closed in an answer."""
    components = document["components"]["schemas"]
    requests = _reachable(_request_bodies(document), components)
    for name, component in components.items():
        if name in requests:
            continue
        for field, schema in component.get("properties", {}).items():
            if field in OPEN_LISTS and len(schema.get("enum", ())) > 1:
                yield f"{name}.{field} is closed; use x-extensible-enum"


# R6 ---------------------------------------------------------------------------------------------------


def defaults(document: Schema) -> Iterator[str]:
    """Yield defaults in requests: generators take such a field for one that is always sent."""
    components = document["components"]["schemas"]
    for name in sorted(_reachable(_request_bodies(document), components)):
        for place, schema in _walk(name, components[name]):
            if "default" in schema:
                yield f"{place} has a default; say in words what absence means"


# R7 ---------------------------------------------------------------------------------------------------


def types(document: Schema) -> Iterator[str]:
    """Yield enums that stand in several places, scalars with alternatives, and schemas without a type."""
    places: dict[tuple[str, ...], list[Place]] = {}
    for place, schema in _schemas(document):
        if not {"type", "$ref", *COMBINATIONS} & set(schema):
            yield f"{place} has no type"
        if "type" in schema and "anyOf" in schema:
            yield f"{place} has alternatives within a scalar"
        values = tuple(value for value in schema.get("enum", ()) if value is not None)
        if len(values) > 1:
            places.setdefault(values, []).append(place)
    for found in places.values():
        if len(found) > 1:
            yield f"the enum of {', '.join(found)} is not a component of its own"


# R8 ---------------------------------------------------------------------------------------------------


def descriptions(document: Schema) -> Iterator[str]:
    """Yield what lacks words or a valid example, references that lead nowhere, and missing facts about the API."""
    yield from (*_missing_facts(document["info"]), *_operation_ids(document), *_undeclared_names(document))
    for place, operation in [*_operations(document), *_webhooks(document)]:
        if not (operation.get("summary") or operation.get("description")):
            yield f"{place} has no words"
        for parameter in operation.get("parameters", ()):
            yield from _undescribed(f"{place} {parameter['name']}", parameter, parameter["schema"], document)
    for place, schema in _component_schemas(document):
        for name, field in schema.get("properties", {}).items():
            yield from _undescribed(f"{place}.{name}", field, field, document)
    for reference in _references(document):
        if not _resolves(reference, document):
            yield f"{reference} leads nowhere"


def _undeclared_names(document: Schema) -> Iterator[str]:
    """Yield names in paths that are no parameters."""
    for place, operation in _operations(document):
        declared = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
        yield from (
            f"{place} does not declare {name}" for name in {*re.findall(r"{(\w+)}", place)} - declared
        )


def _missing_facts(info: Schema) -> Iterator[str]:
    for fact in ("title", "version", "description", "license", "contact"):
        if not info.get(fact):
            yield f"info has no {fact}"
    if not {"identifier", "url"} & info.get("license", {}).keys():
        yield "info.license has neither an SPDX identifier nor a URL, without which openapi-generator refuses the document"


def _operation_ids(document: Schema) -> Iterator[str]:
    ids = Counter(
        operation.get("operationId", "") for _, operation in [*_operations(document), *_webhooks(document)]
    )
    for name, times in ids.items():
        verb = re.match("[a-z]+", name)
        if not re.fullmatch("[a-z]+([A-Z][a-z0-9]*)*", name) or not verb or verb[0] not in VERBS:
            yield f"the operation {name!r} is not a verb and its object in camelCase"
        if times > 1:
            yield f"{times} operations are named {name}"


def _undescribed(place: Place, described: Schema, schema: Schema, document: Schema) -> Iterator[str]:
    if not described.get("description"):
        yield f"{place} has no words"
    examples = [*described.get("examples", ()), *([described["example"]] if "example" in described else ())]
    if not examples and not _shows_another(schema):
        yield f"{place} has no example"
    resolvable = {**schema, "components": document["components"]}
    for example in examples:
        if not jsonschema.Draft202012Validator(resolvable).is_valid(example):
            yield f"{place} has an example that its schema refuses"


def _shows_another(schema: Schema) -> bool:
    """Return whether a schema consists of another one, whose own fields have the examples."""
    return "$ref" in schema or "oneOf" in schema or "$ref" in schema.get("items", {})


# R9 and R10 -------------------------------------------------------------------------------------------


def webhooks(document: Schema) -> Iterator[str]:
    """Yield webhooks that lack a schema of their own, the headers, or their place in the union of all events."""
    components = document["components"]["schemas"]
    members = {_target(member) for member in components.get("WebhookEvent", {}).get("oneOf", ())}
    if components.get("WebhookEvent", {}).get("discriminator", {}).get("propertyName") != "event":
        yield "WebhookEvent is not told apart by event"
    for kind, body in _webhook_bodies(document).items():
        operation = document["webhooks"][kind]["post"]
        own = _target(body)
        if own != "".join(part.capitalize() for part in re.split("[._]", kind)) + "Event":
            yield f"{kind} has no schema of its own"
        elif own not in members:
            yield f"{own} is missing from WebhookEvent"
        elif components[own].get("additionalProperties") is False:
            yield f"{own} is closed to new fields"
        if {"2XX", "4XX"} - operation["responses"].keys() or operation.get("security") != []:
            yield f"{kind} must have the answers 2XX and 4XX, and no security of the API"
        if not any(parameter["name"] == "X-Service-Signature" for parameter in operation["parameters"]):
            yield f"{kind} has no signature"


RULES: dict[str, Callable[[Schema], Iterator[str]]] = {
    "names": names,
    "endings": endings,
    "constants": constants,
    "answers": answers,
    "unions": unions,
    "open lists": open_lists,
    "defaults": defaults,
    "types": types,
    "descriptions": descriptions,
    "webhooks": webhooks,
}


# Reading the document ---------------------------------------------------------------------------------


def _operations(document: Schema) -> Iterator[tuple[Place, Schema]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield f"{method.upper()} {path}", methods[method]


def _webhooks(document: Schema) -> Iterator[tuple[Place, Schema]]:
    for kind, methods in document.get("webhooks", {}).items():
        yield f"webhook {kind}", methods["post"]


def _answers(document: Schema) -> Iterator[tuple[Place, str, Schema]]:
    for place, operation in _operations(document):
        for status, answer in operation["responses"].items():
            yield place, status, answer


def _request_bodies(document: Schema) -> Iterator[Schema]:
    for _, operation in _operations(document):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield content["schema"]


def _webhook_bodies(document: Schema) -> dict[str, Schema]:
    return {
        kind: methods["post"]["requestBody"]["content"]["application/json"]["schema"]
        for kind, methods in document.get("webhooks", {}).items()
    }


def _schemas(document: Schema) -> Iterator[tuple[Place, Schema]]:
    """Yield every schema of the document, subschemas too."""
    yield from _component_schemas(document)
    for name, header in document["components"].get("headers", {}).items():
        yield from _walk(f"header {name}", header["schema"])
    for place, operation in [*_operations(document), *_webhooks(document)]:
        for parameter in operation.get("parameters", ()):
            yield from _walk(f"{place} {parameter['name']}", parameter["schema"])
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (content for body in bodies for content in body.get("content", {}).values()):
            yield from _walk(place, content["schema"])


def _component_schemas(document: Schema) -> Iterator[tuple[Place, Schema]]:
    for name, schema in document["components"]["schemas"].items():
        yield from _walk(name, schema)


def _walk(place: Place, schema: Schema) -> Iterator[tuple[Place, Schema]]:
    yield place, schema
    for name, field in schema.get("properties", {}).items():
        yield from _walk(f"{place}.{name}", field)
    for key in SINGLE_SUBSCHEMAS:
        if isinstance(schema.get(key), dict):
            yield from _walk(f"{place}.{key}", schema[key])
    for key in COMBINATIONS:
        for number, member in enumerate(schema.get(key, ())):
            yield from _walk(f"{place}.{key}.{number}", member)


def _reachable(schemas: Iterable[Schema], components: Schema) -> set[str]:
    """Return the names of the components that these schemas refer to, directly or not."""
    found: set[str] = set()
    waiting = list(schemas)
    while waiting:
        for _, schema in _walk("", waiting.pop()):
            name = _target(schema)
            if name in components and name not in found:
                found.add(name)
                waiting.append(components[name])
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for key, child in node.items():
            if key not in ("example", "examples", "value") or not isinstance(child, list):
                yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def _resolves(reference: str, document: Schema) -> bool:
    node: Any = document
    for part in reference.removeprefix("#/").split("/"):
        if not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return True


def _target(schema: Schema) -> str:
    return str(schema.get("$ref", "")).removeprefix(PREFIX)
