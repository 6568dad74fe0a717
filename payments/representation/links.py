"""Payment links and checkouts in API responses, declared field by field.

A checkout's token is in no answer: it is the payer's credential.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from kit.api.amount_warnings import WARNINGS_FIELD
from kit.api.fields.answer_fields import (
    BALANCE,
    COUNT,
    CURRENCY_FIELD,
    EMPTY,
    FLAG,
    MINOR_UNITS,
    MOMENT,
    NONE,
    OBJECT,
    POSITION,
    REFERENCE,
    TEXT,
    URL,
    UUID,
    Answer,
    Field,
    ListOf,
    Type,
    one_of,
    page_of,
    text,
)
from kit.db import clock
from payments.links.link_rules import ASKED
from payments.models import Checkout, PaymentLink
from payments.representation.payments import PAYMENTS
from virtual_accounts.representation import VIRTUAL_ACCOUNT


@dataclass(frozen=True, slots=True)
class CheckoutWithAttempts:
    """A checkout with what its attempts say about it."""

    checkout: Checkout
    state: Checkout.State
    attempts: int
    payment_reference: str  # of the attempt that paid, else of the last one
    payment_id: uuid.UUID | None  # of the same attempt


def _has_name_or_email(shown: CheckoutWithAttempts) -> Checkout | None:
    checkout = shown.checkout
    return checkout if checkout.name or checkout.email or checkout.phone else None


def _range(link: PaymentLink) -> PaymentLink | None:
    return None if link.has_fixed_amount else link


def _customer(link: PaymentLink) -> PaymentLink | None:
    return link if link.customer_reference else None


AMOUNT_RANGE = Answer(
    "AmountRange",
    "The amounts that the payer may choose, minor units.",
    Field("min", MINOR_UNITS, "The smallest.", 50_000, "amount_min"),
    Field("max", MINOR_UNITS, "The largest.", 5_000_000, "amount_max"),
    Field("suggested", Type({"type": "array", "items": MINOR_UNITS.schema, "maxItems": 4}), "What the page proposes.", [100_000, 250_000], "suggested_amounts", (None, [])),
)  # fmt: skip
COLLECT = Answer(
    "Collect",
    "What payers are asked for.",
    Field("name", one_of(ASKED), "Full name.", "required", itemgetter("name")),
    Field("email", one_of(ASKED), "E-mail address.", "required", itemgetter("email")),
    Field("phone", one_of(ASKED), "Phone number.", "no", itemgetter("phone")),
)  # fmt: skip
LINK_CUSTOMER = Answer(
    "LinkCustomer",
    "Who pays.",
    Field("reference", REFERENCE, "Your reference of the customer.", "customer-7", "customer_reference"),
    Field("email", TEXT, "E-mail address.", "ada@shop.example", "customer_email"),
    Field("name", TEXT, "Full name.", "Ada Obi", "customer_name", EMPTY),
)  # fmt: skip
CUSTOM_FIELD = Answer(
    "CustomField",
    "A question of yours.",
    Field("key", text("^[a-z0-9_]{1,40}$"), "The name of the answer.", "size", itemgetter("key")),
    Field("label", TEXT, "The question.", "T-shirt size", itemgetter("label")),
    Field("required", FLAG, "Whether payers must answer.", True, itemgetter("required")),
)  # fmt: skip
PAYMENT_LINK = Answer(
    "PaymentLink",
    "A payment link: what is paid for, how much, how often and until when.",
    Field("id", UUID, "Our identifier of the link: the `payment_link_id` of its payments.", "01980a5e-a3e0-7c00-8000-000000000006", "pk"),
    Field("reference", REFERENCE, "Your reference.", "workshop-may"),
    Field("status", one_of(PaymentLink.Status.values), "Derived: the first that holds of `used_up`, `inactive`, `expired` and `active`.", value=lambda link: str(link.status_at(clock.now()))),
    Field("url", URL, "The address that you share with payers.", "https://pay.example/l/k7wq3m9x2bdt"),
    Field("slug", TEXT, "The end of the address.", "k7wq3m9x2bdt"),
    Field("title", TEXT, "What is paid for.", "Bookbinding workshop"),
    Field("description", TEXT, "More about it.", "Two days in Yaba, material included.", omit=EMPTY),
    Field("amount", MINOR_UNITS, "For one unit, minor units. Without `amount_range`.", 1_500_000, omit=NONE),
    Field("amount_range", AMOUNT_RANGE, "The payer chooses the amount.", value=_range, omit=NONE),
    CURRENCY_FIELD,
    Field("quantity_max", POSITION, "The payer chooses 1 to this many units.", 1),
    Field("payment_methods", Type({"type": "array", "items": {"type": "string", "enum": list(PAYMENTS)}, "maxItems": len(PAYMENTS)}), "In the order of the page.", ["card", "virtual_account"]),
    Field("payment_method_id", UUID, "The virtual account that you named.", VIRTUAL_ACCOUNT["id"].example, lambda link: link.account_id, NONE),
    Field("transfer_window", COUNT, "Seconds that an account number accepts a payer's transfer.", 1_800),
    Field("collect", COLLECT, "What payers are asked for."),
    Field("customer", LINK_CUSTOMER, "Who pays, if you named them.", value=_customer, omit=NONE),
    Field("custom_fields", ListOf(CUSTOM_FIELD), "Your questions, if any.", omit=(None, [])),
    Field("max_uses", POSITION, "How many payments may succeed. Without: no limit.", 20, omit=NONE),
    Field("uses_paid", BALANCE, "Payments that succeeded.", 4),
    Field("uses_held", BALANCE, "Payments that are pending.", 1),
    Field("uses_left", BALANCE, "Uses that are neither paid nor held. With `max_uses`.", 15, omit=NONE),
    Field("amount_paid", BALANCE, "Sum of the payments that succeeded, minor units. Refunds are not deducted.", 6_000_000),
    Field("expires_at", MOMENT, "The last moment at which a payment can be begun.", "2030-05-02T08:00:00.000Z", omit=NONE),
    Field("redirect_url", URL, "Where the payer is sent after success.", "https://shop.example/thanks", omit=EMPTY),
    Field("success_message", TEXT, "On the receipt.", "See you in May!", omit=EMPTY),
    Field("support_contact", TEXT, "On every page.", "help@ada.example", omit=EMPTY),
    Field("block_reason", TEXT, "Why the operator has blocked the link. It can't be activated until this is resolved.", "Prohibited goods", omit=EMPTY),
    Field("created_at", MOMENT, "When it was created.", "2026-01-31T08:00:00.000Z"),
    Field("updated_at", MOMENT, "When it was changed, deactivated or activated last.", "2026-01-31T08:00:00.000Z"),
    WARNINGS_FIELD,
)  # fmt: skip
PAYMENT_LINKS_PAGE = page_of(PAYMENT_LINK, "A page of payment links, newest first.")

CHECKOUT_CUSTOMER = Answer(
    "CheckoutCustomer",
    "What the payer entered.",
    Field("name", TEXT, "Full name.", "Ada Obi", omit=EMPTY),
    Field("email", TEXT, "E-mail address.", "ada@example.com", omit=EMPTY),
    Field("phone", TEXT, "Phone number.", "08031234567", omit=EMPTY),
)  # fmt: skip
CHECKOUT = Answer(
    "Checkout",
    "One payer at one link: who pays how much, and how often they tried.",
    Field("id", UUID, "Our identifier of the checkout.", "01980a5e-aba0-7c00-8000-000000000007", "checkout.pk"),
    Field("payment_link_id", UUID, "The link.", PAYMENT_LINK["id"].example, "checkout.link_id"),
    Field("status", one_of(Checkout.State.values), "`paid` is final; `closed`: over without a payment.", value=lambda shown: str(shown.state)),
    Field("amount", MINOR_UNITS, "Total, minor units.", 1_500_000, "checkout.amount"),
    Field("quantity", POSITION, "Units.", 1, "checkout.quantity"),
    Field("currency", CURRENCY_FIELD.type, "ISO 4217.", "NGN", "checkout.currency"),
    Field("customer", CHECKOUT_CUSTOMER, "What the payer entered, until it is erased.", value=_has_name_or_email, omit=NONE),
    Field("answers", OBJECT, "Answers to your questions, by `key`.", {"size": "M"}, "checkout.answers"),
    Field("attempts", COUNT, "Payments begun so far.", 2),
    Field("payment_reference", REFERENCE, "The payment that succeeded, else the last one. Absent before the first.", "pl_01980a5eb3707c008000000000000008", omit=EMPTY),
    Field("created_at", MOMENT, "When it was begun.", "2026-01-31T09:00:00.000Z", "checkout.created_at"),
)  # fmt: skip
CHECKOUTS_PAGE = page_of(CHECKOUT, "A page of checkouts, newest first.")

represent_link: Callable[[PaymentLink], dict[str, Any]] = PAYMENT_LINK.represent
represent_checkout: Callable[[CheckoutWithAttempts], dict[str, Any]] = CHECKOUT.represent
