"""The one spelling in which e-mail addresses of people are stored, compared and counted."""

from contextlib import suppress


def canonical(email: str) -> str:
    r"""Return an address in lower case, with its domain as mail servers know it (IDNA).

    Several spellings of a domain lead to one mailbox. If each were a different address, a person could have several
    accounts, and limits of mails to an address could be avoided.

    >>> canonical(" Zoe@B\u00fccher.example "), canonical("zoe@\uff53ite\u3002example")
    ('zoe@xn--bcher-kva.example', 'zoe@site.example')
    >>> canonical("no address"), canonical("zoe@.example")
    ('no address', 'zoe@.example')
    """
    local, at, domain = email.strip().lower().rpartition("@")
    with suppress(UnicodeError):  # it isn't a domain
        domain = domain.encode("idna").decode()
    return f"{local}{at}{domain}".lower()
