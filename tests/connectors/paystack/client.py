"""A caller of the simulated Paystack: requests as a connector makes them, in this process."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from urllib.parse import urlencode

from connectors.paystack.simulator.integration import Settings
from connectors.paystack.simulator.simulator import Simulator

KEY, LIVE_KEY = "sk_test_simulator", "sk_live_simulator"
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
REFERENCE = "0195b5c6d7e87f9aabbccddeeff00112"
WEBHOOKS = "http://127.0.0.1:9/connectors/paystack"  # nothing is sent there: the client takes the events

SUCCESS = {"number": "4084084084084081", "cvv": "408", "expiry_month": "09", "expiry_year": "30"}
WITH_OTP = SUCCESS | {"number": "5060666666666666666", "cvv": "123"}
WITH_PHONE = SUCCESS | {"number": "507850785078507804", "cvv": "884"}
AT_BANK = SUCCESS | {"number": "4084080000000409", "cvv": "000"}
NO_FUNDS = SUCCESS | {"number": "4084080000670037", "cvv": "787"}

IDENTITY = {
    "country": "NG",
    "type": "bank_account",
    "account_number": "0123456789",
    "bvn": "20012345677",
    "bank_code": "058",
    "first_name": "Ada",
    "last_name": "Obi",
}


class Client:
    """Calls a simulator whose clock stands still, and keeps what it answers and sends."""

    def __init__(self, *, key=KEY, webhook_url=WEBHOOKS, limits_rates=False, variants=None, **settings):
        self.exchanges, self.delivered = [], []
        self.answers_to_events = 200
        self.simulator = Simulator(
            Settings(secret_key=key, webhook_url=webhook_url, **settings),
            standing_at=NOON,
            variants=variants,
            send=self._receive,
        )
        self.simulator.integration.switches["unlimited"] = not limits_rates
        self.key = key

    def _receive(self, url, headers, body):
        self.delivered.append(SimpleNamespace(url=url, headers=headers, body=body, **json.loads(body)))
        return self.answers_to_events

    def call(self, method, path, body=None, *, query=None, key=None):
        """Call, and return the answer with its parsed document."""
        target = f"{path}?{urlencode(query)}" if query else path
        raw = b"" if body is None else json.dumps(body).encode()
        answer = self.simulator.handle(method, target, {"Authorization": f"Bearer {key or self.key}"}, raw)
        document = json.loads(answer.body)
        self.exchanges.append((method, path, answer.status, document))
        return SimpleNamespace(
            status=answer.status, headers=answer.headers, document=document, **_flat(document)
        )

    def get(self, path, **query):
        return self.call("GET", path, query=query)

    def post(self, path, **body):
        return self.call("POST", path, body)

    def put(self, path, **body):
        return self.call("PUT", path, body)

    def submit(self, path, **form):
        """Submit a form of a page."""
        return self.simulator.handle("POST", path, {}, urlencode(form).encode())

    def command(self, **order):
        return self.simulator.command(**order)["results"]

    def charge(self, card=SUCCESS, *, reference=REFERENCE, amount=50_000, **more):
        return self.post(
            "/charge", email="ada@example.com", amount=amount, reference=reference, card=card, **more
        )

    def verify(self, reference=REFERENCE):
        return self.get(f"/transaction/verify/{reference}")

    def recipient(self, number="0123456789", bank="058"):
        made = self.post(
            "/transferrecipient", type="nuban", name="Ada Obi", account_number=number, bank_code=bank
        )
        return made.data["recipient_code"]

    def transfer(self, reference=REFERENCE, *, amount=50_000, recipient=None):
        recipient = recipient or self.recipient()
        return self.post(
            "/transfer", source="balance", amount=amount, recipient=recipient, reference=reference
        )

    def customer(self, email="shop+va-1@example.com"):
        return self.post(
            "/customer", email=email, first_name="Ada", last_name="Obi", phone="+2348000000000"
        ).data

    def account(self, **more):
        return self.post("/dedicated_account", customer=self.customer()["customer_code"], **more).data

    def session(self, *, amount=50_000, expires_at=None, reference=REFERENCE):
        return self.post(
            "/charge",
            email="ada@example.com",
            amount=amount,
            reference=reference,
            bank_transfer={"account_expires_at": expires_at},
        )

    def deliver(self):
        """Let due events be delivered, and return the new ones as (event, data)."""
        known = len(self.delivered)
        self.simulator.deliver()
        return [(each.event, each.data) for each in self.delivered[known:]]

    def events(self):
        return [name for name, _ in self.deliver()]

    def books(self):
        return self.simulator.books()


def _flat(document):
    return {"message": document.get("message"), "data": document.get("data"), "code": document.get("code")}
