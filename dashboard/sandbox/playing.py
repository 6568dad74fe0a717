"""Play scenarios: one step, or all that are left. Later steps use values of earlier answers.

Nothing is stored. The values that later steps need are in the page's address: references, identifiers and account
numbers. The address of a payer's page is looked up, because it is a credential.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from dashboard.sandbox.api_calls import Call, answer_as_payer, call
from kit.api.fields.strict_fields import REFERENCE
from merchants.models import ApiKey, Business
from payments.models import Transaction
from payments.sandbox.scenario_steps import Step
from payments.sandbox.scenarios import Scenario, scenarios

PLACEHOLDER = re.compile(r"\{\{([a-z0-9_.]+)\}\}")
VALUE = re.compile(REFERENCE)
NEW, PAYER_PAGE, PAYMENT = "new", "pay.redirect_link", "pay.reference"
# The steps in words. Others are their own words.
TITLES = {
    "pay": "Create the payment",
    "payout": "Create the payout",
    "check": "Check the card",
    "batch": "Create the batch",
    "account": "Create the virtual account",
    "arrive": "A transfer arrives",
    "again": "A second transfer arrives",
    "capture": "Capture the payment",
    "void": "Void the payment",
    "cancel": "Cancel the payment",
    "refund": "Refund the payment",
    "advance": "Advance the clock",
    "evidence": "Add evidence to the dispute",
    "submit": "Submit the answer",
    "accept": "Accept the dispute",
    "decide": "Advance the clock again",
    "found": "Find the new payment",
    "result": "Look up the payment",
}
PAYER_TITLES = {"approve": "The payer enters the code", "decline": "The payer declines"}


@dataclass(frozen=True)
class Place:
    """A step of a scenario, with the values of earlier answers that it and later steps need."""

    scenario: Scenario
    number: int  # of the step, from 0
    known: Mapping[str, str]

    @property
    def step(self) -> Step:
        return self.scenario.steps[self.number]

    @property
    def query(self) -> str:
        """Return the query of this step's page."""
        step = {"step": self.step.id} if self.number else {}
        return urlencode({"scenario": self.scenario.name} | step | dict(self.known))

    @property
    def is_last(self) -> bool:
        return self.number == len(self.scenario.steps) - 1

    def after(self, document: Mapping[str, Any]) -> Place | None:
        """Return the next step, after the answer to this one. None if it is the last, or the answer lacks a value."""
        if self.is_last:
            return None
        prefix = f"{self.step.id}."
        new = {
            name: text
            for name in _needed(*self.scenario.steps)
            if name.startswith(prefix) and (text := _value(document, name.removeprefix(prefix)))
        }
        return _complete(Place(self.scenario, self.number + 1, {**self.known, **new}))

    @cached_property
    def body(self) -> str:
        """Return the JSON body with a new reference. Empty if the step has none."""
        if self.step.body is None or self.step.payer:
            return ""
        return json.dumps(self._filled(self.step.body), indent=2, ensure_ascii=False)

    @property
    def target(self) -> str:
        """Return the target of a signed call."""
        return str(self._filled(self.step.path))

    def _filled(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        return PLACEHOLDER.sub(self._fill, value) if isinstance(value, str) else value

    def _fill(self, found: re.Match[str]) -> str:
        return _new_reference() if found[1] == NEW else self.known[found[1]]


@dataclass(frozen=True)
class Exchange:
    """A step that was played."""

    place: Place
    call: Call

    @property
    def title(self) -> str:
        return title_of(self.place.step)

    @property
    def is_as_expected(self) -> bool:
        expected, document = self.place.step.expect, self.call.document
        found = (self.call.http_status, document.get("status", ""), document.get("response_code", ""))
        wanted = (expected.http_status, expected.status, expected.response_code)
        return all(want in ("", got) for want, got in zip(wanted, found, strict=True))


def find_place(query: Mapping[str, str]) -> Place:
    """Return the place that a query names, or the beginning of its scenario, or that of the first one."""
    by_name = {each.name: each for each in scenarios()}
    scenario = by_name.get(query.get("scenario", ""), scenarios()[0])
    known = {name: query[name] for name in _needed(*scenario.steps) if VALUE.fullmatch(query.get(name, ""))}
    ids = [step.id for step in scenario.steps]
    number = ids.index(query["step"]) if query.get("step") in ids else 0
    wanted = _complete(Place(scenario, number, known)) if number else None
    return wanted or Place(scenario, 0, {})


def play(place: Place, *, key: ApiKey, body: str, to_the_end: bool) -> Iterator[Exchange]:
    """Play a step with this body, then those that are left, until one ends differently than the scenario says."""
    while True:
        exchange = Exchange(place, _send(place, key=key, body=body))
        yield exchange
        following = place.after(exchange.call.document)
        if not (to_the_end and exchange.is_as_expected and following):
            return
        place, body = following, following.body


def title_of(step: Step) -> str:
    if step.payer:
        return PAYER_TITLES[step.payer] if step.id == "payer" else "The payer enters a wrong code"
    return TITLES.get(step.id) or step.id.replace("_", " ").capitalize()


def payer_page(business: Business, place: Place) -> str:
    """Return the path of the open 3-D Secure page of the scenario's payment, or an empty text."""
    waiting = Transaction.objects.of(business).filter(reference=place.known.get(PAYMENT, ""))
    payment = waiting.filter(awaiting=Transaction.Awaiting.PAYER).select_related("challenge").first()
    return f"/3ds/{payment.challenge.token}" if payment else ""


def _send(place: Place, *, key: ApiKey, body: str) -> Call:
    if not place.step.payer:
        return call(key=key, method=place.step.method, target=place.target, body=body)
    target = payer_page(key.business, place)
    if target:
        return answer_as_payer(target=target, form=place.step.body or {})
    return Call(
        string_to_sign="",
        request="",
        http_status=HTTPStatus.NOT_FOUND,
        milliseconds=0,
        response="The payment has no open 3-D Secure page.",
        document={},
    )


def _needed(*steps: Step) -> list[str]:
    """Return the names of the values that steps take from earlier answers."""
    text = " ".join(f"{step.path} {json.dumps(step.body, default=dict)}" for step in steps)
    names = dict.fromkeys(PLACEHOLDER.findall(text))
    if PAYER_PAGE in names:
        names[PAYMENT] = None
    return [name for name in names if name not in (NEW, PAYER_PAGE)]


def _complete(place: Place) -> Place | None:
    """Return a place that has all values that its step needs, or None."""
    return place if set(_needed(place.step)) <= set(place.known) else None


def _value(document: Mapping[str, Any], path: str) -> str:
    """Return a value of an answer as text, or an empty one if it isn't there or can't be part of an address."""
    found: Any = document
    for name in path.split("."):
        if isinstance(found, list):
            found = found[int(name)] if name.isdecimal() and int(name) < len(found) else None
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) and VALUE.fullmatch(found) else ""


def _new_reference() -> str:
    return f"try-{secrets.token_hex(5)}"
