"""The panels of the administration's first page."""

import re
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from operations.administration import day_panels
from payments.models import RailBlock, RailSilence, Transaction
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff():
    return signed_in(UserFactory(is_staff=True, is_superuser=True))


def panel(browser, name):
    """Return the texts of the lines of a panel."""
    text = browser.get("/admin/").content.decode().partition(f'id="{name}"')[2].partition("</section>")[0]
    lines = re.findall(r'<a class="related__item".*?</a>', text, re.DOTALL)
    return [" | ".join(filter(None, re.split(r"\s*<[^>]+>\s*", line))) for line in lines]


class TestToday:
    def test_adds_what_succeeded_today(self, staff, api):
        for amount in (100_000, 50_000):
            api.post("/api/payments", orders.card_payment(amount=amount))
        api.post("/api/payments", orders.card_payment(amount=10_051))

        payments, payouts, ledger = panel(staff, "today")

        assert payments == "3 payments | NGN 1,500.00, 66.7% succeeded"
        assert payouts == "0 payouts | None since midnight"
        assert ledger == "Ledger | Sums to zero, as of now | Clean"

    def test_leaves_out_earlier_days(self, staff, ada):
        captured_payment(business=ada.business, now=timezone.now() - timedelta(days=1))

        assert panel(staff, "today")[0] == "0 payments | None since midnight"

    def test_adds_nothing_on_a_day_with_very_many(self, staff, api, monkeypatch):
        monkeypatch.setattr(day_panels, "COUNTED", 1)
        for _ in range(2):
            api.post("/api/payments", orders.card_payment())

        assert panel(staff, "today")[0] == "Payments | More than 1 transactions since midnight"


class TestConnectors:
    def test_that_is_blocked_says_why(self, staff):
        now = timezone.now()
        RailBlock.objects.create(
            id=uuid.uuid4(), connector="paystack", account="paystack:1", reason="No balance", since=now, probed_at=now,
        )  # fmt: skip

        (blocked,) = [line for line in panel(staff, "rails") if line.startswith("Paystack")]

        assert re.fullmatch(r"Paystack \| Since .+: No balance \| Blocked", blocked)

    def test_that_does_not_respond_says_since_when(self, staff, settings):
        now = timezone.now()
        RailSilence.objects.create(lane=f"cards:{settings.CARD_ACQUIRER}", since=now, probed_at=now)

        (silent,) = [line for line in panel(staff, "rails") if "Not responding" in line]

        assert silent.startswith(f"{settings.CARD_ACQUIRER.capitalize()} | No response since ")

    def test_that_works_has_no_open_unknowns(self, staff):
        assert {line.partition(" | ")[2] for line in panel(staff, "rails")} == {"No open unknowns | Working"}


def test_panels_take_eight_queries_for_any_number_of_rows(ada):
    for _ in range(3):
        captured_payment(business=ada.business, now=timezone.now())
    assert Transaction.objects.count() == 3

    with CaptureQueriesContext(connection) as made:
        list(day_panels.today(now=timezone.now()))
        list(day_panels.connectors())

    assert len(made) <= 8
