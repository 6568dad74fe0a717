"""Lists say how many rows arrived since their page was opened."""

import re
from datetime import timedelta

import pytest

from merchants.people.roles import Role
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.logged_calls import logged_call
from tests.query_counts import at_most
from tests.transactions import captured_payment, start
from tests.webhooks.rows import make_delivery, make_endpoint

pytestmark = pytest.mark.django_db

PAYMENTS = "/dashboard/payments/"
SECOND = timedelta(seconds=1)  # ids begin with the time, and are ordered by chance within a millisecond


def question_on(browser, address):
    """Return the address that the page asks; empty if it asks nothing."""
    found = re.search(r'data-news="([^"]*)"', browser.get(address).content.decode())
    return found.group(1).replace("&amp;", "&") if found else ""


def answer_to(browser, address, question):
    return browser.get(address.partition("?")[0] + question, headers={"X-News": "true"}).content.decode()


def test_new_rows_are_counted_and_offered(browser, ada, now):
    captured_payment(business=ada.business, now=now)
    question = question_on(browser, PAYMENTS)

    assert answer_to(browser, PAYMENTS, question) == ""
    captured_payment(business=ada.business, now=now + SECOND)
    assert answer_to(browser, PAYMENTS, question) == "1 new payment, show"
    captured_payment(business=ada.business, now=now + SECOND)
    with at_most(6):
        assert answer_to(browser, PAYMENTS, question) == "2 new payments, show"


@pytest.mark.parametrize(
    ("address", "add"),
    [
        ("/dashboard/payouts/", lambda business, now: start(orders.payout(), business=business, now=now)),
        ("/dashboard/developers/requests/", lambda business, now: logged_call(business)),
        (
            "/dashboard/webhooks/deliveries/",
            lambda business, now: make_delivery(make_endpoint(business=business)),
        ),
    ],
)
def test_other_lists_count_too(browser, ada, now, address, add):
    add(ada.business, now)

    assert answer_to(browser, address, question_on(browser, address)) == ""


def test_the_filter_of_the_page_applies(browser, ada, now):
    address = f"{PAYMENTS}?since={now:%Y-%m-%d}"
    captured_payment(business=ada.business, now=now)
    question = question_on(browser, address)
    start(orders.payout(), business=ada.business, now=now + SECOND)

    assert "since=" in question
    assert answer_to(browser, address, question) == ""


@pytest.mark.parametrize("query", ["?sort=oldest", "?before=00000000-0000-4000-8000-000000000000", "?q=none"])
def test_pages_on_which_nothing_new_appears_do_not_ask(browser, ada, now, query):
    captured_payment(business=ada.business, now=now)

    assert question_on(browser, PAYMENTS + query) == ""


@pytest.mark.parametrize("question", ["", "?after=x", "?after=%00", "?amount_from=much&after=x"])
def test_a_malformed_question_is_answered_with_nothing(browser, ada, now, question):
    captured_payment(business=ada.business, now=now)

    assert answer_to(browser, PAYMENTS, question) == ""


def test_rows_of_other_businesses_do_not_count(browser, ada, bisi, now):
    captured_payment(business=ada.business, now=now)
    question = question_on(browser, PAYMENTS)
    captured_payment(business=bisi.business, now=now + SECOND)
    other = signed_in(MemberFactory(business=bisi.business, role=Role.OWNER).user)

    assert answer_to(browser, PAYMENTS, question) == ""
    assert answer_to(other, PAYMENTS, question) == "1 new payment, show"
