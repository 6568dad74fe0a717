"""What the settings of the Checkout.com account may be. A problem names the setting, never its value.

Keys and addresses of their test environment ("sandbox") belong to our sandbox, live ones to production. Keys that begin with
`pk_` are public ones, and those of their older platform (`sk_test_…`, `sk_` and a UUID) belong to another interface.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from iso4217 import Currency

SECRET_KEY = re.compile(r"sk_(?P<test>sbox_)?[a-z2-7]{26}[a-z2-7*#$=]")
CHANNEL = re.compile(r"pc_\w{26}", re.ASCII)
HOST = re.compile(r"([a-z0-9-]+\.)?api\.(?P<test>sandbox\.)?checkout\.com")
# Their amounts have as many decimals as ISO 4217 says, but for these. CLF and UYW have four.
OTHER_DECIMALS = frozenset({"CLP", "UYI", "CLF", "UYW"})


def currency(code: str) -> str:
    """Return a currency in which their minor units are ours.

    :raises ValueError: there is no such currency, or they divide its amounts otherwise
    """
    if code in OTHER_DECIMALS:
        raise ValueError(code)
    return str(Currency(code).value)


def problems(
    *, secret_key: str, url: str, channel: str, is_sandbox: bool, may_be_simulated: bool
) -> Iterator[str]:
    """Yield a sentence for each setting that is wrong. Empty ones aren't.

    `may_be_simulated` accepts a simulator on this machine as the address.

    >>> list(problems(secret_key="pk_x", url="", channel="", is_sandbox=True, may_be_simulated=True))
    ['CHECKOUT_SECRET_KEY must be a secret key of Checkout.com, sk_sbox_ and 27 characters.']
    """
    kind, host = ("sk_sbox_", "sandbox.") if is_sandbox else ("sk_", "")
    key = SECRET_KEY.fullmatch(secret_key)
    if secret_key and (key is None or bool(key["test"]) is not is_sandbox):
        yield f"CHECKOUT_SECRET_KEY must be a secret key of Checkout.com, {kind} and 27 characters."
    if channel and not CHANNEL.fullmatch(channel):
        yield "CHECKOUT_PROCESSING_CHANNEL must be a processing channel, pc_ and 26 characters."
    if url and not _is_address(url, is_sandbox=is_sandbox, may_be_simulated=may_be_simulated):
        yield f"CHECKOUT_URL must be the account's address, such as https://prefix.api.{host}checkout.com."


def _is_address(url: str, *, is_sandbox: bool, may_be_simulated: bool) -> bool:
    """Return whether an address is theirs in the right environment, or a simulator's."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return False
    if may_be_simulated and parts.scheme == "http" and host == "127.0.0.1":
        return True
    found = HOST.fullmatch(host)
    return (
        parts.scheme == "https"
        and port in {None, 443}
        and found is not None
        and bool(found["test"]) is is_sandbox
    )
