"""The argument `--endpoint` of commands about one of a business's webhook endpoints."""

from argparse import ArgumentParser
from uuid import UUID

from django.core.management.base import CommandError

from merchants.models import Business
from webhooks.endpoints import endpoint_changes
from webhooks.models import Endpoint


def add_endpoint_argument(parser: ArgumentParser, *, default: str) -> None:
    parser.add_argument("--endpoint", metavar="ID", help=f"id of a webhook endpoint (default: {default})")


def chosen_endpoint(business: Business, text: str | None) -> Endpoint | None:
    """Return the endpoint of --endpoint, or None without it.

    :raises CommandError: the business has no such endpoint
    """
    if text is None:
        return None
    try:
        found = endpoint_changes.find(business, UUID(text))
    except ValueError:
        found = None
    if found is None:
        raise CommandError("--endpoint: this business has no webhook endpoint with this id.", returncode=2)
    return found
