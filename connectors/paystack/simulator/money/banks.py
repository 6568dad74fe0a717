"""The list of banks, and name enquiry."""

import re

from connectors.paystack.simulator import tables
from connectors.paystack.simulator.answers import Answer, Document, Refused, Request, ok, page
from connectors.paystack.simulator.integration import Integration

ACCOUNT_NUMBER = re.compile(r"[0-9]{10}")
UNKNOWN_NUMBER = "0000000000"


def list_banks(integration: Integration, request: Request) -> Answer:
    member = (
        integration.variants["nip_member"] if request.query.get("include_nip_sort_code") == "true" else ""
    )
    shown, meta = page(list(tables.BANKS.values()), request.query)
    is_cursor = request.query.get("use_cursor") == "true"
    return ok("Banks retrieved", [_bank(each, member) for each in shown], meta=meta if is_cursor else None)


def _bank(shown: tables.ListedBank, nip_member: str) -> Document:
    slug = re.sub(r"[^a-z0-9]+", "-", shown.name.lower()).strip("-")
    return {
        "name": shown.name,
        "slug": slug if shown.is_active else f"{slug}-old",
        "code": shown.code,
        "longcode": "",
        "gateway": None,
        "pay_with_bank": False,
        "supports_transfer": True,
        "available_for_direct_debit": False,
        "active": shown.is_active,
        "is_deleted": not shown.is_active,
        "country": "Nigeria",
        "currency": "NGN",
        "type": "nuban",
        "id": shown.id,
        "createdAt": "2016-07-14T10:04:29.000Z",
        "updatedAt": "2016-07-14T10:04:29.000Z",
    } | ({nip_member: shown.nip_code} if nip_member else {})


def resolve(integration: Integration, request: Request) -> Answer:
    """Name the holder of an account. A wrong number and a bank that is down have the same answer [M6]."""
    number, code = request.query.get("account_number", ""), request.query.get("bank_code", "")
    if integration.domain == "test" and code != tables.TEST_BANK:
        _count_resolve(integration)
    bank = tables.BANKS.get(code)
    name = account_name(integration, number)
    if name == "" or not (bank or is_test_bank(integration, code)):
        raise Refused("resolve")
    return ok(
        "Account number resolved",
        {"account_number": number, "account_name": name, "bank_id": bank.id if bank else 0},
    )


def _count_resolve(integration: Integration) -> None:
    today = integration.now().date()
    if integration.resolves.count(today) >= tables.TEST_RESOLVES:
        raise Refused("resolve_limit", status=int(integration.variants["resolve_limit"]))
    integration.resolves.append(today)


def is_test_bank(integration: Integration, code: str) -> bool:
    return integration.domain == "test" and code == tables.TEST_BANK


def account_name(integration: Integration, number: str) -> str | None:
    """Return the name of an account: "" if it cannot be resolved. A bank may give none [M6]."""
    if not ACCOUNT_NUMBER.fullmatch(number) or number == UNKNOWN_NUMBER:
        return ""
    return integration.names.get(number, tables.PEOPLE[int(number) % len(tables.PEOPLE)].upper())
