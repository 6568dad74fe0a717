"""Which method of our clients makes a call of the API: one table for all samples.

Methods have the names of the Python client; in Node they are in camelCase. A test compares the table with
`clients/surface.json` and with the operations of the OpenAPI document.

>>> found = method_of("POST", "/api/payments", {}, {"request_type": "payout", "reference": "payout-5"})
>>> found.method.name, found.values, found.named
('payouts.create', (), {'reference': 'payout-5'})
>>> found = method_of("POST", "/api/payments/order-1042/refunds", {}, {"reference": "refund-8"})
>>> found.method.name, found.values, found.named
('refunds.create', ('order-1042',), {'reference': 'refund-8'})
>>> method_of("POST", "/api/newer", {}, {}) is None
True
"""

import keyword
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote


class Result(NamedTuple):
    """What a method returns: the name that a sample gives it, and the fields that the sample prints."""

    name: str
    shows: tuple[str, ...] = ()


ANSWER = Result("answer")
PAYMENT = Result("payment", ("status", "response_code", "response_summary"))
LISTED_PAYMENT = Result("payment", ("reference", "status"))
TRANSFER = Result("payment", ("status", "virtual_account_details.account_number"))
REFUND = Result("refund", ("status", "response_code", "response_summary"))
ACCOUNT = Result("account", ("id", "status"))
SIMULATED = Result("simulated", ("message",))
BANK = Result("bank", ("code", "name"))
HOLDER = Result("holder", ("account_name",))
CAPABILITY = Result("capability", ("flow", "currency", "available"))
BALANCE = Result("balance", ("currency", "available", "pending"))
MOVEMENT = Result("movement", ("created_at", "kind", "amount"))
BATCH = Result("batch", ("number", "status", "net"))
UNAPPLIED = Result("transfer", ("id", "state", "amount"))
BENEFICIARY = Result("beneficiary", ("status", "account_name"))
PAYOUT_BATCH = Result("batch", ("status", "counts"))
DISPUTE = Result("dispute", ("id", "stage", "status", "respond_by"))
EVIDENCE = Result("item", ("id", "kind"))
LINK = Result("link", ("status", "url"))
CHECKOUT = Result("checkout", ("status", "payment_reference"))
EVENT = Result("event", ("event_id", "event", "state"))
ENDPOINT = Result("endpoint", ("id", "url", "enabled"))
REQUEST = Result("request", ("at", "method", "target", "status"))
SCENARIO = Result("scenario", ("name", "title"))
EXAM = Result("exam", ("id", "state"))
ADVANCED = Result("payment", ("status", "advanced"))
CLOSED_DAY = Result("day", ("batches", "balance"))


@dataclass(frozen=True)
class ClientMethod:
    """A method of the clients and the calls that it makes.

    Values of the path come first. Then come the fields of the query or of the body, as arguments in Python and as one
    object in Node, without those that the method sets itself.
    """

    name: str
    verb: str
    path: str
    result: Result
    _: KW_ONLY
    sets: Mapping[str, str] = field(default_factory=dict)
    takes: tuple[str, ...] | None = None  # all fields if None
    positional: tuple[str, ...] = ()  # fields that are passed without an object, in this order
    is_whole: bool = False  # takes the whole body as one argument
    is_list: bool = False
    has_pages: bool = False

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\\\{\w+\\\}", "([^/]+)", re.escape(self.path)))

    def values_of(self, path: str) -> tuple[str, ...] | None:
        """Return the values that a path has for the method's parameters, or None if it is another path."""
        found = self._pattern.fullmatch(path)
        return tuple(unquote(value) for value in found.groups()) if found else None

    def fits(self, fields: Mapping[str, Any]) -> bool:
        """Return whether the method sends exactly these fields. Methods leave out null, unless it removes a value."""
        named = self.named(fields)
        return self.is_whole or (
            all(fields.get(name) == value for name, value in self.sets.items())
            and (self.takes is None or named.keys() <= set(self.takes))
            and (self.verb == "PATCH" or None not in named.values())
            and all(map(_is_argument, named))
        )

    def named(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that must be passed."""
        return {name: value for name, value in fields.items() if name not in self.sets}


class Found(NamedTuple):
    """A method, and what it must be given for a call: values by their place, and fields by their names."""

    method: ClientMethod
    values: tuple[Any, ...]
    named: Mapping[str, Any] | None


def method_of(
    verb: str, path: str, query: Mapping[str, str | int], body: Mapping[str, Any] | None
) -> Found | None:
    """Return the method that makes a call, or None if there is none."""
    fields = {**query, **(body or {})}
    for method in METHODS:
        values = method.values_of(path) if method.verb == verb else None
        if values is not None and method.fits(fields) and not (query and body):
            named = method.named(fields)
            placed = [named.pop(name) for name in method.positional if name in named]
            return Found(method, (*values, *placed), named)
    return None


PYTHON_NAMES = {"3ds": "three_ds"}


def _is_argument(name: str) -> bool:
    name = PYTHON_NAMES.get(name, name)
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


PAYMENTS, PAYMENT_PATH = "/api/payments", "/api/payments/{reference}"
ACCOUNTS, LINKS, UNAPPLIED_PATH = "/api/virtual-accounts", "/api/payment-links", "/api/unapplied-transfers"
BENEFICIARIES, BATCHES = "/api/beneficiaries", "/api/payout-batches"
ENDPOINTS = "/api/webhook-endpoints"
CARD = {"request_type": "payment", "payment_method": "card"}
VIRTUAL_ACCOUNT = {"request_type": "payment", "payment_method": "virtual_account"}
DISPUTES = "/api/disputes"
REFUND_FIELDS = ("reference", "amount", "reason", "destination")
INDIVIDUAL = {"type": "static", "account_type": "individual"}
BUSINESS = {"type": "static", "account_type": "business"}

# The first that fits is used.
METHODS: tuple[ClientMethod, ...] = (
    ClientMethod("payments.card", "POST", PAYMENTS, PAYMENT, sets=CARD),
    ClientMethod("payments.transfer", "POST", PAYMENTS, TRANSFER, sets=VIRTUAL_ACCOUNT),
    ClientMethod("payouts.create", "POST", PAYMENTS, PAYMENT, sets={"request_type": "payout"}),
    ClientMethod("card_checks.create", "POST", PAYMENTS, PAYMENT, sets={"request_type": "card_check"}),
    ClientMethod("payments.create", "POST", PAYMENTS, PAYMENT, is_whole=True),
    ClientMethod("payments.list", "GET", PAYMENTS, LISTED_PAYMENT, is_list=True, has_pages=True),
    ClientMethod("payments.get", "GET", PAYMENT_PATH, PAYMENT, takes=()),
    ClientMethod("payments.capture", "POST", f"{PAYMENT_PATH}/capture", PAYMENT, takes=("amount",), positional=("amount",)),
    ClientMethod("payments.void", "POST", f"{PAYMENT_PATH}/void", PAYMENT, takes=()),
    ClientMethod("payments.cancel", "POST", f"{PAYMENT_PATH}/cancel", PAYMENT, takes=()),
    ClientMethod("refunds.create", "POST", f"{PAYMENT_PATH}/refunds", REFUND, takes=REFUND_FIELDS),
    ClientMethod("refunds.list", "GET", f"{PAYMENT_PATH}/refunds", Result("refund", ("reference", "status")), is_list=True, has_pages=True),
    ClientMethod("refunds.get", "GET", "/api/refunds/{reference}", REFUND, takes=()),
    ClientMethod("virtual_accounts.simulate_transfer", "POST", f"{ACCOUNTS}/simulate", SIMULATED),
    ClientMethod("virtual_accounts.business", "POST", ACCOUNTS, ACCOUNT, sets=BUSINESS),
    ClientMethod("virtual_accounts.static", "POST", ACCOUNTS, ACCOUNT, sets=INDIVIDUAL),
    ClientMethod("virtual_accounts.static", "POST", ACCOUNTS, ACCOUNT, sets={"type": "static"}),
    ClientMethod("virtual_accounts.dynamic", "POST", ACCOUNTS, ACCOUNT, sets={"type": "dynamic"}),
    ClientMethod("virtual_accounts.list", "GET", ACCOUNTS, ACCOUNT, is_list=True, has_pages=True),
    ClientMethod("virtual_accounts.get", "GET", f"{ACCOUNTS}/{{reference}}", ACCOUNT, takes=()),
    ClientMethod("virtual_accounts.deactivate", "POST", f"{ACCOUNTS}/{{reference}}/deactivate", ACCOUNT, takes=()),
    ClientMethod("banks.list", "GET", "/api/banks", BANK, takes=(), is_list=True),
    ClientMethod("banks.resolve", "POST", "/api/banks/resolve", HOLDER, takes=("account_number", "bank_code")),
    ClientMethod("capabilities.list", "GET", "/api/capabilities", CAPABILITY, takes=(), is_list=True),
    ClientMethod("balance.get", "GET", "/api/balance", BALANCE, takes=(), is_list=True),
    ClientMethod("balance.movements", "GET", "/api/balance/movements", MOVEMENT, is_list=True, has_pages=True),
    ClientMethod("settlements.list", "GET", "/api/settlements", BATCH, is_list=True, has_pages=True),
    ClientMethod("settlements.get", "GET", "/api/settlements/{id}", BATCH, takes=("limit", "cursor")),
    ClientMethod("unapplied_transfers.list", "GET", UNAPPLIED_PATH, UNAPPLIED, is_list=True, has_pages=True),
    ClientMethod("unapplied_transfers.credit", "POST", f"{UNAPPLIED_PATH}/{{id}}/credit", UNAPPLIED, takes=("reason",)),
    ClientMethod("unapplied_transfers.return_", "POST", f"{UNAPPLIED_PATH}/{{id}}/return", UNAPPLIED, takes=("reason", "destination")),
    ClientMethod("payout_batches.create", "POST", BATCHES, PAYOUT_BATCH),
    ClientMethod("payout_batches.list", "GET", BATCHES, PAYOUT_BATCH, is_list=True, has_pages=True),
    ClientMethod("payout_batches.get", "GET", f"{BATCHES}/{{reference}}", PAYOUT_BATCH, takes=()),
    ClientMethod("payout_batches.payouts", "GET", f"{BATCHES}/{{reference}}/payouts", LISTED_PAYMENT, is_list=True, has_pages=True),
    ClientMethod("payout_batches.approve", "POST", f"{BATCHES}/{{reference}}/approve", PAYOUT_BATCH, takes=("accept", "as_far_as_balance")),
    ClientMethod("payout_batches.cancel", "POST", f"{BATCHES}/{{reference}}/cancel", PAYOUT_BATCH, takes=()),
    ClientMethod("payout_batches.retry", "POST", f"{BATCHES}/{{reference}}/retry", PAYOUT_BATCH, takes=()),
    ClientMethod("beneficiaries.create", "POST", BENEFICIARIES, BENEFICIARY),
    ClientMethod("beneficiaries.list", "GET", BENEFICIARIES, BENEFICIARY, is_list=True, has_pages=True),
    ClientMethod("beneficiaries.get", "GET", f"{BENEFICIARIES}/{{reference}}", BENEFICIARY, takes=()),
    ClientMethod("beneficiaries.update", "PATCH", f"{BENEFICIARIES}/{{reference}}", BENEFICIARY),
    ClientMethod("beneficiaries.delete", "DELETE", f"{BENEFICIARIES}/{{reference}}", ANSWER, takes=()),
    ClientMethod("disputes.list", "GET", DISPUTES, DISPUTE, is_list=True, has_pages=True),
    ClientMethod("disputes.get", "GET", f"{DISPUTES}/{{id}}", DISPUTE, takes=()),
    ClientMethod("disputes.add_evidence", "POST", f"{DISPUTES}/{{id}}/evidence", EVIDENCE, takes=("kind", "text")),
    ClientMethod("disputes.remove_evidence", "DELETE", f"{DISPUTES}/{{id}}/evidence/{{item}}", ANSWER, takes=()),
    ClientMethod("disputes.submit", "POST", f"{DISPUTES}/{{id}}/submit", DISPUTE, takes=("leave_out",)),
    ClientMethod("disputes.accept", "POST", f"{DISPUTES}/{{id}}/accept", DISPUTE, takes=("amount",)),
    ClientMethod("payment_links.create", "POST", LINKS, LINK),
    ClientMethod("payment_links.list", "GET", LINKS, LINK, is_list=True, has_pages=True),
    ClientMethod("payment_links.get", "GET", f"{LINKS}/{{reference}}", LINK, takes=()),
    ClientMethod("payment_links.update", "PATCH", f"{LINKS}/{{reference}}", LINK),
    ClientMethod("payment_links.activate", "POST", f"{LINKS}/{{reference}}/activate", LINK, takes=()),
    ClientMethod("payment_links.deactivate", "POST", f"{LINKS}/{{reference}}/deactivate", LINK, takes=()),
    ClientMethod("payment_links.checkouts", "GET", f"{LINKS}/{{reference}}/checkouts", CHECKOUT, is_list=True, has_pages=True),
    ClientMethod("events.list", "GET", "/api/events", EVENT, is_list=True, has_pages=True),
    ClientMethod("events.get", "GET", "/api/events/{event_id}", EVENT, takes=()),
    ClientMethod("events.resend", "POST", "/api/events/{event_id}/resend", EVENT, takes=("to",)),
    ClientMethod("webhook_endpoints.create", "POST", ENDPOINTS, ENDPOINT),
    ClientMethod("webhook_endpoints.list", "GET", ENDPOINTS, ENDPOINT, is_list=True, has_pages=True),
    ClientMethod("webhook_endpoints.get", "GET", f"{ENDPOINTS}/{{id}}", ENDPOINT, takes=()),
    ClientMethod("webhook_endpoints.update", "PATCH", f"{ENDPOINTS}/{{id}}", ENDPOINT),
    ClientMethod("webhook_endpoints.delete", "DELETE", f"{ENDPOINTS}/{{id}}", ANSWER, takes=()),
    ClientMethod("webhook_endpoints.rotate", "POST", f"{ENDPOINTS}/{{id}}/rotate", ENDPOINT, takes=("overlap_hours",)),
    ClientMethod("requests.list", "GET", "/api/requests", REQUEST, is_list=True, has_pages=True),
    ClientMethod("sandbox.scenarios", "GET", "/api/sandbox/scenarios", SCENARIO, takes=(), is_list=True),
    ClientMethod("sandbox.advance_payment", "POST", "/api/sandbox/advance", ADVANCED, takes=("payment",), positional=("payment",)),
    ClientMethod("sandbox.advance_payout_batch", "POST", "/api/sandbox/advance", PAYOUT_BATCH, takes=("payout_batch",), positional=("payout_batch",)),
    ClientMethod("sandbox.advance_event", "POST", "/api/sandbox/advance", EVENT, takes=("event",), positional=("event",)),
    ClientMethod("sandbox.close_day", "POST", "/api/sandbox/advance", CLOSED_DAY, takes=("day",), positional=("day",)),
    ClientMethod("sandbox.return_reserve", "POST", "/api/sandbox/advance", CLOSED_DAY, takes=("reserve",), positional=("reserve",)),
    ClientMethod("sandbox.exam", "POST", "/api/sandbox/exams", EXAM, takes=("target", "listener")),
    ClientMethod("sandbox.get_exam", "GET", "/api/sandbox/exams/{exam_id}", EXAM, takes=()),
    ClientMethod("sandbox.report_exam", "POST", "/api/sandbox/exams/{exam_id}/answers", EXAM, takes=("answers", "acted")),
)  # fmt: skip
