"""The service connected with a simulated Paystack over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from io import StringIO
from typing import Any
from unittest.mock import patch

from django.core.management import call_command
from django.db.models import F

from connectors.paystack.api.client import CALLS_PER_MINUTE
from connectors.paystack.simulator.integration import Settings
from connectors.paystack.simulator.records import Transfer
from connectors.paystack.simulator.server import Server
from connectors.paystack.simulator.simulator import Simulator
from connectors.services import event_processing
from kit.connectors import connectors
from payments import rails
from payments.models import CardOperation, RailBlock, Transaction
from payments.rails.protocol import PayoutBank
from payments.services.rails.rail_queries.rail_blocks import cached_blocks
from payments.services.transfers import account_provider_calls
from tests import orders
from tests.connectors.paystack.client import KEY, NOON
from tests.connectors.provider_webhooks import PAYSTACK
from tests.serving import simulator_serving

INTEGRATION = 463433
PAYMENTS = "/api/payments"


class Connected:
    """A running simulator, the caller of our API, and the time that passes for both."""

    def __init__(self, server: Server, api: Any) -> None:
        self.simulator = server.simulator
        self.api = api

    def command(self, **order: Any) -> Any:
        return self.simulator.command(**order)

    def plan(self, *words: str) -> None:
        self.command(plan=list(words))

    def books(self) -> dict[str, Any]:
        return self.simulator.books()

    def only_transfer(self) -> Transfer:
        """Return the one transfer that Paystack has."""
        [transfer] = self.simulator.integration.tables.transfers.values()
        return transfer

    def paid(self) -> dict[str, int]:
        """Return what was paid by reference."""
        paid: dict[str, int] = self.books()["paid_out"]
        return paid

    def post(self, **changes: Any) -> Any:
        return self.api.post(PAYMENTS, orders.payout(**changes))

    def pay_out(self, **changes: Any) -> dict[str, Any]:
        answer = self.post(**changes)
        assert answer.status_code == 201, answer.content
        made: dict[str, Any] = answer.json()
        return made

    def again(self, payout: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.api.get(f"{PAYMENTS}/{payout['reference']}").json()
        return found

    def deliver(self, client: Any) -> None:
        """Send our endpoint the events that are due, and process each until nothing more is to be asked."""

        def post(url: str, headers: dict[str, str], body: bytes) -> int:
            names = {name: value for name, value in headers.items() if name != "Content-Type"}
            answer = client.post(url, body, content_type=headers["Content-Type"], headers=names)
            status: int = answer.status_code
            return status

        # Only now: later, the simulator's own thread would post, and commit beside the test's transaction.
        with patch.object(self.simulator.integration.outbox, "_send", post):
            self.simulator.deliver()
        event_processing.process_due()
        account_provider_calls.send_due()

    def requery(self) -> None:
        call_command("requery_pending", stdout=StringIO(), stderr=StringIO())

    def pass_time(self, seconds: float) -> None:
        """Let time pass at Paystack and here."""
        self.simulator.advance(seconds)
        past = timedelta(seconds=seconds)
        for model in (Transaction, CardOperation):
            moments = ("created_at", "sent_at", "query_leased_until", "next_query_at")
            model.objects.update(**{name: F(name) - past for name in moments})
        RailBlock.objects.update(since=F("since") - past, probed_at=F("probed_at") - past)
        cached_blocks.cache_clear()
        breaker = made_bank()._connector._client.breaker
        if not breaker.allows_calls():
            breaker._make_probe()

    def requery_later(self, *, after: float = 61) -> None:
        """Query all that is pending, when an order that Paystack doesn't find may be sent again."""
        self.pass_time(after)
        self.requery()


def reference_of(payout: dict[str, Any]) -> str:
    """Return our reference of a payout at Paystack."""
    return str(payout["id"]).replace("-", "")


def made_bank() -> Any:
    """Return this process's connector to Paystack."""
    return connectors.make(rails.BANKS["paystack"], protocol=PayoutBank)


@contextmanager
def paystack_connected(
    settings: Any,
    api: Any,
    *,
    key: str = KEY,
    standing_at: datetime = NOON,
    opens_accounts: bool = False,
    **variants: str,
) -> Iterator[Connected]:
    """Run a simulated Paystack and route payouts to it, and virtual accounts if it `opens_accounts`."""
    account = Settings(secret_key=key, integration=INTEGRATION, webhook_url=PAYSTACK)
    simulator = Simulator(account, standing_at=standing_at, variants=variants)
    simulator.integration.switches["unlimited"] = True
    settings.PAYOUT_BANK = "paystack"
    if opens_accounts:
        settings.ACCOUNT_PROVIDER = "paystack"
    settings.PAYSTACK_FALLBACK_EMAIL = "pay@shop.example"
    settings.PAYSTACK_SECRET_KEY, settings.PAYSTACK_INTEGRATION = key, str(INTEGRATION)
    connectors._made.cache_clear()
    try:
        with (
            simulator_serving(Server(simulator)) as server,
            patch.dict(CALLS_PER_MINUTE, live=10**9, test=10**9),
        ):
            settings.PAYSTACK_URL = server.url
            yield Connected(server, api)
    finally:
        connectors._made.cache_clear()


@contextmanager
def short_timeout(seconds: float = 0.4) -> Iterator[None]:
    """Shorten the time for Paystack's answers in a test that expects none."""
    client = made_bank()._connector._client
    usual, client._timeout = client._timeout, seconds
    try:
        yield
    finally:
        client._timeout = usual
