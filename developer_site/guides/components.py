"""The page that shows every component in every state: for screenshots, and for those who build pages. Sandbox only."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.ui.components.timeline import BAD, GOOD, PLAIN, WAIT, Moment
from merchants.people.access import public_page
from payments.rules.words.status_names import STATUS_NAMES
from webhooks.models import Delivery

# Blocks of whole pages, which are of no use beside others, and those that `base.html` loads.
WHOLE_PAGES = frozenset({"admin", "door", "frame", "payer", "reference"})
BASE = frozenset(
    {"tokens", "shapes", "base", "layout", "button", "callout", "brand", "page", "page-header", "card"}
)

PAYMENTS = (
    (1_850_000, "success", "Amaka Nwosu", "Transfer from Zenith Bank", "ORD-10501"),
    (6_400_000, "authorised", "Funmilayo Adéọlá", "Mastercard •••• 2206", "ORD-10500"),
    (450_000, "failed", "Halima Abdullahi with a name that is longer than its column on a phone", "Visa •••• 5408", "ORD-10497"),
)  # fmt: skip


@public_page
def components_page(request: HttpRequest) -> HttpResponse:
    """Show every component. The page exists only in the sandbox."""
    if not settings.SANDBOX:
        raise Http404
    return render(request, "docs/components.html", _samples())


def _samples() -> dict[str, Any]:
    rows = [
        SimpleNamespace(amount=amount, status=status, label=STATUS_NAMES.get(status, "Authorised"), name=name, method=method, reference=reference)
        for amount, status, name, method, reference in PAYMENTS
    ]  # fmt: skip
    return {
        "blocks": [f"css/{name}.css" for name in _blocks()],
        "payment_statuses": STATUS_NAMES.items(),
        "delivery_statuses": Delivery.STATE_NAMES.items(),
        "rows": rows,
        "page": SimpleNamespace(newer="", older="#tables"),
        "moments": _moments(),
    }


def _blocks() -> list[str]:
    names = sorted(path.stem for path in (Path(settings.BASE_DIR) / "static" / "css").glob("*.css"))
    return [name for name in names if name not in WHOLE_PAGES | BASE]


def _moments() -> list[Moment]:
    at = datetime(2026, 11, 22, 20, 58, tzinfo=UTC)
    return [
        Moment(at=at, title="Account number 9018274650 shown to the payer", text="Wema Bank, open for 30 minutes.", mark=PLAIN),
        Moment(at=at + timedelta(minutes=8), title="Payment succeeded", mark=GOOD,
               lines=[("Owed to you", "+48,200.00"), ("Fee", "+300.00"), ("Received by Wema Bank", "−48,500.00")]),  # noqa: RUF001  (a minus)
        Moment(at=at + timedelta(minutes=9), title="payment.success not delivered", text="Last response: 500 Internal Server Error.",
               mark=BAD, address="#timeline"),
        Moment(at=at + timedelta(days=4000), title="Final webhook attempt", mark=WAIT, address="#timeline", is_planned=True),
    ]  # fmt: skip
