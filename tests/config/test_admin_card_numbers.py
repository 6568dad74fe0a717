"""A card number entered into any field of the admin is never stored."""

from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import transaction
from django.urls import reverse

from merchants.models import Business
from payments.models import Transaction
from tests import orders
from tests.config.test_admin import MODELS, everything, late_money, staff  # noqa: F401  (fixtures)
from tests.config.test_card_numbers_at_rest import MASKED, NUMBER, SPELLINGS, stored_text

pytestmark = [pytest.mark.django_db, pytest.mark.long]

# Values of the other fields, so that the rest of a form is valid.
VALID = {
    "reason": "A reason",
    "evidence": "A call",
    "note": "A note",
    "name": "A name",
    "currency": "NGN",
    "amount": "5.00",
    "time_zone": "Africa/Lagos",
}
KEPT = {"csrfmiddlewaretoken"}
# Free text that is known to be stored: the test must reach at least these fields.
REACHED = {
    "ledger.Entry note", "merchants.Business name", "merchants.Business reason", "merchants.User reason",
    "auth.Group name", "payments.PayoutReturn reason", "payments.Transaction evidence",
    "payments.SettlementBatch reason", "payments.PaymentLink reason", "virtual_accounts.UnappliedMoney reason",
    "virtual_accounts.UnclaimedTransfer reason",
}  # fmt: skip


class Forms(HTMLParser):
    """The forms of a page: their targets, values, and text fields."""

    def __init__(self, page, address):
        super().__init__()
        self.address, self.found, self._select, self._textarea = address, [], None, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form" and (given.get("method") or "").lower() == "post":
            target = urljoin(self.address, given.get("action") or "")
            self.found.append({"target": target, "values": {}, "typed": set(), "buttons": []})
        if not self.found:
            return
        form, name = self.found[-1], given.get("name")
        if tag == "select" and name:
            self._select = name
            form["values"].setdefault(name, "")
        elif tag == "option" and self._select and given.get("value"):
            if "selected" in given or not form["values"][self._select]:
                form["values"][self._select] = given["value"]
        elif tag == "textarea" and name:
            self._textarea = name
            form["values"][name] = ""
            form["typed"].add(name)
        elif tag in {"input", "button"} and name:
            self._field(form, tag, name, given)

    def _field(self, form, tag, name, given):
        kind = given.get("type", "text")
        if tag == "button" or kind == "submit":
            target = urljoin(self.address, given["formaction"]) if given.get("formaction") else form["target"]
            form["buttons"].append((target, name, given.get("value", "")))
        elif kind in {"checkbox", "radio"}:
            if "checked" in given or kind == "radio":
                form["values"].setdefault(name, given.get("value", "on"))
        else:
            form["values"][name] = given.get("value") or ("5" if kind == "number" else "")
            if kind != "number" and name not in KEPT and not name.endswith("_FORMS"):
                form["typed"].add(name)

    def handle_data(self, data):
        if self._textarea and self.found:
            self.found[-1]["values"][self._textarea] += data.strip()

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._textarea = None
        if tag == "select":
            self._select = None


def pages_of(model):
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    yield reverse(f"{name}_add")
    for row in model.objects.order_by("-pk")[:3]:
        yield reverse(f"{name}_change", args=[row.pk])


def posts_of(form, chosen):
    """Yield the forms to post: a card number in each field in turn, then spelled otherwise in all, with each button.

    The form of a review's page posts the same fields without the button that asks for the review.
    """
    valid = {name: chosen.get(name, value) or VALID.get(name, "") for name, value in form["values"].items()}
    buttons = form["buttons"] or [(form["target"], "", "")]
    reviewed = [(target, "", "") for target, button, _ in buttons if button == "_review"]
    for target, button, value in [*buttons, *reviewed]:
        pressed = {button: value} if button else {}
        for name in sorted(form["typed"]):
            yield target, name, valid | {name: f"A {NUMBER}" if name in VALID else NUMBER} | pressed
        yield target, "*", valid | dict.fromkeys(form["typed"], SPELLINGS[-1]) | pressed


@pytest.mark.parametrize("four_eyes", [False, True])
def test_card_number_in_any_field_is_stored_nowhere(staff, api, everything, settings, four_eyes):  # noqa: F811
    settings.FOUR_EYES = four_eyes
    Business.objects.update(name="Ada Books")  # a stored one could not be entered again
    api.post("/api/payments", orders.card_payment(amount=10_098))  # a payment with an unknown outcome
    api.post("/api/payments", orders.payout(reference="payout-2"))
    payout = Transaction.objects.get(reference="payout-2")
    chosen = {"business": str(payout.business_id), "payout": str(payout.pk), "transaction": str(payout.pk)}
    stored = set()
    for label in MODELS:
        for address in pages_of(apps.get_model(label)):
            page = staff.get(address)
            if page.status_code != 200:
                continue
            for form in Forms(page.content.decode(), address).found:
                for target, name, data in posts_of(form, chosen):
                    if not target.startswith("/admin/") or target.startswith("/admin/logout"):
                        continue
                    with transaction.atomic():
                        answer = staff.post(target, data)
                        text = stored_text()
                        transaction.set_rollback(True)
                    stored |= {f"{label} {name}"} if MASKED in text else set()
                    assert answer.status_code < 500, (label, target, name)
                    assert not [each for each in SPELLINGS if each in text], (label, target, name)

    assert stored >= REACHED
    assert len(admin.site._registry) == len(MODELS)
