"""What the settings of the Paystack account may be. A problem names the setting, never its value.

The prefix of a key decides the environment: `sk_test_` belongs to our sandbox, `sk_live_` to production.
"""

import re
from collections.abc import Iterator

from iso4217 import Currency

HTTPS = r"https://[^\s/?#@]+"
SIMULATOR = r"http://127\.0\.0\.1(:\d+)?\Z"  # on this machine
EMAIL = re.compile(r"[^\s@+]+@[^\s@]+\.[^\s@]+")
INTEGRATION = re.compile(r"[0-9]{1,18}")

DECIMALS = 2  # of every amount there: also of the CFA franc (XOF), which has none by ISO 4217


def currency(code: str) -> str:
    """Return a currency in which their subunits are our minor units.

    :raises ValueError: there is no such currency, or they divide its amounts otherwise
    """
    found = Currency(code)
    if found.exponent != DECIMALS:
        raise ValueError(code)
    return str(found.value)


def problems(
    *,
    secret_key: str,
    url: str,
    integration: str,
    is_sandbox: bool,
    may_be_simulated: bool,
    fallback_email: str = "",
    opens_accounts: bool = False,
) -> Iterator[str]:
    """Yield a sentence for each setting that is wrong. An empty key or integration isn't.

    >>> list(problems(secret_key="sk_test_x", url="https://api.paystack.example", integration="1", is_sandbox=False, may_be_simulated=False))
    ['PAYSTACK_SECRET_KEY must be a secret key of this environment, which begins with sk_live_.']
    """
    prefix = "sk_test_" if is_sandbox else "sk_live_"
    if secret_key and not re.fullmatch(rf"{prefix}\w+", secret_key, re.ASCII):
        yield f"PAYSTACK_SECRET_KEY must be a secret key of this environment, which begins with {prefix}."
    if not re.match(f"{HTTPS}|{SIMULATOR}" if may_be_simulated else HTTPS, url):
        yield "PAYSTACK_URL must be an https:// address. In a sandbox, http://127.0.0.1 is accepted too."
    if integration and not INTEGRATION.fullmatch(integration):
        yield "PAYSTACK_INTEGRATION must be a number, the ID of the integration."
    if fallback_email and not EMAIL.fullmatch(fallback_email):
        yield "PAYSTACK_FALLBACK_EMAIL must be an e-mail address without +."
    if opens_accounts and not fallback_email:
        yield "ACCOUNT_PROVIDER=paystack needs PAYSTACK_FALLBACK_EMAIL: customers there get that address with a tag."
