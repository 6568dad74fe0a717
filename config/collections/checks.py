"""The scripts of a request: what checks its response, and what saves values for later requests.

Postman and Bruno run JavaScript with the same structure. Only the names of a few functions differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from textwrap import indent

from config.collections.model import Request

SCRIPTS = Path(__file__).parent / "scripts"
REFUSE_LIVE_KEYS = """\
if ({resolve}("{{{{api_key}}}}").startsWith("pk_live_")) {{
  throw new Error("Scenarios run in the sandbox only. Set the variable api_key to a sandbox key.");
}}"""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of one program's functions."""

    signing: str  # its part of the signing script
    resolve: str
    status: str
    answer: str
    test: str
    expect: str
    save: str


POSTMAN = Dialect(
    signing="postman.js",
    resolve="pm.variables.replaceIn",
    status="pm.response.code",
    answer="pm.response.json()",
    test="pm.test",
    expect="pm.expect",
    save="pm.collectionVariables.set",
)
BRUNO = Dialect(
    signing="bruno.js",
    resolve="bru.interpolate",
    status="res.getStatus()",
    answer="res.getBody()",
    test="test",
    expect="expect",
    save="bru.setVar",
)


@lru_cache(maxsize=2)
def signing_script(dialect: Dialect) -> str:
    """Return the script that signs every request of a collection.

    It is a block, because its names would clash with those of the sandbox and of other scripts.
    """
    lines = "\n".join((SCRIPTS / name).read_text() for name in (dialect.signing, "signing.js"))
    return f"{{\n{indent(lines.rstrip(), '  ')}\n}}"


def refuse_live_keys(dialect: Dialect) -> str:
    return REFUSE_LIVE_KEYS.format(resolve=dialect.resolve)


def checks(request: Request, dialect: Dialect) -> str:
    """Return the script that runs after the response."""
    return "\n".join([*_tests(request, dialect), *_saves(request, dialect)])


def _tests(request: Request, dialect: Dialect) -> Iterator[str]:
    statuses = [each for each in request.accepted if isinstance(each, int)]
    codes = [each for each in request.accepted if isinstance(each, str)]
    found = f"{dialect.status} < 400 ? {dialect.status} : {dialect.answer}.code" if codes else dialect.status
    condition = f"{dialect.expect}({json.dumps(request.accepted)}).to.include({found})"
    yield _test(dialect, f"HTTP status is {' or '.join(map(str, statuses))}{_problems(codes)}", condition)
    for name, value in request.expected.items():
        condition = f"{dialect.expect}({dialect.answer}.{name}).to.equal({json.dumps(value)})"
        yield _test(dialect, f"{name} is {value}", condition)


def _problems(codes: list[str]) -> str:
    return f", or the problem is {' or '.join(codes)}" if codes else ""


def _test(dialect: Dialect, name: str, condition: str) -> str:
    return f"{dialect.test}({json.dumps(name)}, () => {{\n  {condition};\n}});"


def _saves(request: Request, dialect: Dialect) -> Iterator[str]:
    """Yield the lines that save values of a successful response. The first of an empty list is not there."""
    if not request.saved:
        return
    yield f"if ({dialect.status} < 300) {{"
    yield f"  const answer = {dialect.answer};"
    for variable, path in request.saved.items():
        value = f"answer{_access(path)}"
        yield f"  if ({value}) {dialect.save}({json.dumps(variable)}, {value});"
    yield "}"


def _access(path: str) -> str:
    """Return the JavaScript that reads a dotted path.

    >>> _access("data.0.event_id")
    '.data[0]?.event_id'
    """
    script = ""
    for name in path.split("."):
        script += f"[{name}]?" if name.isdigit() else f".{name}"
    return script
