"""Read the addresses of payment links as people paste them."""

from urllib.parse import urlsplit


def slug_in(text: str) -> str:
    """Return the end of an address that was pasted in full, without its scheme, or as its last part.

    >>> slug_in("https://pay.example/l/K7WQ3M9X2BDT?x=1"), slug_in("pay.example/l/bookbinding/"), slug_in("bookbinding")
    ('k7wq3m9x2bdt', 'bookbinding', 'bookbinding')
    """
    return _path_of(text).rstrip("/").rpartition("/")[2].lower()


def _path_of(text: str) -> str:
    """Return the path of an address; the text itself if it is none that can be parsed."""
    try:
        return urlsplit(text).path
    except ValueError:
        return text
