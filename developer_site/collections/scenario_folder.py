"""The folder of a collection that holds the sandbox's scenarios, each with its steps in their order.

>>> used_of("pay", {"path": "/api/payments/{{pay.reference}}", "body": {"payment": "{{pay.id}} {{new}}"}})
{'pay.reference': 'reference', 'pay.id': 'id'}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from developer_site.collections.model import BASE_URL, NEW_REFERENCE, Folder, Request

Json: TypeAlias = Mapping[str, Any]

TEXT = (
    "Everything that can be made to happen in the sandbox. Run a folder as a whole: its requests use the responses of "
    "the requests before them, and check what they receive. A live key is refused."
)
NEW = "{{new}}"


def scenario_folder(scenarios: Iterable[Json]) -> Folder:
    """Return the folder of scenarios, as the API lists them."""
    folders = tuple(
        Folder(name=scenario["name"], text=_text(scenario), items=tuple(_steps(scenario)))
        for scenario in scenarios
    )
    return Folder(name="Scenarios", text=TEXT, items=folders, is_sandbox_only=True)


def _text(scenario: Json) -> str:
    ends = scenario["ends"]
    event = f" The last event is `{scenario['event']}`." if scenario["event"] else ""
    summary = f"`{ends['response_code']}` {ends['response_summary']}"
    return f"{scenario['title']}. Ends with the status `{ends['status']}`: {summary}.{event}"


def _steps(scenario: Json) -> Iterator[Request]:
    for number, step in enumerate(scenario["steps"]):
        expected = dict(step["expect"])
        status = expected.pop("http_status")
        later = scenario["steps"][number + 1 :]
        is_payer = "payer" in step
        yield Request(
            name=f"{number + 1} {step['id']}",
            method=step.get("method", "POST"),
            url=_resolvable(step["path"] if is_payer else BASE_URL + step["path"]),
            text=f"The payer's answer to the 3-D Secure page: {step['payer']}." if is_payer else "",
            body="" if is_payer or "body" not in step else _resolvable(_json(step["body"])),
            form=step["body"] if is_payer else {},
            accepted=(status,),
            expected=expected,
            saved=used_of(step["id"], later),
        )


def used_of(step: str, later: Any) -> dict[str, str]:
    """Return the variables that later steps read of a step's response, each with the path in the response."""
    found = re.findall(r"\{\{" + re.escape(step) + r"\.([a-z0-9_.]+)\}\}", json.dumps(later))
    return {f"{step}.{path}": path for path in found}


def _resolvable(text: str) -> str:
    return text.replace(NEW, NEW_REFERENCE)


def _json(body: Json) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False)
