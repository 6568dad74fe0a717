"""What the sandbox page shows about a step and the calls that were made: code samples, objects and deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.urls import reverse

from dashboard.sandbox.playing import Exchange, Place, title_of
from dashboard.transactions.detail.detail_page import address_of
from kit.files import bounded_json
from kit.text.ids import read_id
from merchants.models import Business
from payments.models import CardOperation, Transaction
from payments.rules.code_samples import SampleCall, sample
from payments.services.events.event_subjects import outcomes_of_transaction
from webhooks.models import Delivery

LANGUAGES = {"curl": "curl", "python": "Python", "node": "Node"}


@dataclass(frozen=True, slots=True)
class Sample:
    id: str
    language: str
    code: str


@dataclass(frozen=True, slots=True)
class StepShown:
    """A step in the list of steps: what it does, and its answer if it was just played."""

    title: str
    is_done: bool
    is_current: bool
    exchange: Exchange | None


@dataclass(frozen=True, slots=True)
class Made:
    """The object that calls made or changed, with a link to it."""

    name: str
    link: str
    transaction: Transaction | None


def samples(place: Place, text: str) -> list[Sample]:
    """Return the call in each language. Empty if the payer makes it, or if its body is not a JSON object."""
    if place.step.payer:
        return []
    try:
        body = bounded_json.loads(text) if text else None
    except ValueError:
        return []
    if text and not isinstance(body, dict):
        return []
    made = SampleCall(place.step.method, place.target, body)
    return [Sample(id, name, sample(made, id, is_sandbox=settings.SANDBOX)) for id, name in LANGUAGES.items()]


def steps_of(place: Place, exchanges: Sequence[Exchange]) -> list[StepShown]:
    """Return all steps of the scenario. Those before the current one are done."""
    played = {exchange.place.number: exchange for exchange in exchanges}
    return [
        StepShown(title_of(step), number < place.number, number == place.number, played.get(number))
        for number, step in enumerate(place.scenario.steps)
    ]


def made_by(business: Business, exchanges: Sequence[Exchange]) -> Made | None:
    """Return the refund of the last answer, or the payment or payout that the calls are about."""
    refund = _refund(business, exchanges[-1].call.document)
    if refund:
        link = reverse("dashboard-refund", args=[refund.pk])
        return Made("refund", link, refund.transaction)
    transactions = _transactions(business, exchanges)
    if not transactions:
        return None
    last = transactions[-1]
    return Made(last.request_type.replace("_", " "), address_of(last), last)


def deliveries_of(business: Business, exchanges: Sequence[Exchange]) -> list[Delivery]:
    """Return the deliveries about the payments and payouts of the calls, in the order of their events."""
    outcomes = [
        outcome for each in _transactions(business, exchanges) for outcome in outcomes_of_transaction(each.pk)
    ]
    return list(Delivery.objects.filter(business=business, subject__in=outcomes).order_by("created_at"))


def _transactions(business: Business, exchanges: Sequence[Exchange]) -> list[Transaction]:
    documents = [exchange.call.document for exchange in exchanges]
    known = exchanges[-1].place.known
    references = [value for name, value in known.items() if name.endswith(".reference")]
    references += [str(each["payment_reference"]) for each in documents if "payment_reference" in each]
    ids = [found for each in documents if (found := _id(each))]
    wanted = Q(pk__in=ids) | Q(reference__in=references)
    return list(Transaction.objects.of(business).filter(wanted).order_by("pk"))


def _refund(business: Business, document: dict[str, Any]) -> CardOperation | None:
    refund_id = _id(document) if "payment_reference" in document else None
    refunds = CardOperation.objects.filter(business=business, kind=CardOperation.Kind.REFUND)
    return refunds.select_related("transaction").filter(pk=refund_id).first() if refund_id else None


def _id(document: dict[str, Any]) -> UUID | None:
    return read_id(str(document.get("id", "")))
