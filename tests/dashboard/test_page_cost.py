"""No page makes more than twelve queries or exceeds 60 KB. benchmarks/pages.py measures the time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dashboard.models import SavedView
from dashboard.tasks import index_search
from disputes.models import Dispute
from merchants.models import ApiKey, ApiRequest, Member
from merchants.people.audit import Actor
from payments.models import CardOperation, CountedDay, HourlyTotals, SettlementBatch, Transaction
from payments.services.events.receiver_exams import examine_endpoint
from payments.services.refunds import refunds
from payments.services.reporting import daily_totals
from tests import orders
from tests.addresses import MEMBERS, RULES
from tests.batches import checked_batch, completed_batch, waiting_batch
from tests.beneficiaries import beneficiary_of
from tests.caches import CACHED
from tests.dashboard.addresses import filled_path
from tests.disputed import disputed, with_a_file
from tests.fee_invoices import invoice_of
from tests.links import begin, link_of, pay_by_card, pay_by_transfer
from tests.logged_calls import logged_call
from tests.payout_controls import waiting_payout
from tests.query_counts import at_most
from tests.settling import settle
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_deliveries, make_endpoint
from tests.weighing import weigh
from virtual_accounts.models import UnappliedMoney, VirtualAccount
from webhooks import services
from webhooks.exams import exams
from webhooks.exams.exam import ExamAnswer
from webhooks.models import Attempt, Delivery, Endpoint, Event, endpoint_id

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

QUERIES = 12
PAGE = 60_000  # bytes without htmx
SCRIPTS = 15_000
ROWS = 30  # more than a list shows

FILES = (".<file_type:file_type>", "/qr.svg", "/qr.png", "/files/<uuid:evidence_id>/")
ROUTES = [route for route in MEMBERS if RULES[route].readers and not route.endswith(FILES)]
FURTHER_PAGES = [
    "/dashboard/?days=90",
    "/dashboard/payments/?status=failed",
    "/dashboard/payments/?q=4081",
    "/dashboard/disputes/?status=needs_response",
    "/dashboard/disputes/?q=ada",
    "/dashboard/payments/{authorised}/",
    "/dashboard/search/?q=ada",
    "/dashboard/payouts/batches/{sent_batch}/",
    "/dashboard/payouts/batches/{waiting_batch}/",
]


@pytest.fixture
def busy(ada):
    """A business with much activity and large numbers."""
    now, business = timezone.now(), ada.business
    ApiKey.objects.filter(pk=ada.pk).update(last_used_at=now)
    make_endpoint(business=business)
    for number in range(1, services.MOST_ENDPOINTS):
        url = f"https://hooks{number}.shop.example/sluice/events"
        further = make_endpoint(business=business, number=number, url=url, events=["payout.failed"])
    make_deliveries(further, ROWS, event=Event.PAYOUT_FAILED, at=now)
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
    for payment in Transaction.objects.filter(business=business, amount=9_876_543_210, status="success"):
        if payment.is_card_payment and payment.payment_link_id is None and payment != refunded:
            disputed(payment)
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
    # The first endpoint fails, which is its heavier page.
    delivered = Delivery.objects.filter(business=business).exclude(endpoint_number=Endpoint.FIRST).first()
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


def call_about(business):
    """Return a refused request about a payment with events, and further requests about it."""
    payment = Transaction.objects.filter(business=business, method="card").first()
    about = {"object_kind": "payment", "object_id": payment.pk, "reference": payment.reference}
    calls = [logged_call(business, status=503, code="rail_unavailable", **about) for _ in range(ROWS)]
    return calls[0].pk


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
def pages(busy):
    """Return the paths of all pages that members see, with rows of the business."""
    attempt = Transaction.objects.filter(payment_link__isnull=False, awaiting="transfer").latest("id")
    batch_of = checked_batch(busy)
    dispute = Dispute.objects.last()
    some = {
        "dispute": dispute.pk,
        "evidence": with_a_file(dispute).pk,
        "payment": Transaction.objects.filter(
            status="success", method="card", payment_link=None, disputes_count=0
        )
        .last()
        .pk,
        "refund": refund_of(busy).pk,
        "authorised": Transaction.objects.get(awaiting="capture").pk,
        "payout": Transaction.objects.filter(request_type="payout").last().pk,
        "waiting": waiting_payout(busy).pk,
        "delivery": Delivery.objects.last().pk,
        "call": call_about(busy),
        "link": attempt.payment_link_id,
        "attempt": attempt.pk,
        "account": VirtualAccount.objects.latest("created_at").pk,
        "batch": SettlementBatch.objects.get().pk,
        "challenged": Transaction.objects.get(awaiting="payer").pk,
        "key": ApiKey.objects.filter(business=busy).first().pk,
        "member": Member.objects.filter(business=busy).first().pk,
        "leaver": Member.objects.filter(business=busy).last().pk,
        "view": SavedView.objects.create(
            member=Member.objects.filter(business=busy).first(),
            list="payments",
            name="Failed",
            created_at=timezone.now(),
        ).pk,
        "beneficiary": beneficiary_of(busy).pk,
        "payout_batch": batch_of.pk,
        "waiting_batch": waiting_batch(busy).pk,
        "sent_batch": completed_batch(busy, orders.batch_item(90), orders.batch_item(91, amount=250_051)).pk,
        "item": batch_of.items.first().pk,
        "endpoint": endpoint_id(busy.pk, services.MOST_ENDPOINTS - 1),
        "unwanted_endpoint": endpoint_id(busy.pk, 1),
        "unapplied": UnappliedMoney.objects.first().pk,
        "invoice": invoice_of(busy).pk,
    }
    return [*(filled_path(route, some) for route in ROUTES), *(page.format(**some) for page in FURTHER_PAGES)]


def test_every_page_stays_within_its_budget(browser, pages):
    def read(address):
        return browser.get(address).getvalue()

    for page in pages:
        for cached in CACHED:  # what was read for an earlier page could expire within this one
            cached.cache_clear()
            cached()
        with at_most(QUERIES):
            answer = browser.get(page)
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
    assert document.count('class="todo"') == 7
    assert weight.page <= PAGE, weight
