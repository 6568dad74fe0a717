"""Queries of addresses, without card numbers."""

from django.http import QueryDict

from kit.text.masking import mask_card_numbers

SEARCH = "q"


def encoded(query: QueryDict, *, keeps_search: bool = False) -> str:
    """Return a query as part of an address, with card numbers masked.

    A search that found something is kept: then its number is an identifier, which the page shows unchanged.

    >>> query = QueryDict("q=4084084084084081&since=4084084084084081&status=failed")
    >>> encoded(query)
    'q=408408%2A%2A%2A%2A%2A%2A4081&since=408408%2A%2A%2A%2A%2A%2A4081&status=failed'
    >>> encoded(query, keeps_search=True)[:18]
    'q=4084084084084081'
    """
    masked = QueryDict(mutable=True)
    for name, values in query.lists():
        is_kept = keeps_search and name == SEARCH
        masked.setlist(
            mask_card_numbers(name), [value if is_kept else mask_card_numbers(str(value)) for value in values]
        )
    return masked.urlencode()
