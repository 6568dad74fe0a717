"""Validation of webhook URLs when a merchant saves them.

`webhooks.sending.sender` validates the resolved IP address again at each attempt.

>>> refusal("https://hooks.shop.com/sluice", strict=True) is None
True
>>> refusal("https://127.0.0.1/", strict=True)
'The host must be a domain name, not an address.'
"""

import re
from urllib.parse import urlsplit, urlunsplit

MAX_LENGTH = 2048
MAX_HOST = 253  # RFC 1035, without the trailing dot
ALLOWED_PORTS = frozenset({None, 443, 8443})
# RFC 6761, RFC 6762, and common names of private networks.
LOCAL_NAMES = frozenset(
    {
        "localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan",
        "test", "example", "invalid", "onion", "arpa",
    }
)  # fmt: skip
_PRINTABLE = re.compile(r"[!-\[\]-~]+\Z")  # ASCII without blank, control and backslash
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)\Z")
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)\Z")  # the last label of an address, in any spelling


def refusal(url: str, *, strict: bool, own_host: str = "") -> str | None:
    """Return why a webhook URL is invalid, or None. `strict` applies the rules of production."""
    if not url or len(url) > MAX_LENGTH or not _PRINTABLE.match(url):
        return f"The address must have 1 to {MAX_LENGTH} ASCII characters, without blanks and backslashes."
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "This is not an address."
    if parts.scheme not in ({"https"} if strict else {"https", "http"}) or not host:
        return (
            "The address must begin with https:// and a host."
            if strict
            else "The address must be an http(s) URL."
        )
    if "@" in parts.netloc:
        return "The address may not hold credentials."
    if "#" in url:
        return "The address may not have a fragment."
    # Brackets always hold an IP address, even one that looks like a name.
    return _strict_refusal(f"[{host}]" if "[" in parts.netloc else host, port, own_host) if strict else None


def _strict_refusal(host: str, port: int | None, own_host: str) -> str | None:
    if port not in ALLOWED_PORTS:
        return "The port must be 443 or 8443."
    host = host.removesuffix(".")
    labels = host.split(".")
    if "[" in host or _NUMERIC.match(labels[-1]):
        return "The host must be a domain name, not an address."
    if len(host) > MAX_HOST or "." not in host or not all(_LABEL.match(label) for label in labels):
        return "The host must be a domain name of at least two parts."
    if labels[-1] in LOCAL_NAMES:
        return "The host must be a public domain name."
    if host == own_host.lower().removesuffix("."):
        return "The host may not be this service's own."
    return None


def shown_url(url: str) -> str:
    """Return a URL without what may be a credential: user, password, query and fragment.

    >>> shown_url("https://ada:secret@shop.example:8443/hooks?token=1#x")
    'https://shop.example:8443/hooks'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
