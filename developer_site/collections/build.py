"""Puts a collection together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from developer_site.collections.model import Collection, Folder
from developer_site.collections.operations import operation_folders, operation_variables
from developer_site.collections.scenario_folder import scenario_folder

TEXT = """\
Every operation of the API in a folder for its tag{scenarios}. Made from the OpenAPI document of {base_url}.

1. Set the variables `api_key` and `secret_key`. The collection holds neither.
2. Send a request. A script of the collection replaces the variables in its address and body, and signs the result.

`{{{{new_reference}}}}` is a new reference for each request, so sending a request twice creates two payments. To see a
replay, write a reference of your own in its place and send the request twice: the second response is 200 with the header
`Idempotent-Replayed: true`, and nothing is executed again.

Requests save references and ids of their responses as variables, which the paths of other requests use: create a payment,
and `{{{{payment_reference}}}}` is its reference. Query parameters and headers that are optional are written down but
disabled.
"""
SCENARIOS = ", and the scenarios of the sandbox in the folder Scenarios"


def collection(document: Mapping[str, Any], scenarios: Iterable[Mapping[str, Any]]) -> Collection:
    """Return the collection of an OpenAPI document. Without scenarios, it has no folder for them."""
    played = list(scenarios)
    folders = list(operation_folders(document, has_scenarios=bool(played)))
    if played:
        folders.append(scenario_folder(played))
    base_url = document["servers"][0]["url"].rstrip("/")
    return Collection(
        name=document["info"]["title"],
        text=TEXT.format(base_url=base_url, scenarios=SCENARIOS if played else "").rstrip(),
        base_url=base_url,
        folders=tuple(folders),
        variables=_variables(document, folders),
    )


def _variables(document: Mapping[str, Any], folders: Iterable[Folder]) -> dict[str, str]:
    saved = {name: "" for folder in folders for request in folder.requests() for name in request.saved}
    return saved | operation_variables(document)
