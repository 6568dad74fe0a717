from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from kit.time.timestamps import timestamp
from merchants.commands import Document, DocumentCommand
from merchants.models import Business


class Command(DocumentCommand):
    help = (
        "List all businesses with their ids, oldest first. "
        "Example: manage.py list_businesses --name 'Ada Books' --json"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", help="only businesses with this name")
        super().add_arguments(parser)

    def handle(self, *, name: str | None, json: bool, **options: Any) -> None:
        found = Business.objects.order_by("created_at", "id")
        if name is not None:
            found = found.filter(name=name)
        self.show({"data": [_document(business) for business in found]}, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        for each in document["data"]:
            yield f"{each['business']}  {each['created_at']}  {each['name']}"
        if not document["data"]:
            yield "There are no such businesses. Create one with manage.py create_business --help."


def _document(business: Business) -> Document:
    return {
        "business": str(business.pk),
        "name": business.name,
        "created_at": timestamp(business.created_at),
    }
