"""Canonical form of e-mail addresses, used to store, compare and count them."""

from contextlib import suppress

from kit.text.display_names import pasted


def canonical(email: str) -> str:
    r"""Return an address in lower case, with its domain in IDNA form.

    A domain can be spelled in several ways. If each counted as a different address, a person could have several
    accounts and bypass the limits on e-mails to an address.

    >>> canonical(" Zoe@B\u00fccher.example "), canonical("zoe@\uff53ite\u3002example")
    ('zoe@xn--bcher-kva.example', 'zoe@site.example')
    >>> canonical("\u202aada@site.example\u200b\u00a0")
    'ada@site.example'
    >>> canonical("no address"), canonical("zoe@.example")
    ('no address', 'zoe@.example')
    """
    local, at, domain = pasted(email).strip().lower().rpartition("@")
    with suppress(UnicodeError):  # it isn't a domain
        domain = domain.encode("idna").decode()
    return f"{local}{at}{domain}".lower()
