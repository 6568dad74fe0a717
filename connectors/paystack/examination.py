"""Examine the configured Paystack account with calls that change nothing, for `manage.py doctor --connector paystack`."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from connectors.paystack.api import bank_codes, codes
from connectors.paystack.api.client import PaystackClient, Refused
from kit.connectors.remarks import Remark
from kit.money.money import money
from payments.rails.protocol import AnswerLost, RailBlocked, RateLimited

MOST_NAMES = 10  # of banks that Paystack doesn't have
NO_FALLBACK_EMAIL = (
    "Set PAYSTACK_FALLBACK_EMAIL, or let every payment link ask for an e-mail address: Paystack needs one."
)


def examine() -> Iterator[Remark]:
    """Make harmless calls, and say what is wrong in the words of Paystack's dashboard."""
    try:
        client = PaystackClient()
    except ImproperlyConfigured as problem:
        yield Remark("paystack settings", str(problem), "Set them, and restart.", is_broken=True)
        return
    for name, check in CHECKS.items():
        yield from _carefully(f"paystack {name}", check, client)


def _carefully(
    name: str, check: Callable[[str, PaystackClient], Iterator[Remark]], client: PaystackClient
) -> list[Remark]:
    try:
        return list(check(name, client))
    except RailBlocked as blocked:
        return [Remark(name, "Paystack refuses the call.", blocked.reason, is_broken=True)]
    except Refused as refused:
        said = f"Paystack refuses the call: {refused.message}"
        return [Remark(name, said, "Ask Paystack's support.", is_broken=True)]
    except RateLimited:
        return [Remark(name, "The rate limit is reached.", "Try again in a minute.")]
    except AnswerLost:
        advice = f"Check the network from this server to {settings.PAYSTACK_URL}, and Paystack's status page."
        return [Remark(name, "Paystack didn't answer.", advice, is_broken=True)]


def _balance(name: str, client: PaystackClient) -> Iterator[Remark]:
    """Check the key, the address of this server, and what can be paid out."""
    rows = client.get("/balance", until=client.deadline()).data
    for row in rows if isinstance(rows, list) else ():
        currency, balance = (row.get("currency"), row.get("balance")) if isinstance(row, dict) else ("", 0)
        if currency not in settings.PAYSTACK_CURRENCIES or not isinstance(balance, int):
            continue
        said = f"The balance is {money(balance, currency)}."
        yield Remark(name, said, codes.LOW_BALANCE if balance <= 0 else "")


def _integration(name: str, client: PaystackClient) -> Iterator[Remark]:
    """Compare the integration and the environment of the newest change of the balance with the settings."""
    rows = client.get("/balance/ledger", query={"perPage": "1"}, until=client.deadline()).data
    newest: Any = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(newest, dict) or "integration" not in newest:
        yield Remark(
            name, "It can't be compared with PAYSTACK_INTEGRATION, because the balance has no changes yet."
        )
    elif str(newest["integration"]) != settings.PAYSTACK_INTEGRATION:
        advice = f"The key belongs to integration {newest['integration']}. Correct one of them."
        yield Remark(name, codes.OTHER_INTEGRATION, advice, is_broken=True)
    else:
        yield Remark(
            name, f"The key belongs to integration {settings.PAYSTACK_INTEGRATION} ({client.domain})."
        )


def _transfers(name: str, client: PaystackClient) -> Iterator[Remark]:
    """Look up a reference that no transfer has, and find transfers that wait for a one-time password."""
    try:
        client.get(f"/transfer/verify/{uuid4().hex}", endpoint="/transfer/verify", until=client.deadline())
    except Refused as refused:
        if not codes.is_missing(refused.code, refused.message):
            raise
    if _waits_for_code(client):
        yield Remark(name, "A transfer waits for a one-time password.", codes.ONE_TIME_CODES, is_broken=True)
    else:
        yield Remark(name, "Transfers can be looked up.")


def _waits_for_code(client: PaystackClient) -> bool:
    """Return whether a transfer waits for a one-time password, as far as Paystack lists transfers."""
    asked = {"status": codes.WAITS_FOR_CODE, "per_page": "5"}
    try:
        rows = client.get("/transfer", query=asked, until=client.deadline()).data
    except (Refused, AnswerLost):
        return False
    return isinstance(rows, list) and any(
        isinstance(row, dict) and row.get("status") == codes.WAITS_FOR_CODE for row in rows
    )


def _cards(name: str, client: PaystackClient) -> Iterator[Remark]:
    """Look up a reference that no card payment has."""
    try:
        client.get(
            f"/transaction/verify/{uuid4().hex}", endpoint="/transaction/verify", until=client.deadline()
        )
    except Refused as refused:
        if not codes.is_missing_transaction(refused.code, refused.message):
            raise
    lacks_email = settings.CARD_ACQUIRER == "paystack" and not settings.PAYSTACK_FALLBACK_EMAIL
    yield Remark(name, "Card payments can be looked up.", NO_FALLBACK_EMAIL if lacks_email else "")


def _banks(name: str, client: PaystackClient) -> Iterator[Remark]:
    """Find banks of ours that Paystack doesn't have. Payouts to them fail."""
    missing = bank_codes.read(client, until=client.deadline()).missing()
    if not missing:
        yield Remark(name, "Paystack has all banks of GET /api/banks.")
        return
    names = ", ".join(missing[:MOST_NAMES]) + (" and others" if len(missing) > MOST_NAMES else "")
    yield Remark(
        name,
        f"Paystack doesn't have {len(missing)} of our banks: {names}.",
        "Payouts to them fail with 20030.",
    )


def _accounts(name: str, client: PaystackClient) -> Iterator[Remark]:
    """Find out whether Paystack opens accounts for this business, if that is what opens ours."""
    if settings.ACCOUNT_PROVIDER != "paystack":
        return
    rows = client.get("/dedicated_account/available_providers", until=client.deadline()).data
    slugs = [str(row.get("provider_slug")) for row in rows or () if isinstance(row, dict)]
    wanted = settings.PAYSTACK_PREFERRED_BANK
    if not slugs or (wanted and wanted not in slugs):
        said = f"Paystack opens accounts at {', '.join(slugs) or 'no bank'}, not at {wanted or 'any'}."
        yield Remark(
            name, said, "Correct PAYSTACK_PREFERRED_BANK, or ask Paystack's support.", is_broken=True
        )
        return
    yield Remark(
        name,
        f"Paystack opens accounts at {', '.join(slugs)}.",
        "If Paystack has your business under betting, financial or general services, its customers must be identified, "
        "which isn't supported: static accounts then stay inactive."
        if client.domain == "live"
        else "",
    )


CHECKS = {
    "balance": _balance,
    "integration": _integration,
    "transfers": _transfers,
    "cards": _cards,
    "banks": _banks,
    "accounts": _accounts,
}
