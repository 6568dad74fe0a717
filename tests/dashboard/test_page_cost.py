"""No page makes more than twelve queries or exceeds 60 KB. benchmarks/pages.py measures the time."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.urls import resolve
from django.utils import timezone

from config import access_rules
from dashboard.models import SavedView
from dashboard.tasks import index_search
from merchants.audit import Actor
from merchants.models import ApiKey, ApiRequest, Member
from payments.models import CardOperation, CountedDay, HourlyTotals, SettlementBatch, Transaction
from payments.services import refunds
from payments.services.receiver_exams import examine_endpoint
from payments.services.reporting import daily_totals
from tests import orders
from tests.links import begin, link_of, pay_by_card, pay_by_transfer
from tests.query_counts import at_most
from tests.settling import settle
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_endpoint
from tests.weighing import weigh
from virtual_accounts.models import UnappliedMoney, VirtualAccount
from webhooks import exams
from webhooks.exam import ExamAnswer
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
    "exam": "/dashboard/webhooks/exam/",
    "payment links": "/dashboard/payment-links/",
    "payment link": "/dashboard/payment-links/{link}/",
    "checkouts": "/dashboard/payment-links/{link}/checkouts/",
    "waiting transfers": "/dashboard/payment-links/{link}/attempts/",
    "end an attempt": "/dashboard/payment-links/{link}/attempts/{attempt}/end/",
    "poster": "/dashboard/payment-links/{link}/poster/",
    "new payment link": "/dashboard/payment-links/new/",
    "edit link": "/dashboard/payment-links/{link}/edit/",
    "deactivate link": "/dashboard/payment-links/{link}/deactivate/",
    "activate link": "/dashboard/payment-links/{link}/activate/",
    "virtual accounts": "/dashboard/virtual-accounts/",
    "virtual account": "/dashboard/virtual-accounts/{account}/",
    "unapplied money": "/dashboard/virtual-accounts/unapplied/",
    "settlements": "/dashboard/settlements/",
    "settlement": "/dashboard/settlements/{batch}/",
    "balance": "/dashboard/balance/",
    "search": "/dashboard/search/?q=ada",
    "keys": "/dashboard/developers/",
    "requests": "/dashboard/developers/requests/",
    "team": "/dashboard/team/",
    "settings": "/dashboard/settings/",
    "activity": "/dashboard/activity/",
    "sandbox": "/dashboard/sandbox/",
    "capture": "/dashboard/payments/{authorised}/capture/",
    "void": "/dashboard/payments/{authorised}/void/",
    "cancel": "/dashboard/payments/{challenged}/cancel/",
    "refund": "/dashboard/payments/{payment}/refund/",
    "a refund": "/dashboard/refunds/{refund}/",
    "new payout": "/dashboard/payouts/new/",
    "rotate signing key": "/dashboard/webhooks/rotate/",
    "resend deliveries": "/dashboard/webhooks/replay/",
    "new key": "/dashboard/developers/keys/new/",
    "rotate key": "/dashboard/developers/keys/{key}/rotate/",
    "revoke key": "/dashboard/developers/keys/{key}/revoke/",
    "signature": "/dashboard/developers/signature/",
    "invite": "/dashboard/team/invite/",
    "member": "/dashboard/team/{member}/",
    "saved view": "/dashboard/views/{view}/",
    "new virtual account": "/dashboard/virtual-accounts/new/",
    "unapplied transfer": "/dashboard/virtual-accounts/unapplied/{unapplied}/",
    "deactivate account": "/dashboard/virtual-accounts/{account}/deactivate/",
}

NO_PAGES = {
    "dashboard",  # only redirects
    "dashboard/payment-links/<uuid:link_id>/qr.svg",
    "dashboard/payment-links/<uuid:link_id>/qr.png",
}
NOT_OF_MEMBERS = {"dashboard/invitation/<str:token>/"}  # seen by a person who isn't a member yet


@pytest.fixture
def busy(ada):
    """A business with much activity and large numbers."""
    now, business = timezone.now(), ada.business
    ApiKey.objects.filter(pk=ada.pk).update(last_used_at=now)
    make_endpoint(business=business)
    mismatched_money(business=business, now=now)
    payers_at(link_of(business, now=now, amount=9_876_543_210))
    for number in range(ROWS):
        captured_payment(business=business, now=now, amount=9_876_543_210, customer=customer(number))
        start(
            orders.card_payment(source=orders.card_source(pan=orders.DECLINED_CARD)),
            business=business,
            now=now,
        )
        start(orders.payout(), business=business, now=now)
        fill_wallet(business, 9_876_543)
        link_of(
            business,
            now=now,
            title="Bookbinding workshop in Yaba, two days with all the material",
            amount=9_876_543_210,
        )
    challenged_payment(business=business, now=now)
    authorised_payment(business=business, now=now - timedelta(days=2))
    refunded = captured_payment(business=business, now=now, amount=9_876_543_210, reference="refunded-1")
    refunds.refund(transaction=refunded, request={"reference": "refund-1", "amount": 1_000}, now=now)
    settle()
    index_search()
    count_days(business, now=now)
    for delivery in Delivery.objects.filter(business=business):
        Attempt.objects.bulk_create(
            Attempt(delivery=delivery, number=number, started_at=now, total_ms=12.5, status=500, error="server_error",
                    explanation="The endpoint answered 500.")
            for number in range(1, 4)
        )  # fmt: skip
    exam = examine_endpoint(business, actor=Actor(name="test"), now=now)
    crashed = {request.number: ExamAnswer(500, "", 12.5) for request in exam.all_requests}
    exams.finish(exam.pk, crashed | {number: ExamAnswer(204, "", 12.5) for number in range(1, 6)}, now=now)
    delivered = Delivery.objects.filter(business=business).first()
    Delivery.objects.filter(pk=delivered.pk).update(state="delivered", delivered_at=now, next_attempt_at=None)
    return business


def payers_at(link):
    """Fill the page of a link: payments by both methods, transfers that wait, and answers to a question."""
    for number in range(ROWS):
        name = f"Adaeze Chukwuemeka Obi {number}"
        checkout = begin(link, name=name, answers={"size": "Extra large"}, network=f"192.0.2.{number}")
        pay_by_transfer(checkout) if number % 2 else pay_by_card(checkout)


def refund_of(business):
    """Return a refund that a settlement contains, with its event and the request that made it."""
    found = CardOperation.objects.get(business=business, reference="refund-1")
    call = {"status": 201, "milliseconds": 5, "at": found.created_at, "object_kind": "refund"}
    ApiRequest.objects.create(
        business=business, key="pk", request_id="r", method="POST", target="/api", object_id=found.pk, **call
    )
    return found


def customer(number):
    name, email = f"Adaeze Chukwuemeka Obi {number}", f"adaeze.obi.{number}@mail.example.com"
    return {"reference": f"customer-{number}", "name": name, "email": email}


def count_days(business, *, now):
    """Add daily totals of 90 days with payments by both methods."""
    for _ in daily_totals.roll_up(now=now):
        pass
    HourlyTotals.objects.all().delete()
    alike = {"request_type": "payment", "status": "success", "currency": "NGN", "response_code": "10000"}
    volumes = {"card": 9_876_543_210, "virtual_account": 1_234_567_890}
    HourlyTotals.objects.bulk_create(
        HourlyTotals(
            business=business,
            day=rolled,
            tallies=[
                {**alike, "method": method, "counts": [9_999] * 24, "volumes": [volume] * 24}
                for method, volume in volumes.items()
            ],
            unfinished=[
                str(each)
                for each in Transaction.objects.filter(status="pending").values_list("pk", flat=True)
            ],
        )
        for rolled in CountedDay.objects.all()
    )


@pytest.fixture
def address(busy):
    """Return the URL of a page, with its parameters filled in."""
    attempt = Transaction.objects.filter(payment_link__isnull=False, awaiting="transfer").latest("id")
    some = {
        "payment": Transaction.objects.filter(status="success", method="card", payment_link=None).last().pk,
        "refund": refund_of(busy).pk,
        "authorised": Transaction.objects.get(awaiting="capture").pk,
        "payout": Transaction.objects.filter(request_type="payout").last().pk,
        "delivery": Delivery.objects.last().pk,
        "link": attempt.payment_link_id,
        "attempt": attempt.pk,
        "account": VirtualAccount.objects.latest("created_at").pk,
        "batch": SettlementBatch.objects.get().pk,
        "challenged": Transaction.objects.get(awaiting="payer").pk,
        "key": ApiKey.objects.filter(business=busy).first().pk,
        "member": Member.objects.filter(business=busy).first().pk,
        "view": SavedView.objects.create(
            member=Member.objects.filter(business=busy).first(),
            list="payments",
            name="Failed",
            created_at=timezone.now(),
        ).pk,
        "unapplied": UnappliedMoney.objects.first().pk,
    }
    return lambda page: PAGES[page].format(**some)


def test_every_page_stays_within_its_budget(browser, address):
    def read(address):
        return browser.get(address).getvalue()

    for page in PAGES:
        with at_most(QUERIES):
            answer = browser.get(address(page))
        document = answer.content.decode()
        weight = weigh(document, read)

        assert answer.status_code == 200, page
        assert weight.page <= PAGE, (page, weight)
        assert 0 < weight.scripts <= SCRIPTS, (page, weight)
        assert bool(weight.htmx) == ("data-poll" in document), page
        assert "data-copy" not in document or "js/copy." in document, page


def test_overview_stays_within_its_budget_with_first_steps_and_everything_to_do(browser, busy, settings):
    settings.SANDBOX = True
    now = timezone.now()
    ApiKey.objects.filter(business=busy).update(last_used_at=None, expires_at=now + timedelta(days=3))
    Delivery.objects.filter(business=busy, state="delivered").update(
        state="held", held_at=now, delivered_at=None
    )
    Transaction.objects.filter(awaiting="capture").update(expires_at=now + timedelta(hours=5))

    document = browser.get("/dashboard/").content.decode()
    weight = weigh(document, lambda address: browser.get(address).getvalue())

    assert "First steps" in document
    assert document.count('class="todo"') == 6
    assert weight.page <= PAGE, weight


def test_every_page_of_the_dashboard_is_listed():
    pages = {
        route
        for route, address in access_rules.OF_MEMBERS.items()
        if address.readers is not None and "<file_type:" not in route
    }
    listed = {resolve(filled_with_any_ids(path)).route for path in PAGES.values()}

    assert pages - listed - NO_PAGES - NOT_OF_MEMBERS == set()


def filled_with_any_ids(path):
    """Return a path without its query, with ids that suit its route."""
    path = path.partition("?")[0]
    numbers = dict.fromkeys(["key", "member", "view"], 1)
    names = re.findall(r"{(\w+)}", path)
    return path.format(**{name: numbers.get(name, UUID(int=0)) for name in names})
