"""A business with data on every page, for `page_states`."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from payments.business_days import business_day
from tests import orders
from tests.clients import Credentials, HttpClient
from tests.journeys.service import Service
from tests.receiver import running_receiver

PASSWORD = "correct horse battery staple"
TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
LONG_NAME = "Ọmọlará & Sons <Fine Furniture, Upholstery and Interior Works> of Abeokuta Ltd"
NASTY_NAME = "<b>Ada</b> \u05d0\u05d1 Obi of Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"

PEOPLE = f"""
import json
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from merchants.models import Business, Member, User
from tests.dashboard.people import passkey_of
business = Business.objects.get(pk="{{business}}")
def member(email, role, of=business):
    return Member.objects.create(business=of, user=User.objects.create_user(email, "{PASSWORD}"), role=role)
viewer = member("viewer@example.com", "viewer").pk
mfa_user = member("mfa@example.com", "finance").user
TOTP.activate(mfa_user, "{TOTP_SECRET}")
RecoveryCodes.activate(mfa_user)
passkey = passkey_of(mfa_user)
User.objects.create_superuser("staff@example.com", "{PASSWORD}")
member("new@example.com", "owner", of=Business.objects.create(name="{LONG_NAME}"))
print(json.dumps({{{{"viewer": viewer, "passkey": passkey.pk, "key": business.api_keys.first().pk}}}}))
"""


@dataclass(frozen=True, kw_only=True)
class SampleData:
    """The service with its sample data: the owner's credentials, and ids of rows."""

    service: Service
    email: str  # of the owner
    password: str
    ids: dict[str, Any]


@contextmanager
def create_sample_data(service: Service) -> Iterator[SampleData]:
    """Create a business with data for every page."""
    made = service.command("create_business", "--name", "Ada Books", "--email", "ada@example.com", "--json")
    owner = json.loads(made.stdout)
    client = HttpClient(service.base_url, Credentials(owner["api_key"], owner["secret_key"]))
    created = service.command("shell", "-v0", "-c", PEOPLE.format(business=owner["business"]))
    assert created.returncode == 0, created.stderr
    ids = json.loads(created.stdout.splitlines()[-1])
    # The receiver fails after four requests, so that later deliveries await their next attempt.
    with running_receiver(lambda count: 200 if count <= 4 else 500) as receiver:
        service.command(
            "configure_webhook", "--business", owner["business"], "--url", receiver.url,
            "--events", "payment,payout",
        )  # fmt: skip
        ids |= transactions(client)
        receiver.wait_for(5)
        ids |= virtual_accounts(client)
        settled = service.command(
            "settle", "--date", business_day(datetime.now(tz=UTC)).isoformat(), "--json"
        )
        ids["batch"] = next(
            one["id"] for one in json.loads(settled.stdout)["batches"] if one["business"] == owner["business"]
        )
        yield SampleData(service=service, email="ada@example.com", password=owner["password"], ids=ids)


def transactions(client: HttpClient) -> dict[str, Any]:
    """Create payments and payouts of every kind. Return the ids of those with a page state."""

    def made(order: dict[str, Any]) -> dict[str, Any]:
        answer = client.post("/api/payments", order)
        assert answer.status_code == 201, answer.text
        document: dict[str, Any] = answer.json()
        return document

    customer = {"name": NASTY_NAME, "email": f"{'long' * 12}@example.com"}
    paid = made(orders.card_payment(amount=10**12, reference="x" * 100))
    refunded = made(orders.card_payment(amount=7_500_000))
    client.post(f"/api/payments/{refunded['reference']}/refunds", {"reference": "back-1", "amount": 200_000})
    made(orders.card_payment(source=orders.card_source(pan=orders.DECLINED_CARD)))
    made(orders.card_check())
    made(orders.payout(amount=250_005, narration="Advance for books"))
    return {
        "paid": paid["id"],
        "refunded": refunded["id"],
        "authorised": made(orders.card_payment(capture=False))["id"],
        "payout": made(
            orders.payout(customer={**orders.payout()["customer"], "name": customer["name"][:60]})
        )["id"],
        "challenge": path_of(made(challenged(client, 12_345_600))["redirect_link"]),
        "declined": path_of(made(challenged(client, 50_000))["redirect_link"]),
    }


def challenged(client: HttpClient, amount: int) -> dict[str, Any]:
    """Return an order with a 3-D Secure challenge. Its return URL is our front page, because that exists."""
    card = orders.card_source(pan=orders.CHALLENGED_CARD)
    return orders.card_payment(amount=amount, source=card, redirect_url=f"{client.base_url}/")


def virtual_accounts(client: HttpClient) -> dict[str, Any]:
    """Create an account with an open payment, a successful one, and one with the wrong amount."""
    account = client.post("/api/virtual-accounts", orders.dynamic_account()).json()

    def payment(received: int | None) -> dict[str, Any]:
        made: dict[str, Any] = client.post("/api/payments", orders.transfer_payment(account["id"])).json()
        if received is not None:
            transfer = {
                "account_number": made["virtual_account_details"]["account_number"],
                "amount": received,
            }
            client.post("/api/virtual-accounts/simulate", transfer)
        return made

    return {
        "account": account["id"],
        "waiting": payment(None)["id"],
        "transferred": payment(50_000)["id"],
        "mismatched": payment(50_100)["id"],
    }


def path_of(address: str) -> str:
    return re.sub(r"^https?://[^/]+", "", address)


def mailed_link(log: Path, page: str = "login/new-password") -> str:
    """Return the path of the last link that the service mailed, for a password reset or an invitation.

    A worker mails password resets.
    """
    ends_at = time.monotonic() + 20
    while not (links := re.findall(rf"https?://\S+/dashboard/{page}/\S+", log.read_text())):
        assert time.monotonic() < ends_at, "no link was mailed"
        time.sleep(0.1)
    return path_of(links[-1])
