"""Play the sandbox's scenarios as a client does: by signed calls and the payer's forms."""

import re
from typing import Any
from urllib.parse import urlsplit

from tests.orders import new_reference

_EXPRESSION = re.compile(r"\{\{([a-z0-9_.]+)\}\}")


def play(scenario: dict[str, Any], api: Any) -> dict[str, dict[str, Any]]:
    """Play a scenario, as the API lists it, and return the answers by step. Assert what each step expects."""
    answers: dict[str, Any] = {}
    for step in scenario["steps"]:
        reference = new_reference("sc")
        path = _resolved(step["path"], answers, reference)
        body = _resolved(step.get("body"), answers, reference)
        response = _send(step, api, path, body)
        expected = step["expect"]
        assert response.status_code == expected["http_status"], (step["id"], response.content)
        if "method" in step:
            answers[step["id"]] = response.json()
            assert (
                expected.items() - {("http_status", expected["http_status"])} <= answers[step["id"]].items()
            )
    return answers


def _send(step: dict[str, Any], api: Any, path: str, body: Any) -> Any:
    if "payer" in step:
        return api.django.post(urlsplit(path).path, body)
    return api.get(path) if step["method"] == "GET" else api.post(path, body)


def _resolved(node: Any, answers: dict[str, Any], reference: str) -> Any:
    if isinstance(node, dict):
        return {name: _resolved(value, answers, reference) for name, value in node.items()}
    if isinstance(node, list):
        return [_resolved(value, answers, reference) for value in node]
    if isinstance(node, str):
        return _EXPRESSION.sub(lambda found: _value(found[1], answers, reference), node)
    return node


def _value(expression: str, answers: dict[str, Any], reference: str) -> str:
    if expression == "new":
        return reference
    value: Any = answers
    for part in expression.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return str(value)
