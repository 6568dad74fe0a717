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

import requests

from payments.rules.sandbox_triggers import (
    LOST_ANSWER_ACCOUNT,
    OTHER_NAME_ACCOUNT,
    RETURNED_ACCOUNT,
    SILENT_ACCOUNT,
)
from payments.rules.settlement.business_days import business_day
from tests import orders
from tests.clients import Credentials, HttpClient
from tests.journeys.service import Service
from tests.receiver import running_receiver
from tests.uploads import PNG

# Batches that were rejected and released. The payments of the rejected batch join the released one.
SETTLEMENTS = """
import json
from kit.db import clock
from merchants.people.audit import Actor
from payments.rules.settlement.business_days import business_day
from payments.models import SettlementBatch
from payments.services.settlement.batches import batch_decisions, batches
now = clock.now()
def settled():
    list(batches.settle(batches.due(until=business_day(now)), actor="settle", now=now))
    return SettlementBatch.objects.get(business="{business}", state="pending").pk
by = {{"actor": Actor(name="staff@example.com"), "now": now}}
rejected = batch_decisions.reject(settled(), reason="The bank has not received the money.", **by).pk
released = batch_decisions.approve(settled(), reason="The bank has received the money.", **by).pk
batch_decisions.release(released, **by)
print(json.dumps({{"rejected": str(rejected), "released": str(released)}}))
"""

# An approved batch whose release waits for a second person, and a top-up that waits for another one than staff@.
PROPOSALS = """
import json
from uuid import uuid4
from django.test import override_settings
from kit.db import clock
from merchants.people.audit import Actor
from merchants.models import Business, User
from payments.rules.settlement.business_days import business_day
from payments.models import Proposal, SettlementBatch
from payments.services.settlement.batches import batch_decisions, batches
from payments.services.staff import four_eyes, staff_actions
from payments.services.staff.actions import journal_actions
now, business = clock.now(), Business.objects.get(pk="{business}")
list(batches.settle(batches.due(until=business_day(now)), actor="settle", now=now))
batch = SettlementBatch.objects.get(business=business, state="pending")
batch_decisions.approve(batch.pk, reason="The bank has received the money.", actor=Actor(name="staff@example.com"), now=now)
batch.refresh_from_db()
release = staff_actions.batch_decision(batch, Proposal.Action.RELEASE_BATCH, reason="Today's release")
top_up = journal_actions.top_up(business=business, currency="NGN", amount=5_000_000, cause=uuid4(), reason="Float for payouts")
def proposed(action, email):
    user = User.objects.get(email=email)
    with override_settings(FOUR_EYES=True):
        return str(four_eyes.submit(action, user=user, actor=Actor(name=email), now=now).pk)
User.objects.create_superuser("second@example.com", "{password}")
print(json.dumps({{
    "approved": str(batch.pk),
    "proposals": {{
        "to-confirm": proposed(release, "second@example.com"), "own": proposed(top_up, "staff@example.com"),
    }},
}}))
"""

# The invoice of this month, as if it were over.
INVOICE = """
import json
from payments.models import FeeInvoice
from tests.fee_invoices import issue
issue()
print(json.dumps(str(FeeInvoice.objects.get(business="{business}", currency="NGN").pk)))
"""

# Bank accounts: breaks of all ages, one with an owner and one explained by a journal; and an account without statements.
CASH = """
import io
from datetime import timedelta
from cash.models import Break
from cash.services.imports import Source
from kit.db import clock
from ledger.services import Kind
from merchants.models import User
from merchants.people.audit import Actor
from payments.rules.settlement.business_days import business_day
from payments.services.journals.drafts import Leg
from payments.services.reconciliation import breaks
from tests.bank_statements import bank_account, csv_statement
from tests.journals import adjusted
now = clock.now()
today = business_day(now)
def imported(account, opening, *lines):
    file = csv_statement(*((today - timedelta(days=ago), *line) for ago, *line in lines), opening=opening)
    source = Source(file=io.BytesIO(file.encode()), name="november.csv")
    breaks.import_file(account, source, actor=Actor(name="staff@example.com"), now=now)
wema = bank_account(name="wema", bank="Wema Bank", number="8200114063", receives=["hosting_bank"])
imported(wema, "62856120.00", (1, 4_800_000, "NIP-000013260105", "A. SULEIMAN, NO ACCOUNT OF OURS"))
providus = bank_account(name="providus", bank="Providus Bank", number="5400118207", pays_out=["http"])
imported(
    providus, "21713400.00",
    (9, -15_000_000, "PVB88412", "DEBITED TWICE"), (8, -1_250_000, "", "CHARGES OCTOBER"),
    (5, -21_200_000, "PVB90017"), (2, 4_850_000, "PVB90018"),
)
bank_account(name="citi", bank="Citibank", number="0000000001", currency="USD", pays_out=["http"])
twice, charges, *_ = Break.objects.filter(account=providus).order_by("since")
Break.objects.filter(pk=twice.pk).update(
    owner=User.objects.get(email="staff@example.com"), notes="Asked the bank"
)
legs = Leg(Kind.BANK, "providus", 1_250_000), Leg(Kind.COSTS, "transfer", -1_250_000)
adjusted(None, 0, legs=legs, transaction=None, explained=charges)
"""

BLOCK_A_LINK = """
from kit.db import clock
from merchants.people.audit import Actor
from payments.models import PaymentLink
from payments.services.links import links
link = PaymentLink.objects.get(pk="{link}")
by = Actor(name="staff@example.com")
links.block(link_id=link.pk, reason="Tickets of other organisers may not be sold.", actor=by, now=clock.now())
"""

# A payout that waits for another member, as long as the setting is on.
REQUIRE_APPROVAL = """
from payments.models import PayoutControls
PayoutControls.objects.update_or_create(business_id="{business}", defaults={{"approval": "{approval}"}})
"""

PASSWORD = "correct horse battery staple"
TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
LONG_NAME = "Ọmọlará & Sons <Fine Furniture, Upholstery and Interior Works> of Abeokuta Ltd"
NASTY_NAME = "<b>Ada</b> \u05d0\u05d1 Obi of Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"

USUAL_CUSTOMER = {"reference": "cus-1", "name": "Amaka Nwosu", "email": "amaka@example.com"}
LONG_CUSTOMER = {"reference": "cus-2", "name": NASTY_NAME, "email": f"{'long' * 12}@example.com"}
CUSTOMER = {"name": NASTY_NAME[:60], "account_number": "0123456789", "bank_code": "058"}
PAYOUTS = {
    "payout": orders.payout(customer=CUSTOMER, narration="Advance for books"),
    "payout_failed": orders.payout(amount=250_051),
    "payout_queried": orders.payout(customer=CUSTOMER | {"account_number": LOST_ANSWER_ACCOUNT}),
}

PEOPLE = f"""
import json
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from merchants.models import Business, Member, User
from tests.dashboard.guest_links import guest_link_of
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
other = Business.objects.create(name="{LONG_NAME}")
member("new@example.com", "owner", of=other)
Member.objects.create(business=other, user=User.objects.get(email="ada@example.com"), role="viewer")
guest_link, token = guest_link_of(User.objects.get(email="ada@example.com"), business)
shared = {{{{"guest_link": "/statement/" + token + "/", "month": str(guest_link.first_month)[:7]}}}}
print(json.dumps({{{{"viewer": viewer, "passkey": passkey.pk, "key": business.api_keys.first().pk}}}} | shared))
"""


@dataclass(frozen=True, kw_only=True)
class SampleData:
    """The service with its sample data: the owner's credentials, and ids of rows."""

    service: Service
    email: str  # of the owner
    password: str
    client: HttpClient  # of the business
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
        settled = service.command("shell", "-v0", "-c", SETTLEMENTS.format(business=owner["business"]))
        assert settled.returncode == 0, settled.stderr
        ids["batches"] = json.loads(settled.stdout.splitlines()[-1])
        ids |= virtual_accounts(client)
        waiting = service.command(
            "shell", "-v0", "-c", PROPOSALS.format(business=owner["business"], password=PASSWORD)
        )
        assert waiting.returncode == 0, waiting.stderr
        proposed = json.loads(waiting.stdout.splitlines()[-1])
        ids["proposals"], ids["batches"]["approved"] = proposed["proposals"], proposed["approved"]
        ids |= disputes(client)
        ids |= waiting_for_approval(service, client, owner["business"])
        ids |= checkouts(client)
        ids |= further_links(client)
        ids["endpoint"] = further_endpoint(client)
        service.command("shell", "-v0", "-c", BLOCK_A_LINK.format(link=ids["payment_link_blocked"]))
        today = business_day(datetime.now(tz=UTC)).isoformat()
        batches = json.loads(service.command("settle", "--date", today, "--unfinished", "--json").stdout)[
            "batches"
        ]
        (ids["batches"]["pending"],) = [one["id"] for one in batches if one["business"] == owner["business"]]
        issued = service.command("shell", "-v0", "-c", INVOICE.format(business=owner["business"]))
        assert issued.returncode == 0, issued.stderr
        ids["invoice"] = json.loads(issued.stdout.splitlines()[-1])
        compared = service.command("shell", "-v0", "-c", CASH)
        assert compared.returncode == 0, compared.stderr
        yield SampleData(
            service=service, email="ada@example.com", password=owner["password"], client=client, ids=ids
        )


def transactions(client: HttpClient) -> dict[str, Any]:
    """Create payments and payouts of every kind. Return the ids of those with a page state."""

    def made(order: dict[str, Any]) -> dict[str, Any]:
        answer = client.post("/api/payments", order)
        assert answer.status_code == 201, answer.text
        document: dict[str, Any] = answer.json()
        return document

    paid, refunded, refunded_fully, failed, check, authorised, queried = (
        made(order)
        for order in [
            orders.card_payment(amount=10**12, reference="x" * 100, customer=LONG_CUSTOMER),
            orders.card_payment(amount=7_500_000, customer=USUAL_CUSTOMER),
            orders.card_payment(amount=1_250_000),
            orders.card_payment(source=orders.card_source(pan=orders.DECLINED_CARD)),
            orders.card_check(),
            orders.card_payment(capture=False, customer=USUAL_CUSTOMER),
            orders.card_payment(amount=60_098),  # the acquirer's response is lost, so the status is queried
        ]
    )
    refunds = {refunded["reference"]: 200_000, refunded_fully["reference"]: 1_250_000}
    for number, (reference, amount) in enumerate(refunds.items()):
        client.post(f"/api/payments/{reference}/refunds", {"reference": f"back-{number}", "amount": amount})
    refused = client.post("/api/payments", orders.card_payment(amount=600, reference=failed["reference"]))
    assert refused.status_code == 409, refused.text
    challenges = [made(challenged(client, amount)) for amount in (12_345_600, 50_000, 60_000, 70_000)]
    advance(client, challenges[-1])
    return (
        {
            "paid": paid["id"],
            "refunded": refunded["id"],
            "refunded_fully": refunded_fully["id"],
            "failed": failed["id"],
            "check": check["id"],
            "authorised": authorised["id"],
            "queried": queried["id"],
            "challenges": [path_of(each["redirect_link"]) for each in challenges[:-1]],
            "expired_challenge": path_of(challenges[-1]["redirect_link"]),
        }
        | {name: made(order)["id"] for name, order in PAYOUTS.items()}
        | {
            "payout_returned": returned(client),
            "beneficiary": saved_beneficiary(client),
            "payout_batch": stored_batch(client),
            "payout_batch_completed": completed_batch(client),
            "payout_batch_cancelled": cancelled_batch(client),
        }
    )


def stored_batch(client: HttpClient) -> str:
    """Store a batch in which each check finds something. Return its ID."""
    accounts = ("0690213447", OTHER_NAME_ACCOUNT, SILENT_ACCOUNT, "0000000000")
    items = [
        orders.batch_item(
            place, customer={"name": LONG_NAME[:60], "account_number": number, "bank_code": "058"}
        )
        for place, number in enumerate(accounts)
    ]
    return str(client.post("/api/payout-batches", orders.payout_batch(*items)).json()["id"])


def completed_batch(client: HttpClient) -> str:
    """Have a batch checked and sent. One of its payouts fails. Return its ID."""
    items = [orders.batch_item(10, purpose="salary"), orders.batch_item(11, amount=250_051)]
    made = client.post("/api/payout-batches", orders.payout_batch(*items)).json()
    wait_for_batch(client, made["reference"], "ready")
    client.post(f"/api/payout-batches/{made['reference']}/approve", {})
    wait_for_batch(client, made["reference"], "completed")
    return str(made["id"])


def cancelled_batch(client: HttpClient) -> str:
    made = client.post("/api/payout-batches", orders.payout_batch(orders.batch_item(12))).json()
    client.post(f"/api/payout-batches/{made['reference']}/cancel", {})
    return str(made["id"])


def wait_for_batch(client: HttpClient, reference: str, status: str) -> None:
    until = time.monotonic() + 60  # seconds, on a busy machine
    while (found := client.get(f"/api/payout-batches/{reference}").json()["status"]) != status:
        assert time.monotonic() < until, found
        time.sleep(0.2)


def saved_beneficiary(client: HttpClient) -> str:
    """Save beneficiaries in each state. Return the ID of one whose bank has another name."""
    for account in ("0690213447", SILENT_ACCOUNT):
        client.post("/api/beneficiaries", orders.beneficiary(account_number=account))
    differs = orders.beneficiary(account_number=OTHER_NAME_ACCOUNT, name=LONG_NAME[:60])
    return str(client.post("/api/beneficiaries", differs).json()["id"])


def returned(client: HttpClient) -> str:
    """Create a payout that the bank returns. Return its ID."""
    customer = {"name": "Ada Obi", "account_number": RETURNED_ACCOUNT, "bank_code": "058"}
    payout = client.post("/api/payments", orders.payout(customer=customer)).json()
    advance(client, payout)
    return str(payout["id"])


def advance(client: HttpClient, payment: dict[str, Any]) -> None:
    """Make the next event that a payment waits for happen now."""
    answer = client.post("/api/sandbox/advance", {"payment": payment["reference"]})
    assert answer.status_code == 200, answer.text


def challenged(client: HttpClient, amount: int) -> dict[str, Any]:
    """Return an order with a 3-D Secure challenge. Its return URL is our front page, because that exists."""
    card = orders.card_source(pan=orders.CHALLENGED_CARD)
    return orders.card_payment(amount=amount, source=card, redirect_url=f"{client.base_url}/")


def waiting_for_approval(service: Service, client: HttpClient, business: str) -> dict[str, str]:
    """Create a payout and a batch that wait for the approval of another member. Return their IDs."""
    batch = client.post("/api/payout-batches", orders.payout_batch(orders.batch_item(13))).json()
    wait_for_batch(client, batch["reference"], "ready")
    for approval in ("always", "never"):
        changed = service.command(
            "shell", "-v0", "-c", REQUIRE_APPROVAL.format(business=business, approval=approval)
        )
        assert changed.returncode == 0, changed.stderr
        if approval == "always":
            made = client.post(
                "/api/payments", orders.payout(customer=CUSTOMER, narration="Rent of the shop")
            )
            asked = client.post(f"/api/payout-batches/{batch['reference']}/approve", {})
    assert made.status_code == 201, made.text
    assert asked.json()["status"] == "awaiting_approval", asked.text
    return {"payout_waiting": str(made.json()["id"]), "payout_batch_waiting": str(batch["id"])}


def disputes(client: HttpClient) -> dict[str, str]:
    """Have payments disputed. Return the ids of a dispute that has evidence, one that is decided, and one that is won."""
    texts = {
        "dispute": "Handed over to Ada Obi on 3 March.",
        "dispute_submitted": LONG_NAME,
        "dispute_won": "win",
    }
    ids = {}
    for number, (name, text) in enumerate(texts.items(), start=1):
        customer = LONG_CUSTOMER if name == "dispute" else USUAL_CUSTOMER
        order = orders.card_payment(amount=number * 1_000_000 + 77, customer=customer)
        payment = client.post("/api/payments", order).json()
        advance(client, payment)
        [opened] = client.get(f"/api/disputes?payment={payment['reference']}").json()["data"]
        ids[name] = opened["id"]
        address = f"/api/disputes/{opened['id']}"
        client.post(f"{address}/evidence", {"kind": "delivery", "text": text})
        file = {
            "Content-Type": "image/png",
            "Content-Disposition": f'attachment; filename="{"Slip" * 20}.png"',
        }
        client.send("POST", f"{address}/files?kind=receipt", PNG, headers=file)
        if name != "dispute":
            client.post(f"{address}/submit", {"leave_out": ["payment"]})
        if text == "win":
            advance(client, payment)
    return ids


def virtual_accounts(client: HttpClient) -> dict[str, Any]:
    """Create an account with an open payment, an expired one, a successful one, and some with the wrong amount."""
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

    expired = payment(None)
    advance(client, expired)
    for wrong in (40_000, 49_900):
        payment(wrong)
    return {
        "account": account["id"],
        "expired": expired["id"],
        "waiting": payment(None)["id"],
        "transferred": payment(50_000)["id"],
        "mismatched": payment(50_100)["id"],
    }


def checkouts(client: HttpClient) -> dict[str, Any]:
    """Create payment links, and checkouts in each of their states. Return their paths."""

    def made(**changes: Any) -> dict[str, Any]:
        answer = client.post("/api/payment-links", orders.payment_link(**changes))
        assert answer.status_code == 201, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def link(**changes: Any) -> str:
        return path_of(made(**changes)["url"])

    def begin(path: str, method: str = "card", number: str = "") -> str:
        diet = "Nuts, fish, and anything with gluten"
        details = {"name": NASTY_NAME[:60], "email": "ada@example.com", "method": method, "field_diet": diet}
        checkout = post(path, details)
        if number:
            post(f"{checkout}/card", orders.card_form(number))
        elif method == "virtual_account":
            post(f"{checkout}/transfer", {"attempt": "0"})
        return checkout

    def post(path: str, data: dict[str, str]) -> str:
        answer = requests.post(client.base_url + path, data=data, allow_redirects=False, timeout=60)
        assert answer.status_code == 303, answer.text
        return path_of(answer.headers["Location"])

    shown = made(
        max_uses=40,
        transfer_window=3_600,
        description="Two days in Yaba.\nMaterial included.",
        support_contact="help@ada.example",
        custom_fields=[{"key": "diet", "label": "What can’t you eat?", "required": False}],  # noqa: RUF001
    )
    offer = path_of(shown["url"])
    waiting, paid = begin(offer, "virtual_account"), begin(offer, number=orders.FRICTIONLESS_CARD)
    off, used_up, held = (made(max_uses=1, title=title) for title in ("Concert", "Order 1042", "Last place"))
    client.post(f"/api/payment-links/{off['reference']}/deactivate", {})
    begin(path_of(used_up["url"]), number=orders.FRICTIONLESS_CARD)
    begin(path_of(held["url"]), "virtual_account")
    mismatched = begin(offer, "virtual_account")
    [attempt, *_] = client.get(f"/api/payments?payment_link_id={shown['id']}").json()["data"]
    number = attempt["virtual_account_details"]["account_number"]
    client.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 1_400_000})
    closed = begin(offer)
    for attempt, number in enumerate([orders.UNRECOGNISED_CARD] * 3 + [orders.DECLINED_CARD] * 2):
        post(f"{closed}/card", orders.card_form(number, attempt=str(attempt)))
    payments = client.get(f"/api/payments?payment_link_id={shown['id']}&status=success").json()["data"]
    return {
        "payment_link": shown["id"],
        "link_payment": payments[0]["id"],
        "link": offer,
        "link_of_range": link(
            amount=..., amount_range={"min": 50_000, "max": 500_000, "suggested": [100_000]}
        ),
        "checkout": begin(offer),
        "checkout_declined": begin(offer, number=orders.DECLINED_CARD),
        "checkout_closed": closed,
        "checkout_without_answer": begin(link(amount=1_500_098)),  # the acquirer's response is lost
        "checkout_challenged": begin(offer, number=orders.CHALLENGED_CARD),
        "checkout_transfer": waiting,
        "checkout_mismatched": mismatched,
        "link_off": path_of(off["url"]),
        "link_used_up": path_of(used_up["url"]),
        "link_held": path_of(held["url"]),
        "receipt": f"{paid}/receipt",
    }


def further_links(client: HttpClient) -> dict[str, str]:
    """Create payment links that nothing was paid with. Return their ids, and the path of the one to be blocked."""
    links = {
        "payment_link_off": orders.payment_link(title=LONG_NAME, amount=10**12, reference="y" * 100),
        "payment_link_blocked": orders.payment_link(title="Concert in Surulere", max_uses=400),
    }
    made = {name: client.post("/api/payment-links", each).json() for name, each in links.items()}
    client.post(f"/api/payment-links/{'y' * 100}/deactivate", {})
    path = path_of(made["payment_link_blocked"]["url"])
    return {name: each["id"] for name, each in made.items()} | {"link_blocked": path}


def further_endpoint(client: HttpClient) -> str:
    """Add a webhook endpoint that receives no event of the sample data; return its id."""
    wanted = {"url": "http://127.0.0.1:9/warehouse", "subscribed_events": ["refund.failed"]}
    answer = client.post("/api/webhook-endpoints", wanted | {"description": NASTY_NAME})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


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
