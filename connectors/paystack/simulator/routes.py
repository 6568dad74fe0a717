"""Which function answers which call."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from connectors.paystack.simulator.accounts import customers, dedicated_accounts
from connectors.paystack.simulator.answers import Answer, Request
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.money import banks, settlements, transfers
from connectors.paystack.simulator.payments import cards, disputes, hosted, refunds, transactions

Handler = Callable[[Integration, Request], Answer]

API: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/balance", transfers.balance),
    ("GET", "/balance/ledger", transfers.ledger),
    ("GET", "/bank", banks.list_banks),
    ("GET", "/bank/resolve", banks.resolve),
    ("POST", "/charge", cards.charge),
    ("POST", "/charge/submit_address", cards.submit),
    ("POST", "/charge/submit_birthday", cards.submit),
    ("POST", "/charge/submit_otp", cards.submit),
    ("POST", "/charge/submit_phone", cards.submit),
    ("POST", "/charge/submit_pin", cards.submit),
    ("GET", "/charge/{reference}", cards.check),
    ("POST", "/customer", customers.create),
    ("GET", "/customer/{code}", dedicated_accounts.fetch_customer),
    ("POST", "/customer/{code}/identification", customers.identify),
    ("POST", "/dedicated_account", dedicated_accounts.create),
    ("GET", "/dedicated_account", dedicated_accounts.list_all),
    ("POST", "/dedicated_account/assign", dedicated_accounts.assign),
    ("GET", "/dedicated_account/available_providers", dedicated_accounts.providers),
    ("GET", "/dedicated_account/requery", dedicated_accounts.requery),
    ("DELETE", "/dedicated_account/{id}", dedicated_accounts.deactivate),
    ("GET", "/dispute", disputes.list_all),
    ("GET", "/dispute/{id}", disputes.fetch),
    ("POST", "/dispute/{id}/evidence", disputes.add_evidence),
    ("PUT", "/dispute/{id}/resolve", disputes.resolve),
    ("GET", "/dispute/{id}/upload_url", disputes.upload_url),
    ("POST", "/refund", refunds.create),
    ("GET", "/refund", refunds.list_all),
    ("POST", "/refund/retry_with_customer_details/{id}", refunds.retry),
    ("GET", "/refund/{id}", refunds.fetch),
    ("GET", "/settlement", settlements.list_all),
    ("GET", "/settlement/{id}/transactions", settlements.list_transactions),
    ("GET", "/transaction", transactions.list_all),
    ("POST", "/transaction/initialize", hosted.initialize),
    ("GET", "/transaction/verify/{reference}", transactions.verify),
    ("GET", "/transaction/{id}", transactions.fetch),
    ("GET", "/transfer", transfers.list_all),
    ("POST", "/transfer", transfers.send),
    ("GET", "/transfer/verify/{reference}", transfers.verify),
    ("POST", "/transferrecipient", transfers.create_recipient),
)
PAGES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/checkout/{code}", hosted.show_checkout),
    ("POST", "/checkout/{code}", hosted.submit_checkout),
    ("GET", "/simulator/bank/{reference}", hosted.show_bank),
    ("POST", "/simulator/bank/{reference}", hosted.submit_bank),
    ("GET", "/simulator/close", hosted.close),
    ("PUT", "/simulator/uploads/{name}", hosted.upload),
)


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    pattern: re.Pattern[str]
    handler: Handler
    is_page: bool


def _compiled(rows: tuple[tuple[str, str, Handler], ...], *, is_page: bool) -> list[Route]:
    return [
        Route(method, path, re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)), handler, is_page)
        for method, path, handler in rows
    ]


ROUTES = _compiled(API, is_page=False) + _compiled(PAGES, is_page=True)


def find(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """Return the first route of a call, and the parameters in its path."""
    for route in ROUTES:
        if route.method == method and (found := route.pattern.fullmatch(path)):
            return route, {name: unquote(value) for name, value in found.groupdict().items()}
    return None
