"""A client of the simulator in process, and orders that it sends."""

import json

from connectors.checkout.simulator.control.settings import Identity

GOOD_CARD = "4242424242424242"
CHANNEL = Identity().channel


def order(number=GOOD_CARD, *, amount=10_000, reference="ref-1", capture=False, **more):
    """Return a payment with full card details, as our connector must send it."""
    is_amex = number.startswith("3")
    source = {
        "type": "card",
        "number": number,
        "expiry_month": 12,
        "expiry_year": 2030,
        "name": "Ada Obi",
        "cvv": "1234" if is_amex else "100",
        "store_for_future_use": False,
    }
    return {
        "source": source | more.pop("source", {}),
        "amount": amount,
        "currency": "NGN",
        "reference": reference,
        "capture": capture,
        "3ds": {"enabled": False, "allow_upgrade": False, "attempt_n3d": False} | more.pop("three_ds", {}),
        "success_url": "https://merchant.example/return?token=t",
        "failure_url": "https://merchant.example/return?token=t",
        "processing_channel_id": CHANNEL,
        **more,
    }


def secure_order(number=GOOD_CARD, **more):
    return order(number, three_ds={"enabled": True, "allow_upgrade": True}, **more)


class Client:
    """Calls a simulator with its key. Remembers every answer for the tests of their shape."""

    def __init__(self, simulator):
        self.simulator = simulator
        self.answers = []

    def call(self, method, path, document=None, *, key="", **headers):
        sent = {"Authorization": f"Bearer {self.simulator.identity.secret_key}"} | headers
        if key:
            sent["Cko-Idempotency-Key"] = key
        body = json.dumps(document).encode() if document is not None else b""
        answer = self.simulator.handle(method, path, sent, body)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        found = json.loads(answer.body) if is_json else answer.body
        self.answers.append((method, path, answer.status, found))
        return answer.status, found

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, document=None, *, key=""):
        return self.call("POST", path, document or {}, key=key)

    def pay(self, *arguments, key="", **more):
        return self.post("/payments", order(*arguments, **more), key=key)

    def paid(self, *arguments, **more):
        """Return the id of an approved payment that is captured, unless `capture` is false."""
        status, made = self.pay(*arguments, **({"capture": True} | more))
        assert status == 201
        assert made["approved"] is True
        self.pass_time(2)
        return made["id"]

    def secured(self, *arguments, **more):
        """Return a payment that waits for the payer."""
        status, made = self.post("/payments", secure_order(*arguments, **more))
        assert status == 202
        return made

    def actions(self, payment):
        status, found = self.get(f"/payments/{payment}/actions")
        return found if status == 200 else []

    def payer(self, link, **answer):
        """Open one of the simulator's pages, or send its form. Returns the answer."""
        path = link.removeprefix(self.simulator.account.base_url)
        body = "&".join(f"{name}={value}".replace("!", "%21") for name, value in answer.items()).encode()
        return self.simulator.handle("POST" if answer else "GET", path, {}, body)

    def approve(self, made):
        return self.payer(made["_links"]["redirect"]["href"], result="approve", password="Checkout1!")

    def pass_time(self, seconds):
        self.simulator.clock.advance(seconds)
        self.simulator.tick()
