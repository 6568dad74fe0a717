"""Collections in the format of Postman, version 2.1."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from developer_site.collections.javascript import access, refuse_live_keys, signing_script
from developer_site.collections.model import BASE_URL, Collection, Example, Folder, Parameter, Request

Json: TypeAlias = dict[str, Any]

FILE_NAME = "sluice.postman_collection.json"
SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
REFUSE_LIVE_KEYS = refuse_live_keys(
    resolve="pm.variables.replaceIn", unsign='pm.request.headers.remove("X-Signature")'
)
CONTENT_TYPE = {"key": "Content-Type", "value": "application/json"}


def postman_file(collection: Collection) -> bytes:
    """Return the file that Postman imports. Its id is the same each time, so Postman can replace what it has."""
    document = {
        "info": {
            "_postman_id": str(uuid5(NAMESPACE_URL, f"{collection.base_url}/api/collections/postman.json")),
            "name": collection.name,
            "description": collection.text,
            "schema": SCHEMA,
        },
        "item": [_folder(folder) for folder in collection.folders],
        "event": [_event("prerequest", signing_script("postman"))],
        "variable": [
            {"key": "base_url", "value": collection.base_url, "type": "string"},
            {"key": "api_key", "value": "", "type": "string"},
            {"key": "secret_key", "value": "", "type": "secret"},
            *(
                {"key": name, "value": value, "type": "string"}
                for name, value in collection.variables.items()
            ),
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _folder(folder: Folder) -> Json:
    written: Json = {
        "name": folder.name,
        "description": folder.text,
        "item": [_folder(item) if isinstance(item, Folder) else _item(item) for item in folder.items],
    }
    if folder.is_sandbox_only:
        written["event"] = [_event("prerequest", REFUSE_LIVE_KEYS)]
    return written


def _item(request: Request) -> Json:
    written: Json = {
        "name": request.name,
        "event": [_event("test", "\n".join([*_tests(request), *_saves(request)]))],
        "request": _request(request),
        "response": [_response(example, request) for example in request.examples],
    }
    if request.form:
        written["protocolProfileBehavior"] = {"followRedirects": False}
    return written


def _request(request: Request) -> Json:
    written: Json = {
        "method": request.method,
        "header": [
            *([CONTENT_TYPE] if request.body else []),
            *(_disabled(header) for header in request.headers),
        ],
        "url": _url(request),
        "description": request.text,
    }
    if request.body:
        written["body"] = {"mode": "raw", "raw": request.body, "options": {"raw": {"language": "json"}}}
    if request.form:
        fields = [{"key": name, "value": value} for name, value in request.form.items()]
        written["body"] = {"mode": "urlencoded", "urlencoded": fields}
    return written


def _url(request: Request) -> Json:
    if not request.url.startswith(BASE_URL):  # a variable that holds a whole address
        return {"raw": request.url, "host": [request.url]}
    path, _, query = request.url.removeprefix(f"{BASE_URL}/").partition("?")
    sent = [pair.partition("=") for pair in query.split("&") if pair]
    return {
        "raw": request.url,
        "host": [BASE_URL],
        "path": path.split("/"),
        "query": [
            *({"key": name, "value": value} for name, _, value in sent),
            *(_disabled(parameter) for parameter in request.query),
        ],
    }


def _disabled(parameter: Parameter) -> Json:
    return {
        "key": parameter.name,
        "value": parameter.value,
        "description": parameter.text,
        "disabled": True,
    }


def _response(example: Example, request: Request) -> Json:
    return {
        "name": example.name,
        "originalRequest": _request(request),
        "status": HTTPStatus(example.status).phrase,
        "code": example.status,
        "_postman_previewlanguage": "json",
        "header": [CONTENT_TYPE],
        "body": example.body,
    }


def _tests(request: Request) -> Iterator[str]:
    """Yield the JavaScript that checks the response."""
    status = "pm.response.code"
    if request.accepts_problems:
        status = f"{status} < 400 ? {status} : pm.response.json().code"
    name = f"HTTP status or code of the problem is {' or '.join(map(str, request.accepted))}"
    yield _test(name, f"pm.expect({json.dumps(request.accepted)}).to.include({status})")
    for field, value in request.expected.items():
        yield _test(
            f"{field} is {value}", f"pm.expect(pm.response.json().{field}).to.equal({json.dumps(value)})"
        )


def _test(name: str, condition: str) -> str:
    return f"pm.test({json.dumps(name)}, () => {{\n  {condition};\n}});"


def _saves(request: Request) -> Iterator[str]:
    """Yield the JavaScript that saves values of a successful response. The first of an empty list is not there."""
    if not request.saved:
        return
    yield "if (pm.response.code < 400) {"
    yield "  const answer = pm.response.json();"
    for variable, path in request.saved.items():
        value = f"answer{access(path)}"
        yield f"  if ({value}) pm.collectionVariables.set({json.dumps(variable)}, {value});"
    yield "}"


def _event(listen: str, script: str) -> Json:
    return {"listen": listen, "script": {"type": "text/javascript", "exec": script.split("\n")}}
