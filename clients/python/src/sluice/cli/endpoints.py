"""`sluice endpoints`: the URLs that receive your events."""

from __future__ import annotations

import argparse
import base64
import re
from typing import Any

from sluice._models import WebhookEndpoint, WebhookEndpointWithKey
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command
from sluice.cli.connection import connect, connect_to_change
from sluice.cli.output import fields, show, table

ID = "7a1f2b7e-0c5c-5d0a-9f5e-2d9b6b1d6c11"
EXAMPLE = "sluice endpoints create --url https://shop.example/hooks --events payment,refund.success"
# Fields of the request.
OPTIONS = ("url", "subscribed_events", "enabled", "description", "standard_webhooks", "api_version")


def add_to(commands: Subparsers) -> None:
    group = add_command(commands, "endpoints", help="Choose which URLs receive your events.", example=EXAMPLE)
    actions = group.add_subparsers(required=True, metavar="ACTION")
    listed = add_command(
        actions, "list", help="List all, oldest first.", example="sluice endpoints list", run=_list
    )
    found = add_command(actions, "get", help="Show one.", example=f"sluice endpoints get {ID}", run=_get)
    create = add_command(
        actions,
        "create",
        help="Add one, and print its signing key, which is shown only now.",
        example=EXAMPLE,
        run=_create,
    )
    update = add_command(
        actions, "update", help="Change one.", example=f"sluice endpoints update {ID} --disable", run=_update
    )
    delete = add_command(
        actions,
        "delete",
        help="Delete one. Its deliveries that wait are skipped. The first can only be disabled.",
        example=f"sluice endpoints delete {ID}",
        run=_delete,
    )
    rotate = add_command(
        actions,
        "rotate",
        help="Replace the signing key, and print the new one, which is shown only now.",
        example=f"sluice endpoints rotate {ID} --overlap-hours 24",
        run=_rotate,
    )
    rotate.add_argument(
        "--overlap-hours",
        type=_hours,
        metavar="HOURS",
        help="how long the old key signs too, 0 to 72 (default 0)",
    )
    for parser in (found, update, delete, rotate):
        parser.add_argument("endpoint", metavar="ID", help="its ID, as sluice endpoints list shows it")
    for parser in (create, update):
        _add_fields(parser, is_new=parser is create)
    for parser in (listed, found, create, update, delete, rotate):
        add_caller(parser)


def _add_fields(parser: argparse.ArgumentParser, *, is_new: bool) -> None:
    parser.add_argument("--url", required=is_new, help="where events are sent")
    parser.add_argument(
        "--events",
        dest="subscribed_events",
        metavar="EVENTS",
        type=lambda text: text.split(","),
        help="categories and names of events, separated by commas, such as payment,refund.success",
    )
    parser.add_argument("--description", help="your words for it")
    parser.add_argument(
        "--standard-webhooks",
        action=argparse.BooleanOptionalAction,
        help="send the headers of Standard Webhooks too",
    )
    parser.add_argument("--api-version", metavar="DATE", help="the version of the events' shape")
    state = parser.add_mutually_exclusive_group()
    state.add_argument("--enable", dest="enabled", action="store_true", default=None, help="send its events")
    state.add_argument("--disable", dest="enabled", action="store_false", help="hold its events")


def _hours(text: str) -> float:
    """Return hours; the sandbox takes fractions.

    :raises ArgumentTypeError: they are no number
    """
    if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", text):
        return float(text)
    raise argparse.ArgumentTypeError(f"{text} is no number of hours, such as 24")


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a request that were given."""
    given = {name: getattr(options, name) for name in OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


def _list(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.webhook_endpoints.list().data
    rows = [
        (_state(each), each.url, ",".join(each.subscribed_events), each.description, each.id)
        for each in found
    ]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _get(options: argparse.Namespace) -> int:
    with connect(options) as client:
        return _show(client.webhook_endpoints.get(options.endpoint), options)


def _create(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Send events to {options.url}") as client:
        return _show(client.webhook_endpoints.create(**_fields(options)), options)


def _update(options: argparse.Namespace) -> int:
    changes = _fields(options)
    if not changes:
        raise WrongUsage("Say what changes, such as --url, --events or --disable.")
    with connect_to_change(options, f"Change endpoint {options.endpoint}") as client:
        return _show(client.webhook_endpoints.update(options.endpoint, **changes), options)


def _delete(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Delete endpoint {options.endpoint}") as client:
        client.webhook_endpoints.delete(options.endpoint)
    show({"deleted": options.endpoint}, options, lines=lambda: fields({"deleted": options.endpoint}))
    return 0


def _rotate(options: argparse.Namespace) -> int:
    hours = options.overlap_hours
    with connect_to_change(options, f"Rotate the key of endpoint {options.endpoint}") as client:
        return _show(client.webhook_endpoints.rotate(options.endpoint, overlap_hours=hours), options)


def _show(endpoint: WebhookEndpoint | WebhookEndpointWithKey, options: argparse.Namespace) -> int:
    key = getattr(endpoint, "hash_key", "")
    values = {
        "url": endpoint.url,
        "state": _state(endpoint),
        "events": ", ".join(endpoint.subscribed_events),
        "description": endpoint.description,
        "standard": "also the headers of Standard Webhooks" if endpoint.standard_webhooks else "",
        "version": endpoint.api_version,
        "signing key": key,
        "their secret": _standard_secret(key) if key and endpoint.standard_webhooks else "",
        "id": endpoint.id,
    }
    show(endpoint, options, lines=lambda: fields(values))
    return 0


def _standard_secret(key: str) -> str:
    """Return a signing key as libraries of Standard Webhooks take it."""
    return f"whsec_{base64.b64encode(key.encode()).decode()}"


def _state(endpoint: WebhookEndpoint | WebhookEndpointWithKey) -> str:
    return "enabled" if endpoint.enabled else "disabled"
