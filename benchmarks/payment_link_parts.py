"""Measure payment links in this process."""

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection as django_connection
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg import Connection

from benchmarks.figures import Figure, percentile, seconds_of
from benchmarks.many_rows import ID, copy_row, filling
from payments.cards import Card
from payments.models import Checkout, PaymentLink
from payments.pages.card_form import read_card
from payments.services import checkouts
from payments.services.checkout_limits import check_card
from payments.services.checkouts import Details
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.dashboard.people import signed_in
from tests.factories import ApiKeyFactory, MemberFactory
from tests.payers import Payer, address_of

PAGE_STATEMENTS, PAGE_CPU = 4, 15  # of `/l/{slug}`; the CPU in milliseconds
MORE_STATEMENTS = 4  # of beginning an attempt than of the API's
ATTEMPTS_A_SECOND = 100
LIMIT = 150  # ms
THREADS = 8
OF_BEFORE = 0.9  # of the rate of API payments without links


def payment_links(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    settings.RATE_LIMIT_WRITES = settings.RATE_LIMIT_READS = 1_000_000
    settings.PROXIES_IN_FRONT = 1
    key: Any = ApiKeyFactory()  # type: ignore[no-untyped-call]
    api = InProcessClient(Credentials(key.public_id, key.secret))
    link = make_link(api, title="The link with many payments")
    payer = Payer(address_of(1))
    payer.pay_by_card(payer.begin(link.url))
    pay_by_api(api, 50)  # warms up
    before = rate_of_api(api, options.calls)
    with Connection.connect(url, autocommit=True) as connection:
        fill(connection, links=options.links, payments=options.payments)
    yield from rates_of_api(before, rate_of_api(api, options.calls))
    yield from page_of_a_link(link, views=options.views)
    yield from statements_of_an_attempt(api)
    yield from attempts(api, options.attempts)
    yield from lists(api, key, link, views=options.views)


def make_link(api: Any, **changes: Any) -> PaymentLink:
    made = api.post("/api/payment-links", orders.payment_link(**changes)).json()
    return PaymentLink.objects.select_related("business").get(pk=made["id"])


def fill(connection: Connection, *, links: int, payments: int) -> None:
    """Copy the link with its checkout and payment. Checkouts and payments have the same ids."""
    moments = {"id": ID, "created_at": "at"}
    names = {"reference": f"'pl_' || replace({ID}::text, '-', '')", "checkout_id": ID, "finished_at": "at"}
    with (
        filling(connection, "payments_checkout"),
        filling(connection, "payments_transaction"),
        connection.transaction(),  # so that `now()`, and with it the ids, are the same in both
    ):
        copy_row(connection, "payments_checkout", payments, {"token": "lpad(n::text, 32, 'x')"} | moments)
        connection.execute("DELETE FROM payments_transaction WHERE checkout_id IS NULL")
        copy_row(connection, "payments_transaction", payments, names | moments)
    connection.execute("UPDATE payments_paymentlink SET uses_paid = uses_paid + %s", [payments])
    with filling(connection, "payments_paymentlink"):
        names = {"reference": "'copy-' || n", "slug": "'copy-' || n", "updated_at": "at"}
        counts = {"uses_paid": "0", "amount_paid": "0"}
        copy_row(connection, "payments_paymentlink", links, names | moments | counts)


def pay_by_api(api: Any, calls: int) -> None:
    for _ in range(calls):
        answer = api.post("/api/payments", orders.card_payment())
        if answer.status_code != 201:
            raise SystemExit(f"A payment was answered with {answer.status_code}.")


def rate_of_api(api: Any, calls: int) -> list[float]:
    """Return the rates of three rounds, requests a second."""
    return [calls / 3 / seconds_of(partial(pay_by_api, api, calls // 3)) for _ in range(3)]


def rates_of_api(before: list[float], after: list[float]) -> Iterator[Figure]:
    yield Figure.of_rounds("POST /api/payments, no other link", before, "/s")
    yield Figure.of_rounds("POST /api/payments, with all links", after, "/s")
    ratio = median(after) / median(before)
    yield Figure("POST /api/payments, with all links, of before", ratio, "times", OF_BEFORE, at_least=True)


def page_of_a_link(link: PaymentLink, *, views: int) -> Iterator[Figure]:
    page = urlsplit(link.url).path
    Payer(address_of(2)).get(page)  # builds the template
    yield Figure(
        "/l/…, first view of an address", statements(partial(Payer(address_of(3)).get, page)), "statements"
    )
    payer = Payer(address_of(3))
    later = statements(partial(payer.get, page))
    yield Figure("/l/…, later views", later, "statements", PAGE_STATEMENTS)
    spent, took = [], []
    for _ in range(views):
        started = time.process_time()
        took.append(seconds_of(partial(payer.get, page)) * 1000)
        spent.append((time.process_time() - started) * 1000)
    yield Figure("/l/…, CPU of the service, p50", median(spent), "ms", PAGE_CPU)
    yield Figure("/l/…, p95", percentile(took, 0.95), "ms", LIMIT)


def statements(work: Callable[[], object]) -> int:
    """Return the number of statements, without those that begin and end a database transaction."""
    with CaptureQueriesContext(django_connection) as captured:
        work()
    return sum(not each["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")) for each in captured)


def statements_of_an_attempt(api: Any) -> Iterator[Figure]:
    """Compare the statements of beginning an attempt, without its limits, with those of a card payment of the API."""
    of_api = statements(partial(pay_by_api, api, 1))
    yield Figure("statements of an API payment", of_api, "")
    for name, max_uses in (("an unlimited", ...), ("a limited", 1_000)):
        link = make_link(api, max_uses=max_uses)
        checkout, other, third = (begin(link, turn) for turn in (4, 5, 6))
        limits = statements(partial(check_card, checkout, card_of(), now=timezone.now()))
        finishing = 2  # the use and the card
        more = statements(partial(pay, other)) - limits - finishing - of_api
        yield Figure(f"beginning at {name} link, more than that", more, "", MORE_STATEMENTS)
        page = partial(Payer(address_of(6)).pay_by_card, f"/checkout/{third.token}")
        yield Figure(f"POST of the card page of {name} link, limits included", statements(page), "")


def begin(link: PaymentLink, turn: int) -> Checkout:
    address = address_of(turn)
    details = Details(
        amount=link.amount or 0, quantity=1, method="card", name="Ada Obi", email="ada@x.example"
    )
    return checkouts.begin(link=link, details=details, address=address, network=address, now=timezone.now())


def pay(checkout: Checkout) -> None:
    checkouts.pay_by_card(checkout=checkout, card=card_of(), attempt_number=0, now=timezone.now())


def card_of() -> Card:
    _, card = read_card(orders.card_form(orders.FRICTIONLESS_CARD), now=timezone.now())
    if card is None:
        raise SystemExit("The card form is invalid.")
    return card


def attempts(api: Any, count: int) -> Iterator[Figure]:
    """Begin and finish attempts at one limited link from several threads."""
    link = make_link(api, max_uses=count + 10)
    begun = [begin(link, turn) for turn in range(10, 10 + count)]
    with ThreadPoolExecutor(THREADS) as pool:
        seconds = seconds_of(lambda: list(pool.map(pay, begun)))
        list(pool.map(lambda _: connections.close_all(), range(THREADS * 4)))
    link.refresh_from_db()
    if link.uses_paid != count:
        raise SystemExit(f"{link.uses_paid} of {count} attempts have succeeded.")
    rate = count / seconds
    yield Figure("attempts begun and finished at one link", rate, "/s", ATTEMPTS_A_SECOND, at_least=True)


def lists(api: Any, key: Any, link: PaymentLink, *, views: int) -> Iterator[Figure]:
    member: Any = MemberFactory(business=key.business)  # type: ignore[no-untyped-call]
    browser: Client = signed_in(member.user, client=Client())  # type: ignore[no-untyped-call]
    area = "/dashboard/payment-links/"
    pages: dict[str, Callable[[], Any]] = {
        "GET /api/payment-links": partial(api.get, "/api/payment-links?limit=20"),
        "the same, active": partial(api.get, "/api/payment-links?status=active&limit=20"),
        "GET …/checkouts of a link": partial(
            api.get, f"/api/payment-links/{link.reference}/checkouts?limit=20"
        ),
        "payments of a link": partial(api.get, f"/api/payments?payment_link_id={link.pk}&limit=20"),
        "dashboard: links": partial(browser.get, area),
        "dashboard: a link with all payments": partial(browser.get, f"{area}{link.pk}/"),
    }
    for name, view in pages.items():
        if (status := view().status_code) != 200:
            raise SystemExit(f"{name} was answered with {status}.")
        took = [seconds_of(view) * 1000 for _ in range(views)]
        note = f"p50 {percentile(took, 0.5):.0f}, {statements(view)} statements"
        yield Figure(f"{name}: p95", percentile(took, 0.95), "ms", LIMIT, note=note)
