"""Customers and their identification."""

import re

from connectors.paystack.simulator.answers import Answer, Document, Refused, Request, dates, ok
from connectors.paystack.simulator.control import timelines
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.payments import transactions
from connectors.paystack.simulator.records import Customer

BVN = re.compile("[0-9]{11}")


def create(integration: Integration, request: Request) -> Answer:
    """Create a customer, or return the one with this e-mail [?]."""
    if not request.text("email"):
        raise Refused("email")
    made = integration.customer_of(request.text("email"))
    rename(made, request)
    return ok("Customer created", document(integration, made))


def rename(customer: Customer, request: Request) -> None:
    for name in ("first_name", "last_name", "phone"):
        setattr(customer, name, request.text(name) or getattr(customer, name))
    customer.metadata = request.body.get("metadata") or customer.metadata or {}


def document(integration: Integration, shown: Customer) -> Document:
    return (
        transactions.customer(shown, is_short=True)
        | {
            "transactions": [],
            "subscriptions": [],
            "authorizations": [],
            "integration": integration.settings.integration,
            "domain": integration.domain,
            "identified": shown.is_identified,
            "identifications": None,
        }
        | dates(shown.created_at)
    )


def by_key(integration: Integration, key: str) -> Customer:
    """Return a customer by code, e-mail or numeric id.

    :raises Refused: there is none
    """
    for each in integration.tables.customers.values():
        if key in {each.code, each.email, str(each.id)}:
            return each
    raise Refused("customer_missing")


def identify(integration: Integration, request: Request) -> Answer:
    """Check a customer's identity. The result comes as an event."""
    customer = by_key(integration, request.params["code"])
    request.need("country", "type", "account_number", "bvn", "bank_code", "first_name", "last_name")
    if not BVN.fullmatch(request.text("bvn")):
        raise Refused("bvn")

    def step(status: str) -> bool:
        customer.is_identified = customer.is_identified or status == "success"
        if status == "success":  # the BVN's names replace ours [D11]
            customer.first_name = request.text("first_name").upper()
            customer.last_name = request.text("last_name").upper()
        _announce(integration, customer, request, status)
        return True

    timelines.follow(integration.timeline("identification"), integration.schedule, step)
    return ok("Customer Identification in progress", status=202)


def _announce(integration: Integration, customer: Customer, asked: Request, status: str) -> None:
    """Announce a result. The two events name the identity and the customer in different ways (samples)."""
    bvn, number = (
        f"{asked.text(name)[:3]}*****{asked.text(name)[-3:]}" for name in ("bvn", "account_number")
    )
    known: Document = {"customer_code": customer.code, "email": customer.email}
    identity: Document = {"country": asked.text("country"), "type": "bvn", "value": bvn}
    if status == "success":
        data = known | {"customer_id": str(customer.id), "identification": identity}
        integration.event("customeridentification.success", data)
    elif status == "failed":
        account = {"bvn": bvn, "account_number": number, "bank_code": asked.text("bank_code")}
        identity = {"country": asked.text("country"), "type": asked.text("type"), **account}
        data = known | {"customer_id": customer.id, "identification": identity}
        integration.event(
            "customeridentification.failed", data | {"reason": "Account number or BVN is incorrect"}
        )
