"""Write models and versions of the clients from the OpenAPI document: `python generate.py openapi.json`.

`--check` only compares. The version of both clients is that of the document, which is the service's.

Answers become frozen dataclasses, requests typed dictionaries. `3ds` is `three_ds`, because a name in Python may not
begin with a digit.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLIENTS = Path(__file__).parents[1]
MODELS = CLIENTS / "python" / "src" / "sluice" / "_models.py"
VERSION = CLIENTS / "python" / "src" / "sluice" / "version.py"
NODE_VERSION = CLIENTS / "node" / "src" / "version.ts"
PREFIX = "#/components/schemas/"
# Requests whose fields are the keyword arguments of a method, without those that the method sets itself.
ARGUMENTS = {
    "CardPaymentRequest": ("request_type", "payment_method"),
    "VirtualAccountPaymentRequest": ("request_type", "payment_method"),
    "PayoutRequest": ("request_type",),
    "CardCheckRequest": ("request_type", "reference"),
    "StaticAccountRequest": ("type", "account_type"),
    "BusinessAccountRequest": ("type", "account_type"),
    "DynamicAccountRequest": ("type", "account_type"),
    "LinkRequest": (),
    "LinkChangeRequest": (),
    "PayoutBatchRequest": (),
    "SavedBeneficiaryRequest": (),
    "BeneficiaryChangeRequest": (),
    "WebhookEndpointRequest": (),
    "WebhookEndpointChangeRequest": (),
    "SimulateRequest": (),
}
CARDS = {"SourceRequest", "CheckedSourceRequest"}  # requests that a `sluice.Card` may stand for
SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "number": "float", "null": "None"}
WIDTH = 110
HEAD = '''"""Models of the API. Written by generate.py from the OpenAPI document; do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from sluice.model import Model

if TYPE_CHECKING:
    from typing_extensions import Required

    from sluice.card import Card

'''


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("document", help="the OpenAPI document; - reads standard input")
    parser.add_argument("--check", action="store_true", help="fail if the file is not what would be written")
    options = parser.parse_args()
    text = sys.stdin.read() if options.document == "-" else Path(options.document).read_text()
    document = json.loads(text)
    version = document["info"]["version"]
    files = {
        MODELS: generated(document),
        VERSION: f'"""The version, which is the service\'s."""\n\n__version__ = "{version}"\n',
        NODE_VERSION: f'/** The version, which is the service\'s. */\nexport const VERSION = "{version}";\n',
    }
    outdated = [file for file, written in files.items() if file.read_text() != written]
    if options.check:
        for file in outdated:
            print(f"{file} is not current: make client-models", file=sys.stderr)
        return 1 if outdated else 0
    for file in outdated:
        file.write_text(files[file])
    return 0


def generated(document: dict[str, Any]) -> str:
    """Return the module's text."""
    schemas: dict[str, Any] = document["components"]["schemas"]
    requests = {name: schema for name, schema in schemas.items() if name.endswith("Request")}
    events = {name for name in schemas if name.endswith("Event")}
    answers = {
        name: schema for name, schema in schemas.items() if name not in requests and name not in events
    }
    parts = [
        HEAD,
        *(_enumeration(name, schema) for name, schema in sorted(schemas.items()) if "enum" in schema),
        *(_dataclass(name, schema) for name, schema in sorted(answers.items()) if "properties" in schema),
        *(_typed_dict(name, schema) for name, schema in sorted(requests.items()) if "properties" in schema),
        *(_arguments(name, requests[name]) for name in ARGUMENTS),
        *_queries(document),
        *(_union(name, schema) for name, schema in sorted(requests.items()) if "oneOf" in schema),
        _nested(answers),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _enumeration(name: str, schema: dict[str, Any]) -> str:
    return f"{name} = {_literal(schema['enum'])}"


def _union(name: str, schema: dict[str, Any]) -> str:
    members = " | ".join(_name(member) for member in schema["oneOf"])
    return f"if TYPE_CHECKING:\n    {name} = {members}"


def _dataclass(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    lines = ["", "@dataclass(frozen=True, kw_only=True, slots=True)", f"class {name}(Model):"]
    lines += _docstring(schema.get("description", ""))
    for field, described in schema["properties"].items():
        kind = _type(described)
        is_optional = field not in required and not kind.endswith("None")
        default = "" if field in required else " = None"
        lines.append(f"    {_attribute(field)}: {kind}{' | None' if is_optional else ''}{default}")
        lines += _docstring(described.get("description", ""))
    return "\n".join(lines)


def _arguments(name: str, schema: dict[str, Any]) -> str:
    """Return the keyword arguments of the method that makes such a request."""
    fields = {
        _attribute(field): described
        for field, described in schema["properties"].items()
        if field not in ARGUMENTS[name] and described.get("description") != "Ignored."
    }
    return _typed_dict(name.replace("Request", "Arguments"), schema | {"properties": fields})


def _queries(document: dict[str, Any]) -> Iterator[str]:
    """Yield the keyword arguments of each list: filters, `limit` and `cursor`. None stands for no such filter."""
    for operation in (path["get"] for path in document["paths"].values() if "get" in path):
        fields = {
            each["name"]: {"oneOf": [each["schema"], {"type": "null"}]}
            for each in operation.get("parameters", ())
            if each["in"] == "query"
        }
        if fields:
            name = operation["operationId"]
            yield _typed_dict(f"{name[0].upper()}{name[1:]}Query", {"properties": fields})


def _typed_dict(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    lines = [f"{name} = TypedDict(", f'    "{name}",', "    {"]
    for field, described in schema["properties"].items():
        kind = _type(described)
        kind = f"Required[{kind}]" if field in required else kind
        lines.append(
            f'        "{field}": "{kind}",'.replace("'", '\\"')
            if "'" in kind
            else f'        "{field}": "{kind}",'
        )
    return "\n".join([*lines, "    },", "    total=False,", ")"])


def _nested(answers: dict[str, Any]) -> str:
    """Return the table of fields that hold other models, for reading an answer."""
    lines = ["", "Model.NESTED.update(", "    {"]
    for name, schema in sorted(answers.items()):
        fields = {
            field: target
            for field, described in schema.get("properties", {}).items()
            if (target := _model_within(described, answers))
        }
        if fields:
            pairs = ", ".join(f'"{field}": {target}' for field, target in fields.items())
            lines.append(f"        {name}: {{{pairs}}},")
    return "\n".join([*lines, "    }", ")"])


def _model_within(schema: dict[str, Any], answers: dict[str, Any]) -> str:
    for each in (schema, schema.get("items", {}), *schema.get("oneOf", ())):
        if "$ref" in each and "properties" in answers.get(_name(each), {}):
            return _name(each)
    return ""


def _type(schema: dict[str, Any]) -> str:
    alternatives = schema.get("oneOf") or [{**schema, "type": each} for each in _types(schema)]
    if "$ref" in schema:
        return _name(schema) + (" | Card" if _name(schema) in CARDS else "")
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        return _literal(values) + (" | None" if None in schema["enum"] else "")
    if alternatives:
        return " | ".join(_type(each) for each in alternatives)
    if schema["type"] == "array":
        return f"list[{_type(schema['items'])}]"
    values = schema.get("additionalProperties")
    of_object = f"dict[str, {_type(values)}]" if isinstance(values, dict) else "dict[str, Any]"
    return SCALARS.get(schema["type"], of_object)


def _types(schema: dict[str, Any]) -> list[str]:
    """Return the types of a schema that has several."""
    kind = schema.get("type")
    return kind if isinstance(kind, list) else []


def _literal(values: list[str]) -> str:
    return f"Literal[{', '.join(repr(value) for value in values)}]"


def _name(reference: dict[str, Any]) -> str:
    return str(reference["$ref"]).removeprefix(PREFIX)


def _attribute(field: str) -> str:
    """Return the name of a field in Python.

    >>> _attribute("3ds"), _attribute("amount")
    ('three_ds', 'amount')
    """
    return {"3ds": "three_ds"}.get(field, field)


def _docstring(text: str) -> Iterator[str]:
    if not text:
        return
    safe = text.replace("\\", "\\\\").replace('"""', "'''")
    lines = textwrap.wrap(safe, WIDTH - 12)
    yield from textwrap.indent("\n".join(['"""' + lines[0], *lines[1:]]) + '"""', "    ").splitlines()
    yield ""


if __name__ == "__main__":
    sys.exit(main())
