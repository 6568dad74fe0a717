"""Play a scenario of the sandbox: its calls in their order, and the payer's answers to 3-D Secure pages."""

from __future__ import annotations

import copy
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from sluice.errors import SluiceError
from sluice.transport import Request

if TYPE_CHECKING:
    from sluice._models import Scenario, ScenarioStep
    from sluice.caller import Caller

EXPRESSION = re.compile(r"\{\{([A-Za-z0-9_.]+)\}\}")
TYPES: dict[str, type] = {"string": str, "integer": int, "object": dict}


class UnexpectedAnswer(SluiceError):
    """A step was not answered as its scenario says."""


class WrongChange(SluiceError, ValueError):
    """A scenario has no such field to change, or the value has another type."""


@dataclass(frozen=True)
class Played:
    """The answers of a scenario by step, and what the last one about its end shows."""

    scenario: str
    event: str | None
    answers: Mapping[str, Any] = field(repr=False)
    status: str
    response_code: str

    @property
    def references(self) -> list[str]:
        """The references that the steps used, the newest first."""
        found = [answer.get("reference") for answer in self.answers.values() if isinstance(answer, Mapping)]
        return list(dict.fromkeys(str(reference) for reference in reversed(found) if reference))


def play(caller: Caller, scenario: Scenario, changes: Mapping[str, Any] | None = None) -> Played:
    """Play a scenario with changes, as `{"pay.amount": 500}`.

    :raises WrongChange: the scenario has no such field, or the value has another type
    :raises UnexpectedAnswer: a step was answered otherwise
    """
    bodies = _changed(scenario, changes or {})
    answers: dict[str, Any] = {}
    for step in scenario.steps:
        reference = f"{scenario.name.split('.')[0].replace('_', '-')}-{secrets.token_hex(4)}"
        path = str(_resolved(step.path, answers, reference))
        body = _resolved(bodies[step.id], answers, reference)
        if step.payer:
            _answer_as_payer(caller, step, path, body)
        else:
            answers[step.id] = _call(caller, step, path, body)
    end = answers[scenario.ends.step]
    return Played(scenario.name, scenario.event, answers, str(end["status"]), str(end["response_code"]))


def _call(caller: Caller, step: ScenarioStep, path: str, body: Any) -> Any:
    answer = caller.call(step.method or "GET", path, body=body, is_repeatable=False)
    expected = step.expect
    if answer.meta.status != expected.http_status:
        raise UnexpectedAnswer(f"Step {step.id}: expected {expected.http_status}, not {answer.meta.status}.")
    for name in ("status", "response_code"):
        wanted = getattr(expected, name)
        if wanted and answer.document.get(name) != wanted:
            raise UnexpectedAnswer(
                f"Step {step.id}: expected the {name} {wanted}, not {answer.document.get(name)}."
            )
    return answer.document


def _answer_as_payer(caller: Caller, step: ScenarioStep, address: str, form: Any) -> None:
    """Post the payer's form. Of the address only the path is used: this client talks to its own service alone."""
    body = urlencode(form or {}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
    answer = caller.transport.send(Request("POST", urlsplit(address).path, headers, body))
    if answer.status != step.expect.http_status:
        raise UnexpectedAnswer(f"Step {step.id}: expected {step.expect.http_status}, not {answer.status}.")


def _changed(scenario: Scenario, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bodies of the steps with these changes."""
    bodies = {step.id: copy.deepcopy(step.body) for step in scenario.steps}
    for path, value in changes.items():
        kind = scenario.changes.get(path)
        if kind is None:
            known = ", ".join(scenario.changes) or "none"
            raise WrongChange(f"{scenario.name} has no field {path} to change. It has: {known}.")
        if not isinstance(value, TYPES[kind]) or isinstance(value, bool):
            raise WrongChange(f"{path} must be of the type {kind}, not {json.dumps(value)}.")
        step, *parents, last = path.split(".")
        body: Any = bodies[step]
        for parent in parents:
            body = body[parent]
        body[last] = value
    return bodies


def _resolved(node: Any, answers: Mapping[str, Any], reference: str) -> Any:
    """Return a part of a step with values in place of `{{new}}` and `{{step.path}}`."""
    if isinstance(node, Mapping):
        return {name: _resolved(value, answers, reference) for name, value in node.items()}
    if isinstance(node, list):
        return [_resolved(value, answers, reference) for value in node]
    if isinstance(node, str):
        return EXPRESSION.sub(lambda found: _value(found[1], answers, reference), node)
    return node


def _value(expression: str, answers: Mapping[str, Any], reference: str) -> str:
    if expression == "new":
        return reference
    value: Any = answers
    for part in expression.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return str(value)
