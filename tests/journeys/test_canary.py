"""Unique card numbers are sent to every entry point. Afterwards, no part of the service may contain them.

The test searches all responses, the service's log, every file in its folder, mails, and the support bundle, and the exported traces; on PostgreSQL, also the text of every table and the server's log; and of a
separate Redis server, every received command and the RDB file, written while messages are queued and again
after a worker has processed them. One number is used as a card. Another one is only entered into free text.
References may consist of any digits, so a third number, sent as a reference, may be in the database but not
in the log.
"""

import json
import re
import secrets
import tempfile
import time
import uuid
import zipfile
import zlib
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import requests
from django.core import signing
from psycopg import sql

from disputes.rules.report_format import COLUMNS
from kit.text.masking import passes_luhn
from tests import bank_signing, orders
from tests.clients import Credentials, HttpClient, signed_headers
from tests.journeys.service import start_service
from tests.journeys.watched import wait_for, watched_service
from tests.links import NEW_LINK
from tests.payers import Payer
from tests.uploads import PNG
from tests.webhooks import servers

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("journey")]

PAYMENTS = "/api/payments"
CVV = "8263"
EXAMPLE_OF_A_CASE = {
    "stage": "chargeback", "status": "needs_response", "rrn": "", "acquirer_reference": "", "amount": 50_000, "currency": "NGN",
    "reason": "fraudulent", "respond_by": "", "day": "2026-02-05",
}  # fmt: skip
BINS = ("408408", "539983", "222100", "506099", "650002", "601100", "352800", "620000", "560000", "810000")


def new_card_number():
    body = secrets.choice(BINS) + "".join(secrets.choice("123456789") for _ in range(9))
    return next(body + digit for digit in "0123456789" if passes_luhn(body + digit))


def blanks(number):
    return " ".join(number[start : start + 4] for start in range(0, 16, 4))


def dots(number):
    return blanks(number).replace(" ", ".")


class Canary:
    """The numbers, the CVV, and every response received during the test."""

    def __init__(self, service):
        self.service = service
        self.number, self.typed, self.reference = new_card_number(), new_card_number(), new_card_number()
        self.answers = []

    def send(self, method, target, body=b"", **headers):
        answer = self.service.client.send(method, target, body, headers=headers)
        self.answers.append(f"{answer.status_code}\n{answer.headers}\n{answer.text}")
        return answer

    def post(self, target, body, **headers):
        answer = self.service.client.post(target, body, **headers)
        self.answers.append(f"{answer.status_code}\n{answer.headers}\n{answer.text}")
        return answer

    def source(self, **changes):
        return orders.card_source(**{"pan": self.number, "cvv": CVV} | changes)

    def payment(self, **changes):
        return orders.card_payment(**{"source": self.source()} | changes)

    def attempts(self):
        """Return the events for which the API shows delivery attempts."""
        events = self.service.client.get("/api/events?limit=20").json()["data"]
        return [event for event in events if event["attempts_made"]]

    @property
    def spellings(self):
        return [
            spelling
            for number in (self.number, self.typed)
            for spelling in (number, *(blanks(number).replace(" ", sign) for sign in " -./"))
        ]

    def hits(self, text):
        """Return the matches of the card numbers, and of the CVV if it is labelled or next to the
        last four digits.
        """
        found = [spelling for spelling in self.spellings if spelling in text]
        named = re.compile(
            rf"""(?:cvv|code)["']?\s*[=:]\s*["']?{CVV}|{self.number[-4:]}\W{{1,8}}{CVV}|'{CVV}'|"{CVV}\""""
        )
        return found + [match.group() for match in named.finditer(text)]


def run_every_card_flow(canary):
    """Use the card in every flow."""
    first = canary.payment(narration=f"card {canary.typed} 12/35 {CVV}")
    assert canary.post(PAYMENTS, first).status_code == 201
    assert canary.post(PAYMENTS, first).status_code == 200
    assert canary.post(PAYMENTS, first | {"amount": 1}).status_code == 409
    assert canary.post(PAYMENTS, first | {"source": canary.source(pan=orders.GOOD_CARD)}).status_code == 409
    spaced = canary.post(PAYMENTS, canary.payment(source=canary.source(pan=blanks(canary.number))))
    assert spaced.json()["status"] == "success"
    assert canary.post(PAYMENTS, canary.payment(amount=10_051)).json()["status"] == "failed"
    assert canary.post(PAYMENTS, canary.payment(amount=10_098)).json()["status"] == "pending"
    assert canary.post(PAYMENTS, orders.card_check(source=canary.source(type="CARD"))).status_code == 201
    authorised = canary.payment(capture=False)
    assert canary.post(PAYMENTS, authorised).status_code == 201
    assert canary.post(f"{PAYMENTS}/{authorised['reference']}/capture", {"amount": 100}).status_code == 200
    reason = {"reference": orders.new_reference(), "amount": 1, "reason": blanks(canary.typed)}
    assert canary.post(f"{PAYMENTS}/{authorised['reference']}/refunds", reason).status_code == 201
    pass_the_challenge(canary)
    assert canary.send("GET", PAYMENTS).status_code == 200
    assert canary.send("GET", f"{PAYMENTS}/{first['reference']}").status_code == 200


class Visitor(Payer):
    """A payer whose pages must not contain the number, also when a form is refused."""

    def __init__(self, canary):
        super().__init__("192.0.2.1", canary.service.base_url)
        self.canary = canary

    def post(self, path, form=None):
        answer = super().post(path, form)
        self.canary.answers.append(f"{answer.status_code}\n{answer.headers}\n{answer.text}")
        if "refused" in answer.cookies:
            kept = signing.b64_decode(answer.cookies["refused"].lstrip(".").partition(":")[0].encode())
            kept = zlib.decompress(kept) if answer.cookies["refused"].startswith(".") else kept
            shown = self.get(answer.headers["Location"]).text
            self.canary.answers.append(f"{kept.decode()}\n{shown}")
        return answer

    def card(self, checkout, attempt=0, **changes):
        form = orders.card_form(self.canary.number, code=CVV, attempt=str(attempt)) | changes
        return self.post(f"{checkout}/card", form).status_code

    def refused(self, checkout):
        """Send the card in every field of the card page but its own."""
        number = self.canary.number
        for wrong in (
            {"number": f"{number}x"},
            {"number": "", "name": number},
            {"name": blanks(number)},
            {"expiry": number},
            {"code": number},
            {"code": f"{CVV} {number}"},
            {"expiry": "01/20"},
            {"number": "", number: number, "attempt": number},
        ):
            assert self.card(checkout, **wrong) == 303
        assert self.card(checkout, attempt=number) == 303  # an old form


def make_link(canary, **changes):
    typed = canary.typed
    question = {"key": "size", "label": f"Size {typed}"[:50], "required": False}
    texts = {"description": f"card {blanks(typed)}", "support_contact": dots(typed), "success_message": typed}
    request = orders.payment_link(title=f"Book {typed}", custom_fields=[question], **texts | changes)
    answer = canary.post("/api/payment-links", request)
    assert answer.status_code == 201, answer.text
    return answer.json()


def pay_at_a_link(canary):
    """Pay by card at a link: declined, in wrong fields, then accepted after a challenge."""
    link, number, typed = make_link(canary), canary.number, canary.typed
    payer, page = Visitor(canary), urlsplit(link["url"]).path
    details = {"name": "Ada Obi", "email": "ada@example.com", "method": "card"}
    for wrong in (
        {"name": blanks(typed)},
        {"email": f"{typed}@example.com"},
        {"field_size": dots(typed)},
        {"method": typed},
        {"name": "", "quantity": typed, "amount": typed, number: number, "card": number},
    ):
        assert payer.post(page, details | wrong).headers["Location"].startswith(f"{page}?refused=")
    checkout = payer.begin(link["url"])
    payer.refused(checkout)
    assert payer.card(checkout) == 303
    payer.end(checkout)
    assert payer.card(checkout, attempt=1) == 303
    assert payer.card(checkout, attempt=1) == 303  # while it waits for the bank
    challenge = re.search(r"/3ds/[^\"]+", payer.get(checkout).text).group()
    for code in (number, "123456"):
        payer.post(challenge, {"code": code, "action": "approve"})
    assert payer.state(checkout) == "paid"
    assert payer.card(checkout, attempt=2) == 303  # it is paid
    for seen in (checkout, f"{checkout}/receipt", f"{checkout}?number={number}", page):
        answer = payer.get(seen)
        canary.answers.append(f"{answer.headers}\n{answer.text}")
    for target in (f"/l/{number}", f"/checkout/{number}", f"/checkout/{number}/card"):
        assert payer.get(target).status_code in {404, 405}
        assert payer.post(target, {"number": number, "code": CVV}).status_code in {404, 405}
    canary.send("GET", f"/api/payment-links/{link['reference']}/checkouts")
    metrics = requests.get(f"{canary.service.base_url}/metrics", timeout=30)
    assert "sluice_checkout_steps" in metrics.text
    canary.answers.append(metrics.text)
    assert not re.search(rf"{checkout}|{page}(?![a-z0-9])", canary.service.log)


def pass_the_challenge(canary):
    order = canary.payment(three_ds={"enabled": True})
    link = canary.post(PAYMENTS, order).json()["redirect_link"]
    for answer in (
        requests.get(link, timeout=30),
        requests.post(link, data={"code": canary.number}, timeout=30),
        requests.post(link, data={"code": "123456"}, timeout=30, allow_redirects=False),
    ):
        canary.answers.append(f"{answer.headers}\n{answer.text}")
    assert canary.send("GET", f"{PAYMENTS}/{order['reference']}").json()["status"] == "success"


def send_in_wrong_fields(canary):
    number = canary.number
    for wrong in (
        canary.payment(**{number: 1}),
        canary.payment(source=canary.source(**{number: number})),
        canary.payment(source=canary.source(name=number, expiry_month=number, expiry_year=number)),
        canary.payment(source=canary.source(cvv=number)),
        canary.payment(source=canary.source(pan=number + "x")),
        canary.payment(source=number),
        canary.payment(amount=number, currency=number, redirect_url=f"ftp://{number}/", payment_ip=number),
        canary.payment(reference=blanks(number), customer={number: number}, **{"3ds": {number: number}}),
        {"request_type": number},
        {"request_type": "payment", "payment_method": number},
        orders.payout(customer={"name": number, "account_number": number, "bank_code": number}),
        canary.payment(reference=number),
        canary.payment(narration=f"card {blanks(number)}"),
        canary.payment(redirect_url=f"https://shop.example/?card={number}"),
        canary.payment(metadata={"card": blanks(number)}),
        canary.payment(customer={"reference": number, "email": f"{number}@example.com"}),
        canary.payment(source=canary.source(name=blanks(number))),
        canary.payment(source=canary.source(billing_address={"address_line1": number})),
        orders.card_check(source=canary.source(type="CARD"), metadata={number: "x"}),
    ):
        assert canary.post(PAYMENTS, wrong).status_code == 400
    named = {"reference": "c", "email": "a@example.com", "name": f"Ada {blanks(canary.typed)}"}
    assert canary.post(PAYMENTS, canary.payment(customer=named)).status_code == 201
    assert canary.post(PAYMENTS, orders.payout(narration=f"for {number} 2035")).status_code == 201
    address = orders.address(address_line1=number, city=blanks(number))
    account = orders.static_account(first_name=number, last_name=blanks(number), address=address)
    created = canary.post("/api/virtual-accounts", account)
    assert created.status_code == 201
    transfer = {
        "account_number": created.json()["customer"]["account_number"], "amount": 5, "sender_name": number,
    }  # fmt: skip
    assert canary.post("/api/virtual-accounts/simulate", transfer).status_code == 200
    assert canary.send("GET", "/api/banks", **{"X-Request-Id": number}).status_code == 200
    for target in (
        f"{PAYMENTS}/{number}",
        f"{PAYMENTS}/{number}/refunds",
        f"/api/{number}",
        f"/3ds/{number}",
    ):
        assert canary.send("GET", target).status_code == 404
    assert canary.send("GET", f"{PAYMENTS}?id={number}&{number}=1&cursor={number}").status_code == 400
    unsigned = requests.get(f"{canary.service.base_url}{PAYMENTS}/{number}", timeout=30, headers={
        **signed_headers(canary.service.credentials, "GET", "/other"), "X-Request-Id": number,
    })  # fmt: skip
    canary.answers.append(f"{unsigned.headers}\n{unsigned.text}")
    assert unsigned.status_code == 401


def enter_in_commands(canary):
    """Enter the number as arguments of commands, and in the URL of a webhook."""
    service, number = canary.service, canary.typed
    email = f"{secrets.token_hex(5)}@example.com"
    created = service.command("create_business", "--name", f"Ada {blanks(number)}", "--email", email)
    owned = service.command("create_business", "--name", "Ada", "--email", f"{number}@example.com")
    configured = service.command(
        "configure_webhook", "--business", service.business, "--events", "payment",
        "--url", f"http://127.0.0.1:9/{number}",
    )  # fmt: skip
    assert [created.returncode, configured.returncode] == [0, 2], configured.stderr
    assert owned.returncode != 0
    canary.answers.append(created.stdout)


def dispute_payments(canary):
    """Enter the number as evidence, and read it in an acquirer's file about disputes."""
    number, service = canary.typed, canary.service
    disputed = canary.payment(amount=50_077)
    assert canary.post(PAYMENTS, disputed).status_code == 201
    assert canary.post("/api/sandbox/advance", {"payment": disputed["reference"]}).status_code == 200
    [dispute] = canary.send("GET", f"/api/disputes?payment={disputed['reference']}").json()["data"]
    address = f"/api/disputes/{dispute['id']}"
    text = {"kind": "delivery", "text": f"Paid with {dots(number)}"}
    assert canary.post(f"{address}/evidence", text).status_code == 201
    named = {
        "Content-Type": "image/png",
        "Content-Disposition": f'attachment; filename="{blanks(number)}.png"',
    }
    assert canary.send("POST", f"{address}/files?kind=receipt", PNG, **named).status_code == 201
    assert canary.post(f"{address}/submit", {}).status_code == 200
    read_disputes(
        canary, *[{cell: number} for cell in ("case_number", "acquirer_reference", "reason", "rrn")]
    )
    answers = service.folder / "answers"
    written = service.command("write_dispute_answers", "--output", str(answers))
    assert written.returncode == 0, written.stderr
    with zipfile.ZipFile(answers / "evidence.zip") as archive:
        canary.answers += [archive.read(name).decode("latin-1") for name in archive.namelist()]


def read_disputes(canary, *rows):
    """Read a file about unknown payments twice, as an acquirer that sends the number."""
    lines = [
        ",".join(str(({"case_number": f"CB-{place}", **EXAMPLE_OF_A_CASE} | cells)[name]) for name in COLUMNS)
        for place, cells in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "disputes.csv"
        file.write_text("\n".join([",".join(COLUMNS), *lines]))
        for _ in range(2):
            told = canary.service.command("read_disputes", "--file", str(file), "--json")
            assert json.loads(told.stdout)["unmatched"] == len(rows), told.stderr
            canary.answers.append(told.stdout)


class Browser:
    """A browser session. Its pages and the responses to accepted forms must not contain the number."""

    def __init__(self, canary, email, password, home="/dashboard/"):
        self.canary, self.base, self.session = canary, canary.service.base_url, requests.Session()
        self.send("/dashboard/login/", {"email": email, "password": password, "next": home})

    def get(self, page, **query):
        answer = self.session.get(self.base + page, params=query, timeout=30)
        self.canary.answers.append(answer.text)
        return answer

    def send(self, page, form, *, to=None, is_accepted=True, redirects=True):
        token = re.search(
            r'name="csrfmiddlewaretoken" value="([^"]+)"', self.session.get(self.base + page, timeout=30).text
        )
        headers = {"Referer": self.base + page}
        answer = self.session.post(
            self.base + (to or page),
            form | {"csrfmiddlewaretoken": token.group(1)},
            headers=headers,
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        if is_accepted:  # a rejected form is shown again with the user's input
            self.canary.answers.append(answer.text)
            assert answer.history or not redirects, answer.text
        return answer


def enter_in_the_dashboard(canary):
    service, number = canary.service, canary.typed
    email = f"{secrets.token_hex(5)}@example.com"
    opened = service.command("create_business", "--name", f"Shop {dots(number)}", "--email", email, "--json")
    document = json.loads(opened.stdout)
    client = HttpClient(service.base_url, Credentials(document["api_key"], document["secret_key"]))
    payment = client.post(PAYMENTS, orders.card_payment()).json()
    browser = Browser(canary, email, document["password"])
    browser.send("/dashboard/account/", {"name": f"Ada {blanks(number)}"}, to="/dashboard/account/name/")
    browser.send("/dashboard/team/invite/", {"email": "guest@example.com", "role": "viewer"}, redirects=False)
    browser.send(
        "/dashboard/team/invite/", {"email": f"{number}@example.com", "role": "viewer"}, is_accepted=False
    )
    refund = {
        "reference": "canary-refund",
        "amount": "1",
        "reason": f"card {dots(number)}",
        "step": "confirmed",
    }
    browser.send(f"/dashboard/payments/{payment['id']}/refund/", refund)
    payout = {
        "step": "confirmed", "accepted": "on", "reference": "canary-payout", "currency": "NGN", "amount": "100", "bank_code": "058",
        "account_number": "0123456789", "name": f"Ada {dots(number)}", "narration": blanks(number),
    }  # fmt: skip
    browser.send("/dashboard/payouts/new/", payout)
    for url in (f"https://shop.example/{number}", f"https://shop.example/{dots(number)}"):
        browser.send(
            "/dashboard/webhooks/", {"url": url, "payment": "on", "enabled": "on"}, is_accepted=False
        )
    link = NEW_LINK | dict.fromkeys(("title", "description", "label_1", "success_message"), number)
    browser.send("/dashboard/payment-links/new/", link)
    for area in (
        "payments", "payouts", "payment-links", "virtual-accounts", "webhooks/deliveries", "developers/requests",
    ):  # fmt: skip
        for spelling in (number, blanks(number), dots(number)):
            assert browser.get(f"/dashboard/{area}/", q=spelling).status_code == 200
    for page in ("", "team/", "activity/", "account/", "payments/", "payouts/"):
        assert browser.get(f"/dashboard/{page}").status_code == 200
    visitor = Browser.__new__(Browser)
    visitor.canary, visitor.base, visitor.session = canary, service.base_url, requests.Session()
    visitor.session.headers["User-Agent"] = f"Browser {dots(number)}"
    visitor.send("/dashboard/login/forgotten/", {"email": email})
    visitor.send("/dashboard/login/forgotten/", {"email": f"{dots(number)}@example.com"}, is_accepted=False)
    visitor.send("/dashboard/login/", {"email": email, "password": document["password"]})


def enter_in_the_administration(canary):
    service, number = canary.service, canary.typed
    password = secrets.token_hex(12)
    make = (
        "from merchants.models import User; "
        f"User.objects.create_superuser('canary-staff@example.com', '{password}', name='{dots(number)}')"
    )
    made = service.command("shell", "--no-imports", "-c", make)
    assert made.returncode == 0, made.stderr
    staff = Browser(canary, "canary-staff@example.com", password, home="/admin/")
    top_up = {"currency": "NGN", "amount": "5", "note": dots(number), "cause": str(uuid.uuid4())}
    staff.send("/admin/ledger/entry/add/", top_up | {"business": service.business})
    staff.send("/admin/auth/group/add/", {"name": f"Clerks {dots(number)}", "reason": blanks(number)})
    for page in ("payments/transaction", "merchants/business", "virtual_accounts/virtualaccount"):
        assert staff.get(f"/admin/{page}/", q=dots(number)).status_code == 200
    for page in (
        "disputes/disputereport",
        "disputes/dispute",
        "ledger/entry",
        "auth/group",
        "merchants/user",
        "merchants/auditentry",
    ):
        assert staff.get(f"/admin/{page}/").status_code == 200


def send_bank_notifications(canary):
    """Send a bank's notifications of a transfer, a transfer to an unknown account, and a returned payout."""
    number, service = canary.typed, canary.service
    account = service.client.post("/api/virtual-accounts", orders.static_account()).json()
    payout = service.client.post(PAYMENTS, orders.payout()).json()
    for path, notice in (
        ("transfers", {"account_number": account["customer"]["account_number"], "amount": 5_000}),
        ("transfers", {"account_number": "0000000000", "amount": 5_000}),
        ("payout-returns", {"payout_reference": payout["reference"], "amount": payout["amount"]}),
    ):
        notice |= {
            "bank_reference": orders.new_reference("nip"), "currency": "NGN", "sender_name": f"Ada {dots(number)}",
            "narration": blanks(number), "reason": dots(number), "remark": {"card": dots(number)}, dots(number): 1,
        }  # fmt: skip
        raw = json.dumps(notice).encode()
        answer = requests.post(
            f"{service.base_url}/bank/{path}",
            data=raw,
            headers={"Content-Type": "application/json", **bank_signing.signed_headers(raw)},
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        canary.answers.append(f"{answer.headers}\n{answer.text}")


def configure_webhook(canary, url):
    """Send webhooks to a receiver that repeats the number in its responses."""
    made = canary.service.command(
        "configure_webhook", "--business", canary.service.business, "--events", "payment,payout", "--url", url
    )
    assert made.returncode == 0, made.stderr


def exceed_the_guess_limit(canary):
    """Reach the limit of guesses, which is logged and audited."""
    order = canary.payment()
    assert canary.post(PAYMENTS, order).status_code == 201
    for _ in range(5):
        guess = order | {"source": canary.source(pan=new_card_number())}
        assert canary.post(PAYMENTS, guess).status_code == 409
    assert canary.post(PAYMENTS, order).status_code == 409
    assert "card number guesses stopped" in canary.service.log


def provoke_every_refusal(canary):
    body = canary.payment()
    raw = str(body).encode()  # single quotes: no JSON
    assert canary.send("POST", PAYMENTS, raw).status_code == 400
    assert canary.send("POST", PAYMENTS, b'{"pan": "' + canary.number.encode() + b'\xff"}').status_code == 400
    assert canary.send("POST", PAYMENTS, raw * 400).status_code == 413
    assert canary.send("POST", PAYMENTS, raw, **{"Content-Type": "text/plain"}).status_code == 415
    assert canary.send("POST", f"/api/{canary.number}", raw).status_code == 404
    assert canary.send("PUT", f"{PAYMENTS}/{canary.number}", raw).status_code == 405
    assert canary.send("POST", f"{PAYMENTS}/{canary.number}/capture", b"{}").status_code == 404


def text_of_database(service):
    """Return every text in every table, as PostgreSQL writes rows."""
    with psycopg.connect(service.environment["DATABASE_URL"]) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = [
            row
            for (table,) in tables
            for (row,) in connection.execute(
                sql.SQL("SELECT one::text FROM {} AS one").format(sql.Identifier(table))
            )
        ]
    text = "\n".join(rows)
    binary = re.findall(r"\\+x((?:[0-9a-f]{2})+)", text)
    return "\n".join([text, *(bytes.fromhex(each).decode("latin-1") for each in binary)])


def text_of_folder(service):
    files = [
        path for path in Path(service.folder).rglob("*") if path.is_file() and path.name != "service.log"
    ]
    assert files or service.environment.get("DATABASE_URL")
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


def text_of_postgresql_log():
    logs = [
        path for path in Path("/var/log/postgresql").glob("*.log") if path.stat().st_mtime > time.time() - 600
    ]
    return "\n".join(path.read_text(errors="replace") for path in logs)


def text_of_support_bundle(service):
    bundle = service.folder / "bundle.zip"
    bundle.unlink(missing_ok=True)
    log = str(service.folder / "service.log")
    made = service.command("support_bundle", "--output", str(bundle), "--log", log)
    assert made.returncode == 0, made.stderr
    with zipfile.ZipFile(bundle) as archive:
        return "\n".join(archive.read(name).decode("latin-1") for name in archive.namelist())


def traced_by(collector):
    """Return settings that send spans to a collector, with every header in them and no page left out."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_PYTHON_DJANGO_EXCLUDED_URLS": "/livez",
        "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": ".*",
        "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_RESPONSE": ".*",
        "OTEL_BSP_SCHEDULE_DELAY": "500",
    }


def traces_in(collector):
    return b"".join(request.body for request in list(collector.requests))


def assert_seen_nowhere(canary):
    service = canary.service
    on_postgresql = bool(service.environment.get("DATABASE_URL"))
    assert canary.hits("\n".join(canary.answers)) == []
    assert canary.hits(service.log) == []
    assert canary.hits(text_of_folder(service)) == []
    assert canary.hits(text_of_support_bundle(service)) == []
    if on_postgresql:
        assert canary.hits(text_of_database(service)) == []
        assert canary.hits(text_of_postgresql_log()) == []


def assert_messages_do_not_contain_it(canary, watched):
    """Search Redis and mails: with messages in the queues, while a worker takes them, and afterwards."""
    dumps = []
    with watched.celery("beat", "--schedule", str(watched.service.folder / "beat"), "--pidfile", ""):
        if watched.redis:
            wait_for(lambda: watched.redis.queued() > 5, "messages in the queues")
            dumps.append(watched.redis.dump())
        with watched.celery("worker", "--queues", "sluice,requery", "--pool", "threads", "--without-mingle"):
            wait_for(lambda: "new-password" in watched.mails(), "the mail with a link to a new password")
            wait_for(canary.attempts, "attempts at deliveries")
    if watched.redis:
        dumps.append(watched.redis.dump())
        assert '"task": "' in dumps[0]
        assert "sluice.webhooks" in watched.messages()  # the signal to senders
    assert canary.hits("\n".join(dumps)) == []
    assert canary.hits(watched.messages()) == []
    assert f"{canary.typed[:6]}******{canary.typed[-4:]}" in watched.mails()
    assert canary.hits(watched.mails()) == []


def break_the_table(service):
    """Make the database reject every new transaction with an error that contains the row."""
    if service.environment.get("DATABASE_URL"):
        with psycopg.connect(service.environment["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'No room for %', NEW; END $$"
            )
            connection.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON payments_transaction FOR EACH ROW EXECUTE FUNCTION refuse()"
            )
        return
    made = service.command(
        "shell", "--no-imports", "--command",
        "from django.db import connection as c; c.cursor().execute("
        '"CREATE TRIGGER refuse BEFORE INSERT ON payments_transaction '
        "BEGIN SELECT RAISE(ABORT, 'No room'); END\")",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr


@pytest.mark.timeout(600)
class TestCanary:
    def test_appears_nowhere_on_success(self, tmp_path):
        with (
            servers.opened(servers.answering(servers.status(200))) as collector,
            watched_service(tmp_path, **traced_by(collector)) as watched,
        ):
            canary = Canary(watched.service)
            answer = servers.status(400, body=f"no {canary.typed} and no {dots(canary.typed)}".encode())
            with servers.opened(servers.answering(answer)) as receiver:
                configure_webhook(canary, receiver.url)
                run_every_card_flow(canary)
                pay_at_a_link(canary)
                send_in_wrong_fields(canary)
                enter_in_commands(canary)
                dispute_payments(canary)
                enter_in_the_dashboard(canary)
                enter_in_the_administration(canary)
                send_bank_notifications(canary)
                exceed_the_guess_limit(canary)
                provoke_every_refusal(canary)
                assert_messages_do_not_contain_it(canary, watched)

            assert len(canary.answers) > 60
            assert canary.number[-4:] in "".join(canary.answers)  # the last four digits may be shown
            assert_seen_nowhere(canary)
            wait_for(lambda: b"api/payments" in traces_in(collector), "traces")
            assert canary.hits(traces_in(collector).decode("latin-1")) == []
            checked = watched.service.command("check_ledger")
            assert checked.returncode == 0, checked.stdout

    def test_appears_nowhere_when_the_rail_and_then_the_database_fail(self, tmp_path):
        with start_service(tmp_path, CARD_ACQUIRER="tests.rails.CardLeakingAcquirer") as service:
            canary = Canary(service)
            payer, link = Visitor(canary), make_link(canary)
            checkout = payer.begin(link["url"])
            page = payer.card(checkout)
            rail = canary.post(PAYMENTS, canary.payment())
            check = canary.post(PAYMENTS, orders.card_check(source=canary.source(type="CARD")))
            break_the_table(service)
            database = canary.post(PAYMENTS, canary.payment(narration=canary.typed))
            other_page = payer.card(payer.begin(link["url"]))

            assert [answer.status_code for answer in (rail, check, database)] == [500, 500, 500]
            assert (page, other_page) == (503, 503)
            assert checkout not in service.log
            assert "Service Unavailable: /checkout/…" in service.log
            assert "No route for pan=… cvv=…" in service.log
            assert re.search(r"error=(IntegrityError|ProgrammingError)", service.log)
            assert_seen_nowhere(canary)

    def test_in_a_reference_is_stored_but_not_logged(self, service):
        canary = Canary(service)
        reference = canary.reference

        created = service.client.post(PAYMENTS, canary.payment(reference=reference))
        found = service.client.get(f"{PAYMENTS}/{reference}")

        assert (created.status_code, found.json()["reference"]) == (201, reference)
        assert reference not in service.log
        assert f"{PAYMENTS}/{reference[:6]}******{reference[-4:]}" in service.log
