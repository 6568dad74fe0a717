"""No page makes more than twelve queries or exceeds 60 KB. benchmarks/pages.py measures the time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from payments.models import DayTotals, RolledDay, SettlementBatch, Transaction
from payments.services.reporting import daily_totals
from tests import orders
from tests.settling import settle
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_endpoint
from tests.weighing import weigh
from virtual_accounts.models import VirtualAccount
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db

QUERIES = 12
PAGE = 60_000  # bytes without htmx
SCRIPTS = 15_000
ROWS = 30  # more than a list shows

PAGES = {
    "overview": "/dashboard/",
    "overview of 90 days": "/dashboard/?days=90",
    "payments": "/dashboard/payments/",
    "failed payments": "/dashboard/payments/?status=failed",
    "a search": "/dashboard/payments/?q=4081",
    "payment": "/dashboard/payments/{payment}/",
    "authorised payment": "/dashboard/payments/{authorised}/",
    "payouts": "/dashboard/payouts/",
    "payout": "/dashboard/payouts/{payout}/",
    "webhooks": "/dashboard/webhooks/",
    "deliveries": "/dashboard/webhooks/deliveries/",
    "delivery": "/dashboard/webhooks/deliveries/{delivery}/",
    "virtual accounts": "/dashboard/virtual-accounts/",
    "virtual account": "/dashboard/virtual-accounts/{account}/",
    "unapplied money": "/dashboard/virtual-accounts/unapplied/",
    "settlements": "/dashboard/settlements/",
    "settlement": "/dashboard/settlements/{batch}/",
    "balance": "/dashboard/balance/",
    "keys": "/dashboard/developers/",
    "requests": "/dashboard/developers/requests/",
    "team": "/dashboard/team/",
    "activity": "/dashboard/activity/",
    "sandbox": "/dashboard/sandbox/",
}


@pytest.fixture
def busy(ada):
    """A business with much activity and large numbers."""
    now, business = timezone.now(), ada.business
    make_endpoint(business=business)
    mismatched_money(business=business, now=now)
    for number in range(ROWS):
        captured_payment(business=business, now=now, amount=9_876_543_210, customer=customer(number))
        start(
            orders.card_payment(source=orders.card_source(pan=orders.DECLINED_CARD)),
            business=business,
            now=now,
        )
        start(orders.payout(), business=business, now=now)
        fill_wallet(business, 9_876_543)
    challenged_payment(business=business, now=now)
    authorised_payment(business=business, now=now - timedelta(days=2))
    settle()
    count_days(business, now=now)
    for delivery in Delivery.objects.filter(business=business):
        Attempt.objects.bulk_create(
            Attempt(delivery=delivery, number=number, started_at=now, total_ms=12.5, status=500, error="server_error",
                    explanation="The endpoint answered 500.")
            for number in range(1, 4)
        )  # fmt: skip
    return business


def customer(number):
    name, email = f"Adaeze Chukwuemeka Obi {number}", f"adaeze.obi.{number}@mail.example.com"
    return {"reference": f"customer-{number}", "name": name, "email": email}


def count_days(business, *, now):
    """Add daily totals of 90 days with payments by both methods."""
    for _ in daily_totals.roll_up(now=now):
        pass
    DayTotals.objects.all().delete()
    alike = {"request_type": "payment", "status": "success", "currency": "NGN", "response_code": "10000"}
    volumes = {"card": 9_876_543_210, "virtual_account": 1_234_567_890}
    DayTotals.objects.bulk_create(
        DayTotals(
            business=business,
            day=rolled,
            tallies=[
                {**alike, "method": method, "count": 9_999, "volume": volume}
                for method, volume in volumes.items()
            ],
            unfinished=[
                str(each)
                for each in Transaction.objects.filter(status="pending").values_list("pk", flat=True)
            ],
        )
        for rolled in RolledDay.objects.all()
    )


@pytest.fixture
def address(busy):
    """Return the URL of a page, with its parameters filled in."""
    some = {
        "payment": Transaction.objects.filter(status="success", method="card").last().pk,
        "authorised": Transaction.objects.get(awaiting="capture").pk,
        "payout": Transaction.objects.filter(request_type="payout").last().pk,
        "delivery": Delivery.objects.last().pk,
        "account": VirtualAccount.objects.get().pk,
        "batch": SettlementBatch.objects.get().pk,
    }
    return lambda page: PAGES[page].format(**some)


def test_every_page_stays_within_its_budget(browser, address, django_assert_max_num_queries):
    def read(address):
        return browser.get(address).getvalue()

    for page in PAGES:
        with django_assert_max_num_queries(QUERIES):
            answer = browser.get(address(page))
        document = answer.content.decode()
        weight = weigh(document, read)

        assert answer.status_code == 200, page
        assert weight.page <= PAGE, (page, weight)
        assert 0 < weight.scripts <= SCRIPTS, (page, weight)
        assert bool(weight.htmx) == ("data-poll" in document), page
        assert "data-copy" not in document or "js/copy." in document, page
