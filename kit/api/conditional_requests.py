"""Conditional requests (RFC 9110, chapter 13).

>>> matches('"a"', '"b", W/"a"'), matches('"a"', "*"), matches('"a"', "a"), matches('"a"', "")
(True, True, False, False)
"""

from django.utils.http import parse_etags


def matches(etag: str, if_none_match: str) -> bool:
    """Return whether an If-None-Match header matches an entity tag: alone, in a list, weakly, or with `*`."""
    given = parse_etags(if_none_match)
    return "*" in given or etag.removeprefix("W/") in {tag.removeprefix("W/") for tag in given}
