"""Places whose paths continue with a credential: one list for logs, traces and support bundles."""

import re

SECRET_PLACES = (
    "/3ds/",
    "/pay/",
    "/l/",
    "/checkout/",
    "/statement/",
    "/dashboard/invitation/",
    "/dashboard/login/new-password/",
)

_SLASH = "(?:/|%(?:25)*2[Ff])"  # also as it stands in the `next` of a query, encoded once or more often
_PLACE = "|".join(place.replace("/", _SLASH) for place in SECRET_PLACES)
_TO_THE_END = re.compile(f"({_PLACE}).+", re.DOTALL)
_IN_TEXT = re.compile(rf"({_PLACE})[^\s?&#\"'<>]+")


def without_credential(path: str) -> str:
    """Return a path, or a message that ends with one, with a placeholder for its credential.

    >>> without_credential("Service Unavailable: /checkout/yO1xN0/card"), without_credential("/api/banks")
    ('Service Unavailable: /checkout/…', '/api/banks')
    """
    return _TO_THE_END.sub(r"\1…", path)


def without_credentials(text: str) -> str:
    """Return a text in which each path has a placeholder for its credential.

    >>> without_credentials("302 to /dashboard/login/?next=%2Fdashboard%2Finvitation%2Ftok-1&a=b for 10.0.0.1")
    '302 to /dashboard/login/?next=%2Fdashboard%2Finvitation%2F…&a=b for 10.0.0.1'
    """
    return _IN_TEXT.sub(lambda found: f"{found[1]}…", text)
