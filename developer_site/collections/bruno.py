"""Collections in the format of Bruno: a folder of text files, in a ZIP archive.

Only blocks that all versions of Bruno know are written. Examples of responses stand in the documentation of a request.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping

from developer_site.collections.javascript import access, refuse_live_keys, signing_script
from developer_site.collections.model import Collection, Example, Folder, Parameter, Request

REFUSE_LIVE_KEYS = refuse_live_keys(resolve="bru.interpolate", unsign='req.setHeader("X-Signature", "")')
ENVIRONMENT = "Without-keys"  # `sluice collections bruno --with-keys` adds With-keys
MANIFEST = {"version": "1", "name": "", "type": "collection", "ignore": ["node_modules", ".git"]}
# The same for each file, so that the archive of the same document has the same bytes.
WRITTEN_AT = (1980, 1, 1, 0, 0, 0)
READABLE = 0o100644 << 16
NOT_IN_FILE_NAMES = re.compile(r"[^\w .,()'-]+")


def bruno_archive(collection: Collection) -> bytes:
    """Return the archive of a folder that Bruno opens."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name, text in _files(collection):
            member = zipfile.ZipInfo(name, WRITTEN_AT)
            member.external_attr, member.compress_type = READABLE, zipfile.ZIP_DEFLATED
            opened.writestr(member, text)
    return archive.getvalue()


def _files(collection: Collection) -> Iterator[tuple[str, str]]:
    first_values = {name: value for name, value in collection.variables.items() if value}
    yield "bruno.json", json.dumps(MANIFEST | {"name": collection.name}, indent=2) + "\n"
    yield (
        "collection.bru",
        _blocks(
            _dictionary("vars:pre-request", {"base_url": collection.base_url} | first_values),
            _text("script:pre-request", signing_script("bruno")),
            _text("docs", collection.text),
        ),
    )
    yield (
        f"environments/{ENVIRONMENT}.bru",
        _blocks(
            _dictionary("vars", {"base_url": collection.base_url, "api_key": ""}),
            "vars:secret [\n  secret_key\n]\n",
        ),
    )
    yield from _items("", collection.folders)


def _items(parent: str, items: Iterable[Folder | Request]) -> Iterator[tuple[str, str]]:
    for number, item in enumerate(items, start=1):
        name = parent + NOT_IN_FILE_NAMES.sub(" -", item.name)
        if isinstance(item, Folder):
            yield f"{name}/folder.bru", _folder(item, number)
            yield from _items(f"{name}/", item.items)
        else:
            yield f"{name}.bru", _request(item, number)


def _folder(folder: Folder, number: int) -> str:
    script = REFUSE_LIVE_KEYS if folder.is_sandbox_only else ""
    return _blocks(
        _dictionary("meta", {"name": folder.name, "seq": str(number)}),
        _text("script:pre-request", script),
        _text("docs", folder.text),
    )


def _request(request: Request, number: int) -> str:
    kind = "json" if request.body else "formUrlEncoded" if request.form else "none"
    return _blocks(
        _dictionary("meta", {"name": request.name, "type": "http", "seq": str(number)}),
        _dictionary(request.method.lower(), {"url": request.url, "body": kind, "auth": "none"}),
        _dictionary("params:query", dict(_sent(request)) | _disabled(request.query)),
        _dictionary("headers", _disabled(request.headers)),
        _text("body:json", request.body),
        _dictionary("body:form-urlencoded", request.form),
        _dictionary("vars:post-response", dict(_saved(request))),
        _text("script:pre-request", "req.setMaxRedirects(0);" if request.form else ""),
        _dictionary("assert", dict(_assertions(request))),
        _text("docs", "\n\n".join(_documentation(request))),
    )


def _assertions(request: Request) -> Iterator[tuple[str, str]]:
    """Yield expressions and what they must be. A script of tests takes twice the time of these."""
    found = "(res.status < 400 && res.status) || res.body.code" if request.accepts_problems else "res.status"
    yield found, f"in {', '.join(map(str, request.accepted))}"
    for field, value in request.expected.items():
        yield f"res.body.{field}", f'eq "{value}"'


def _saved(request: Request) -> Iterator[tuple[str, str]]:
    """Yield variables and the expressions of their values. If the response has none, the value stays."""
    for variable, path in request.saved.items():
        yield (
            variable,
            f'res.body?{access(path)} || bru.getVar("{variable}") || bru.getCollectionVar("{variable}")',
        )


def _sent(request: Request) -> Iterator[tuple[str, str]]:
    for pair in request.url.partition("?")[2].split("&"):
        name, _, value = pair.partition("=")
        if name:
            yield name, value


def _disabled(parameters: Iterable[Parameter]) -> dict[str, str]:
    return {f"~{parameter.name}": parameter.value for parameter in parameters}


def _documentation(request: Request) -> Iterator[str]:
    """Yield the parts of a request's documentation. Bruno has no other place for the words of parameters."""
    if request.text:
        yield request.text
    parameters = (*request.query, *request.headers)
    if parameters:
        yield "\n".join(f"- `{parameter.name}`: {parameter.text}" for parameter in parameters)
    yield from map(_example, request.examples)


def _example(example: Example) -> str:
    return f"### {example.status} {example.name}\n\n```json\n{example.body}\n```"


def _blocks(*blocks: str) -> str:
    return "\n".join(block for block in blocks if block)


def _dictionary(name: str, pairs: Mapping[str, str]) -> str:
    lines = [f"  {key}: {value}".rstrip() for key, value in pairs.items()]
    return "\n".join([f"{name} {{", *lines, "}", ""]) if lines else ""


def _text(name: str, text: str) -> str:
    """Return a block of text. Indented, no line can be taken for the end of the block."""
    lines = [f"  {line}".rstrip() for line in text.split("\n")]
    return "\n".join([f"{name} {{", *lines, "}", ""]) if text else ""
