"""A call of every method of clients/surface.json, for the Python client. The Node client has its own in tests/live.ts."""

import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from sluice import Sluice

CARD = {
    "type": "card",
    "pan": "4084084084084081",
    "name": "Ada Obi",
    "expiry_month": "12",
    "expiry_year": "2035",
    "cvv": "408",
}
ADDRESS = {
    "address_line1": "12 Marina",
    "city": "Lagos",
    "state": "Lagos",
    "postal_code": "101241",
    "country": "NGA",
}
NAME = {"first_name": "Ada", "last_name": "Obi"}
PERSON = {"middle_name": "Ngozi", "phone_number": "08012345678", "dob": "1990-12-31", "gender": "female"}
BANK_ACCOUNT = {"account_number": "0123456789", "bank_code": "058"}
BVN = {"bvn": "22212345678"}


class Shop:
    """Makes what the calls need."""

    def __init__(self, client: Sluice) -> None:
        self.client = client

    def reference(self) -> str:
        return f"py-{secrets.token_hex(6)}"

    def order(self, **more: Any) -> dict[str, Any]:
        made = {"reference": self.reference(), "amount": 250_000, "currency": "NGN", "source": CARD}
        return {**made, "redirect_url": "https://shop.example/done", **more}

    def paid(self, **more: Any) -> str:
        return self.client.payments.card(**self.order(**more)).reference

    def account(self, **more: Any) -> dict[str, Any]:
        made = {"reference": self.reference(), "email": "ada@shop.example", "currency": "NGN"}
        return {**made, "address": ADDRESS, **more}

    def opened(self) -> Any:
        return self.client.virtual_accounts.dynamic(**self.account(**NAME))

    def expected(self) -> dict[str, Any]:
        """Return the request of a payment by transfer."""
        made = {"reference": self.reference(), "amount": 5_000, "currency": "NGN", "expiry_duration": 600}
        return {**made, "payment_method_id": self.opened().id}

    def awaited(self) -> Any:
        """Return a payment that waits for a transfer."""
        return self.client.payments.transfer(**self.expected())

    def linked(self, **more: Any) -> dict[str, Any]:
        made = {"reference": self.reference(), "title": "Workshop", "amount": 50_000, "currency": "NGN"}
        return {**made, **more}

    def link(self) -> str:
        return self.client.payment_links.create(**self.linked()).reference

    def batched(self, amount: int = 5_000, **more: Any) -> dict[str, Any]:
        """Return a batch of one payout, to an account of its own: the same payout again is a duplicate."""
        number = f"{secrets.randbelow(10**7):010}"
        customer = {"name": "Ada Obi", "account_number": number, "bank_code": BANK_ACCOUNT["bank_code"]}
        payout = {"reference": self.reference(), "amount": amount, "currency": "NGN", "customer": customer}
        return {"reference": self.reference(), "title": "Suppliers", "payouts": [payout], **more}

    def checked(self, amount: int = 5_000, **more: Any) -> str:
        """Return a batch that its sandbox has checked."""
        made = self.client.payout_batches.create(**self.batched(amount, **more)).reference
        while self.client.payout_batches.get(made).status == "checking":
            time.sleep(0.2)
        return made

    def scheduled(self) -> str:
        """Return a batch that is sent tomorrow."""
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        made = self.checked(run_at=tomorrow.isoformat(timespec="seconds").replace("+00:00", "Z"))
        return self.client.payout_batches.approve(made).reference

    def failed_batch(self) -> str:
        made = self.checked(20_051)
        self.client.payout_batches.approve(made)
        while self.client.payout_batches.get(made).status != "completed":
            time.sleep(0.2)
        return made

    def endpoint(self) -> dict[str, Any]:
        return {"url": f"http://127.0.0.1:9/{secrets.token_hex(8)}", "subscribed_events": ["refund.success"]}

    def made_endpoint(self) -> str:
        """Return an endpoint that isn't the first, because that can't be deleted."""
        made = [each.id for each in self.client.webhook_endpoints.list()]
        while len(made) < 2:
            made.append(self.client.webhook_endpoints.create(**self.endpoint()).id)
        return str(made[-1])

    def beneficiary(self) -> dict[str, Any]:
        return {"reference": self.reference(), "name": "Ada Obi", "note": "Rent", **BANK_ACCOUNT}

    def saved(self) -> str:
        return self.client.beneficiaries.create(**self.beneficiary()).reference

    def refunded(self) -> str:
        return self.client.refunds.create(self.paid(), reference=self.reference(), amount=100).reference

    def unapplied(self) -> str:
        self.client.sandbox.play("transfer.unapplied")
        return self.client.unapplied_transfers.list(state="open", limit=1).data[0].id

    def disputed(self) -> str:
        reference = self.paid(amount=50_077)
        self.client.sandbox.advance_payment(reference)
        return self.client.disputes.list(payment=reference).data[0].id

    def evidence(self) -> tuple[str, str]:
        dispute = self.disputed()
        return dispute, self.client.disputes.add_evidence(dispute, kind="delivery", text="Handed over.").id

    def delivered(self) -> str:
        return self.client.events.list(state="delivered", limit=1).data[0].event_id

    def waiting(self) -> str:
        """Return the event whose next attempt is furthest away."""
        events = self.client.events.list(state="waiting").data
        return max(events, key=lambda event: event.next_attempt_at or "").event_id

    def examined(self) -> str:
        return self.reported(self.client.sandbox.exam(target="client", listener=self.listening()))

    def listening(self) -> str:
        return self.client.sandbox.listener("laptop").begin().name

    def reported(self, exam: Any) -> str:
        """End an exam, so that another one can start."""
        return self.client.sandbox.report_exam(exam.id, answers=[]).id

    def reserved(self) -> str:
        """Return a released settlement of which a part is held."""
        self.paid()
        return next(each.id for each in self.client.sandbox.close_day().batches if each.reserved)

    def batch(self) -> str:
        return self.client.settlements.list(limit=1).data[0].id


def transfer_to(shop: Shop) -> dict[str, Any]:
    payment = shop.awaited()
    return {"account_number": payment.virtual_account_details.account_number, "amount": payment.amount}


def listen(listener: Any) -> Any:
    """Begin, poll and end."""
    listener.begin(["payment.success"])
    listener.poll(wait=0)
    return listener.end()


# Called with the shop, and with the method that is under test.
CALLS: dict[str, Any] = {
    "payments.card": lambda shop, card: card(**shop.order()),
    "payments.transfer": lambda shop, transfer: transfer(**shop.expected()),
    "payments.create": lambda shop, create: create(
        {"request_type": "payment", "payment_method": "card", **shop.order()}
    ),
    "payments.get": lambda shop, get: get(shop.paid()),
    "payments.list": lambda shop, list_: list_(status="success", limit=1),
    "payments.capture": lambda shop, capture: capture(shop.paid(capture=False), 1_000),
    "payments.void": lambda shop, void: void(shop.paid(capture=False)),
    "payments.cancel": lambda shop, cancel: cancel(shop.awaited().reference),
    "payments.wait": lambda shop, wait: wait(shop.paid(), timeout=5),
    "payouts.create": lambda shop, create: create(
        reference=shop.reference(),
        amount=100,
        currency="NGN",
        customer={"name": "Ada Obi", **BANK_ACCOUNT},
    ),
    "card_checks.create": lambda shop, create: create(currency="NGN", source=CARD),
    "refunds.create": lambda shop, create: create(shop.paid(), reference=shop.reference(), reason="Returned"),
    "refunds.get": lambda shop, get: get(shop.refunded()),
    "refunds.list": lambda shop, list_: list_(shop.paid(), limit=1),
    "virtual_accounts.static": lambda shop, static: static(**shop.account(**NAME, **PERSON, **BVN)),
    "virtual_accounts.business": lambda shop, business: business(
        **shop.account(business_name="Ada Books Ltd", phone_number="08012345678", **BVN)
    ),
    "virtual_accounts.dynamic": lambda shop, dynamic: dynamic(**shop.account(**NAME)),
    "virtual_accounts.get": lambda shop, get: get(shop.opened().reference),
    "virtual_accounts.list": lambda shop, list_: list_(type="dynamic", limit=1),
    "virtual_accounts.deactivate": lambda shop, deactivate: deactivate(shop.opened().reference),
    "virtual_accounts.simulate_transfer": lambda shop, simulate: simulate(**transfer_to(shop)),
    "banks.list": lambda shop, list_: list_(),
    "banks.resolve": lambda shop, resolve: resolve(**BANK_ACCOUNT),
    "capabilities.list": lambda shop, list_: list_(),
    "balance.get": lambda shop, get: get(),
    "balance.movements": lambda shop, movements: movements(currency="NGN"),
    "settlements.list": lambda shop, list_: list_(currency="NGN"),
    "settlements.get": lambda shop, get: get(shop.batch(), limit=1),
    "disputes.list": lambda shop, list_: list_(status="needs_response"),
    "disputes.get": lambda shop, get: get(shop.disputed()),
    "disputes.add_evidence": lambda shop, add: add(shop.disputed(), kind="delivery", text="Handed over."),
    "disputes.remove_evidence": lambda shop, remove: remove(*shop.evidence()) is None,
    "disputes.submit": lambda shop, submit: submit(shop.disputed(), leave_out=["other_payments"]),
    "disputes.accept": lambda shop, accept: accept(shop.disputed(), amount=20_000),
    "unapplied_transfers.list": lambda shop, list_: list_(state="open"),
    "unapplied_transfers.credit": lambda shop, credit: credit(shop.unapplied(), reason="Paid twice"),
    "unapplied_transfers.return": lambda shop, return_: return_(
        shop.unapplied(), reason="Paid twice", destination={"name": "Ada Obi", **BANK_ACCOUNT}
    ),
    "payout_batches.create": lambda shop, create: create(**shop.batched()),
    "payout_batches.get": lambda shop, get: get(shop.checked()),
    "payout_batches.list": lambda shop, list_: list_(status="ready", limit=1),
    "payout_batches.payouts": lambda shop, payouts: payouts(shop.checked(), limit=1),
    "payout_batches.approve": lambda shop, approve: approve(shop.checked(), as_far_as_balance=True),
    "payout_batches.cancel": lambda shop, cancel: cancel(shop.checked()),
    "payout_batches.retry": lambda shop, retry: retry(shop.failed_batch()),
    "webhook_endpoints.create": lambda shop, create: create(**shop.endpoint()),
    "webhook_endpoints.get": lambda shop, get: get(shop.made_endpoint()),
    "webhook_endpoints.list": lambda shop, list_: list_(limit=1),
    "webhook_endpoints.update": lambda shop, update: update(
        shop.made_endpoint(), enabled=False, description=None
    ),
    "webhook_endpoints.rotate": lambda shop, rotate: rotate(shop.made_endpoint(), overlap_hours=1),
    "webhook_endpoints.delete": lambda shop, delete: delete(shop.made_endpoint()) is None,
    "beneficiaries.create": lambda shop, create: create(**shop.beneficiary()),
    "beneficiaries.get": lambda shop, get: get(shop.saved()),
    "beneficiaries.list": lambda shop, list_: list_(limit=1),
    "beneficiaries.update": lambda shop, update: update(shop.saved(), note=None, email="ada@shop.example"),
    "beneficiaries.delete": lambda shop, delete: delete(shop.saved()) is None,
    "payment_links.create": lambda shop, create: create(**shop.linked(max_uses=3)),
    "payment_links.get": lambda shop, get: get(shop.link()),
    "payment_links.list": lambda shop, list_: list_(status="active", limit=1),
    "payment_links.update": lambda shop, update: update(shop.link(), max_uses=None, title="Another"),
    "payment_links.activate": lambda shop, activate: activate(shop.link()),
    "payment_links.deactivate": lambda shop, deactivate: deactivate(shop.link()),
    "payment_links.checkouts": lambda shop, checkouts: checkouts(shop.link(), limit=1),
    "events.list": lambda shop, list_: list_(state="delivered"),
    "events.get": lambda shop, get: get(shop.delivered()),
    "events.resend": lambda shop, resend: resend(shop.delivered(), to="endpoint"),
    "requests.list": lambda shop, list_: list_(status_class="2", limit=1),
    "sandbox.scenarios": lambda shop, scenarios: scenarios(),
    "sandbox.play": lambda shop, play: play("payment.success", {"pay.amount": 50_000}),
    "sandbox.advance_payment": lambda shop, advance: advance(shop.awaited().reference),
    "sandbox.advance_payout_batch": lambda shop, advance: advance(shop.scheduled()),
    "sandbox.advance_event": lambda shop, advance: advance(shop.waiting()),
    "sandbox.close_day": lambda shop, close: close("approved"),
    "sandbox.return_reserve": lambda shop, return_reserve: return_reserve(shop.reserved()),
    "sandbox.listener": lambda shop, listener: listen(listener(shop.reference())),
    "sandbox.exam": lambda shop, exam: shop.reported(exam(target="client", listener=shop.listening())),
    "sandbox.get_exam": lambda shop, get: get(shop.examined()),
    "sandbox.report_exam": lambda shop, report: report(shop.examined(), acted="1"),
}
