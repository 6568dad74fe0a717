"""The folders of a collection that hold the operations of the OpenAPI document, one folder for each tag.

Responses set variables that the paths of later requests use:

>>> _with_variables("/api/payments/{reference}/capture"), _with_variables("/api/events/{event_id}")
('/api/payments/{{payment_reference}}/capture', '/api/events/{{event_id}}')
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from developer_site.collections.model import BASE_URL, NEW_REFERENCE, Example, Folder, Parameter, Request
from developer_site.collections.setups import Setup, setups

Schema: TypeAlias = Mapping[str, Any]

METHODS = ("get", "post", "put", "patch", "delete")
JSON, PROBLEM = "application/json", "application/problem+json"
MEMBER = re.compile(r"([^/]+)/\{(\w+)\}")  # in a path: a resource, and the parameter that names one of it
# Fields of bodies that name another resource, and the variable that holds it.
REFERRING = {
    "event": "{{event_id}}",
    "payment": "{{payment_reference}}",
    "payment_method_id": "{{virtual_account_id}}",
}
# The same, of one path: the number of an account to which a transfer is simulated.
REFERRING_OF_PATHS = {"/api/virtual-accounts/simulate": {"account_number": "{{session_account_number}}"}}
# What requests save beside the value that paths use.
ALSO_SAVED = {"virtual_account_id": ("/api/virtual-accounts", "id")}
# Problems that depend on what exists in the service, and not on the request.
ACCEPTED_PROBLEMS = frozenset({
    "amount_too_large",
    "insufficient_funds",
    "invalid_payment_method",
    "invalid_state",
    "key_may_not_decide",
    "not_found",
    "not_refundable",
    "sandbox_only",
    "unknown_account",
    "url_taken",
})  # fmt: skip
# Another kind of payment takes the body: which kind the path names is not known.
ACCEPTED_OF_PATHS = frozenset({"not_allowed_here"})
# The checks of the batch may have found nothing against the payouts for which the body has reasons.
ACCEPTED_OF_APPROVALS = frozenset({"invalid_request"})
FIRST_PROBLEM = 400
BEFORE = "Before "  # the name of a setup begins with it
RUNS_AS_A_WHOLE = "Every request succeeds in a run of the whole folder."
MAY_BE_REFUSED = (
    "These are single requests, ordered as in the API reference, and no flow. In a run of the whole folder, a request whose "
    "object has another state or doesn't exist is refused with 400, 404 or 409, which counts as passed: read the status "
    "of each response."
)
WITH_SETUPS = "A request whose name begins with Before creates what the request after it needs."
IN_SCENARIOS = "The folder Scenarios has the flows that work in order, with a check of each outcome."
# Examples of keys are shortened, so that a scanner for secrets finds none.
KEY = re.compile(r"\b((?:pk|sk|whk)_[a-z]+_)\w+")


def operation_folders(document: Schema, *, has_scenarios: bool) -> Iterator[Folder]:
    """Yield a folder for each tag of the document that has operations."""
    for tag in document["tags"]:
        items = tuple(
            request
            for path, method, operation in _operations(document)
            if tag["name"] in operation["tags"]
            for request in _requests(document, path, method, operation)
        )
        if items:
            yield Folder(
                name=tag["name"],
                text=f"{tag['description']}\n\n{_order(items, has_scenarios=has_scenarios)}",
                items=items,
            )


def _order(requests: Iterable[Request], *, has_scenarios: bool) -> str:
    """Return what a run of a whole folder does, and where the flows are."""
    sentences = []
    if any(request.name.startswith(BEFORE) for request in requests):
        sentences.append(WITH_SETUPS)
    if not any(request.accepts_problems for request in requests):
        return " ".join([*sentences, RUNS_AS_A_WHOLE])
    return " ".join([*sentences, MAY_BE_REFUSED, *([IN_SCENARIOS] if has_scenarios else [])])


def operation_variables(document: Schema) -> dict[str, str]:
    """Return the variables that paths and bodies use, with the examples of the document as their first values."""
    found: dict[str, str] = {}
    for path, _, operation in _operations(document):
        examples = {each["name"]: str(each["example"]) for each in operation["parameters"]}
        for resource, parameter in MEMBER.findall(path):
            found.setdefault(_variable(resource, parameter), examples.get(parameter, ""))
        for example in _content(operation.get("requestBody", {})).get("examples", {}).values():
            for name in REFERRING.keys() & example["value"].keys():
                found.setdefault(REFERRING[name].strip("{}"), str(example["value"][name]))
    return dict(sorted(found.items()))


def _operations(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _requests(document: Schema, path: str, method: str, operation: Schema) -> Iterator[Request]:
    """Yield a request for each example of the body, or one if there is no body, each after its setups."""
    for number, name in enumerate(_bodies(operation)):
        title = _title(operation, name)
        before = setups(method, path, name)
        yield from (_setup_request(document, setup, before=title) for setup in before)
        yield replace(
            _request(path, method, operation, name),
            accepted=tuple(_accepted(path, operation, may_be_refused=not before)),
            saved=_saved(document, path, method) if number == 0 else {},
        )


def _setup_request(document: Schema, setup: Setup, *, before: str) -> Request:
    """Return the request of a setup, named after the request that needs it."""
    operation = document["paths"][setup.path]["post"]
    request = _request(setup.path, "post", operation, setup.example)
    return replace(
        request,
        name=f"{BEFORE}{before} ({setup.purpose})",
        text="",
        accepted=tuple(_accepted(setup.path, operation, may_be_refused=False)),
        saved={**_saved(document, setup.path, "post"), **setup.saved},
        examples=(),
    )


def _request(path: str, method: str, operation: Schema, name: str) -> Request:
    """Return the request of an example."""
    return Request(
        name=_title(operation, name),
        method=method.upper(),
        url=BASE_URL + _with_variables(path),
        text=operation.get("description", ""),
        query=tuple(_parameters(operation, "query")),
        headers=tuple(_parameters(operation, "header")),
        body=_body(_bodies(operation)[name]["value"], path, method),
        accepted=(),
        examples=_examples(operation, name, is_only=len(_bodies(operation)) == 1),
    )


def _bodies(operation: Schema) -> Mapping[str, Any]:
    """Return the examples of the body by their names; one without a body if the operation has none."""
    none = {"": {"summary": "", "value": None}}
    found: Mapping[str, Any] = _content(operation.get("requestBody", {})).get("examples", none)
    return found


def _title(operation: Schema, name: str) -> str:
    bodies = _bodies(operation)
    return f"{operation['summary']}: {bodies[name]['summary']}" if len(bodies) > 1 else operation["summary"]


def _parameters(operation: Schema, where: str) -> Iterator[Parameter]:
    for parameter in operation["parameters"]:
        if parameter["in"] == where:
            yield Parameter(
                name=parameter["name"], value=str(parameter["example"]), text=parameter["description"]
            )


def _body(value: Schema | None, path: str, method: str) -> str:
    """Return the JSON of an example, with variables in place of references to what may not exist."""
    if value is None:
        return ""
    referring = REFERRING | REFERRING_OF_PATHS.get(path, {})
    written = {name: referring.get(name, part) for name, part in value.items()}
    if method == "post" and "reference" in written:
        written["reference"] = NEW_REFERENCE
    return _json(written)


def _accepted(path: str, operation: Schema, *, may_be_refused: bool) -> Iterator[int | str]:
    """Yield the statuses of success and, if it may be refused, the codes of problems that are no fault of the request."""
    accepted = ACCEPTED_PROBLEMS | (ACCEPTED_OF_PATHS if "{" in path else frozenset())
    if path == "/api/payout-batches/{reference}/approve":
        accepted |= ACCEPTED_OF_APPROVALS
    for status, answer in operation["responses"].items():
        if int(status) < FIRST_PROBLEM:
            yield int(status)
        if not may_be_refused:
            continue
        codes = _content(answer, PROBLEM).get("examples", ())
        yield from (code for code in codes if code in accepted)


def _saved(document: Schema, path: str, method: str) -> dict[str, str]:
    """Return what later requests use of the response: of a new resource, or of the first of a list."""
    creates = "post" in document["paths"][path]
    if method != ("post" if creates else "get"):
        return {}
    prefix = "" if creates else "data.0."
    members = [found for other in document["paths"] for found in MEMBER.findall(other)]
    saved = {
        _variable(resource, parameter): prefix + parameter
        for resource, parameter in members
        if path.endswith(f"/{resource}")
    }
    also = {variable: prefix + field for variable, (of, field) in ALSO_SAVED.items() if of == path}
    return saved | also


def _with_variables(path: str) -> str:
    return MEMBER.sub(lambda found: f"{found[1]}/{{{{{_variable(found[1], found[2])}}}}}", path)


def _variable(resource: str, parameter: str) -> str:
    one = resource.removesuffix("s").replace("-", "_")
    return parameter if parameter.startswith(one) else f"{one}_{parameter}"


def _examples(operation: Schema, request: str, *, is_only: bool) -> tuple[Example, ...]:
    """Return the responses of success to show with a request: all, or of several requests, the one of the same name."""
    shown = [
        Example(name=example["summary"], status=int(status), body=KEY.sub(r"\1…", _json(example["value"])))
        for status, answer in operation["responses"].items()
        for name, example in _content(answer).get("examples", {}).items()
        if int(status) < FIRST_PROBLEM and (is_only or name == request)
    ]
    return tuple(shown)


def _content(holder: Schema, kind: str = JSON) -> dict[str, Any]:
    content: dict[str, Any] = holder.get("content", {}).get(kind, {})
    return content


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
