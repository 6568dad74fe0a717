from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from dashboard.search import indexer
from kit.terminal.progress import show_progress
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand, chosen_business


class Command(DocumentCommand):
    help = (
        "Write the search terms of all payments, payouts, refunds, unapplied transfers and virtual accounts. The "
        "scheduler indexes new ones every two seconds, and older ones in the background. This command indexes "
        "everything now, and can be repeated. Example: manage.py rebuild_search --business 'Ada Books'"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--business", metavar="ID_OR_NAME", help="only the objects of this business")
        parser.add_argument(
            "--clear", action="store_true", help="first delete the existing terms; until then, less is found"
        )
        super().add_arguments(parser)

    def handle(self, *, business: str | None, clear: bool, json: bool, **options: Any) -> None:
        chosen = chosen_business(business) if business else None
        deleted = 0
        if clear:
            for each in show_progress(
                indexer.clear(business=chosen),
                total=None,
                stream=self.stderr,
                size=int,
                what="terms deleted,",
            ):
                deleted += each
        read = 0
        for each in show_progress(
            indexer.rebuild(business=chosen), total=None, stream=self.stderr, size=int, what="rows"
        ):
            read += each
        self.show({"rows_read": read, "terms_deleted": deleted}, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        if document["terms_deleted"]:
            yield f"Deleted {counted(document['terms_deleted'], 'search term')}."
        yield f"Read {counted(document['rows_read'], 'row')}."
