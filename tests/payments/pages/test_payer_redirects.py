"""Payers who are sent to the page of a provider or bank, and come back."""

import threading
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command
from django.test import Client

from payments.models import Challenge, Transaction
from payments.rails.protocol import ActionKind, Payer
from payments.rules.outcomes import AUTHENTICATION_FAILED
from payments.services.rails import requery
from tests import orders
from tests.links import begin, make_link
from tests.payers import refreshed_to
from tests.scripted_acquirer import LOST, PENDING, asks, ends, redirects, use_scripted_acquirer

pytestmark = pytest.mark.django_db

BANK = "https://bank.example/acs?id=7"


@pytest.fixture
def acquirer(settings):
    return use_scripted_acquirer(settings)


@pytest.fixture
def payer():
    return Client(raise_request_exception=False, enforce_csrf_checks=True, headers={"Accept": "text/html"})


@pytest.fixture
def pay(api, acquirer):
    """Start a payment whose acquirer redirects the payer, and return the path of the payer's page."""

    def start(first=None, **changes):
        acquirer.answers("authorise", first or redirects(BANK))
        payment = api.post("/api/payments", orders.card_payment(**changes)).json()
        assert payment["status"] == "pending", payment
        return urlsplit(payment["redirect_link"]).path

    return start


class TestRedirect:
    def test_leads_to_the_provider(self, pay, payer):
        answer = payer.get(pay())

        assert (answer.status_code, answer["Location"]) == (303, BANK)
        assert "no-store" in answer["Cache-Control"]

    def test_may_be_repeated(self, pay, payer):
        path = pay()

        assert payer.get(path)["Location"] == payer.get(path)["Location"] == BANK

    def test_still_leads_there_after_an_early_visit_of_the_return(self, clock, pay, payer, acquirer):
        path = pay()
        acquirer.answers("query", PENDING)
        payer.get(f"{path}/return")

        clock.advance(seconds=11)
        again = payer.get(path)
        clock.advance(minutes=15)
        late = payer.get(path)

        assert (again.status_code, again["Location"]) == (303, BANK)
        assert late.status_code == 200

    def test_ends_with_the_time_to_pay(self, clock, pay, payer):
        path = pay()
        clock.advance(minutes=15)

        answer = payer.get(path)

        assert answer.status_code == 200
        assert "This page has expired" in answer.content.decode()

    def test_leaves_it_to_the_provider_to_decline(self, pay, payer):
        path = pay()

        answer = payer.post(path, {"action": "decline"})

        assert answer["Location"] == path
        assert Transaction.objects.get().awaiting == "payer"

    @pytest.mark.parametrize(
        ("url", "leads"),
        [
            ("https://bank.example/acs", [True, True]),
            ("http://127.0.0.1:9000/acs", [True, False]),
            ("http://bank.example/acs", [False, False]),
            ("javascript:alert(1)", [False, False]),
            ("//bank.example/acs", [False, False]),
            ("https://user@bank.example/acs", [False, False]),
            ("https://bank.example/\nacs", [False, False]),
            ("https://bank.example/" + "x" * 2048, [False, False]),
            ("https://[bank", [False, False]),
            ("", [False, False]),
        ],
    )
    def test_is_only_to_https(self, api, acquirer, settings, url, leads):
        """In the sandbox, it may also lead to this machine."""
        has_link = []
        for settings.SANDBOX in (True, False):
            acquirer.answers("authorise", redirects(url))
            payment = api.post("/api/payments", orders.card_payment()).json()
            assert payment["status"] == "pending"
            has_link.append("redirect_link" in payment)

        assert has_link == leads

    def test_that_cannot_be_shown_is_queried_again(self, api, clock, acquirer):
        acquirer.answers("authorise", redirects("http://bank.example/acs"))
        acquirer.answers("query", redirects("http://bank.example/acs"), redirects(BANK))
        api.post("/api/payments", orders.card_payment())

        awaited = []
        for _ in range(2):
            clock.advance(minutes=1)
            call_command("requery_pending")
            awaited.append(Transaction.objects.get().awaiting)

        assert awaited == ["rail", "payer"]


class TestOrder:
    def test_tells_the_acquirer_where_the_payer_returns_to_and_who_pays(self, pay, payer, acquirer):
        customer = {"reference": "customer-7", "name": "Ada Obi", "email": "ada@x.example"}
        path = pay(customer=customer, payment_ip="192.0.2.7")

        [call] = acquirer.calls
        assert urlsplit(call.order.return_url).path == f"{path}/return"
        assert call.order.payer == Payer(name="Ada Obi", email="ada@x.example", ip_address="192.0.2.7")
        assert not call.order.is_on_our_page

    def test_has_an_address_that_nobody_else_can_tell(self, pay):
        token, other = (pay().rpartition("/")[2] for _ in range(2))

        assert token != other
        assert len(token) == 32

    def test_has_the_acquirers_identifiers(self, pay, payer, acquirer):
        path = pay(redirects(BANK, acquirer_reference="pay_1", retrieval_reference_number="123456789012"))
        acquirer.answers("query", PENDING)

        payer.get(f"{path}/return")

        [query] = acquirer.calls_of("query")
        assert query.order.acquirer_reference == "pay_1"
        assert query.order.retrieval_reference_number == "123456789012"


class TestReturn:
    def test_queries_and_leads_to_the_merchant(self, api, pay, payer, acquirer):
        path = pay()
        acquirer.answers("query", ends())

        answer = payer.get(f"{path}/return?cko-session-id=sid_1&status=failed")
        page = payer.get(answer["Location"])

        payment = Transaction.objects.get()
        assert (answer.status_code, payment.status) == (303, "success")
        assert parse_qs(urlsplit(refreshed_to(page)).query)["status"] == ["success"]
        assert "Payment approved" in page.content.decode()

    def test_redirects_a_program(self, pay, acquirer):
        path = pay()
        acquirer.answers("query", ends())

        answer = Client().get(f"{path}/return")

        assert answer["Location"].startswith("https://shop.example/back?")

    def test_without_authentication_fails(self, pay, payer, acquirer):
        path = pay()
        acquirer.answers("query", ends(AUTHENTICATION_FAILED))

        payer.get(f"{path}/return")

        assert Transaction.objects.get().response_code == "20151"

    @pytest.mark.parametrize("open_answer", [PENDING, LOST, redirects(BANK)], ids=["pending", "lost", "open"])
    def test_looks_again_for_ten_seconds_and_then_returns_pending(
        self, clock, pay, payer, acquirer, open_answer
    ):
        path = pay()
        acquirer.answers("query", *[open_answer] * 5)

        looks = []
        for _ in range(5):
            looks.append(payer.get(f"{path}/return"))
            clock.advance(seconds=2)
        last = payer.get(f"{path}/return")

        assert [look.status_code for look in looks] == [200] * 5
        assert all('<meta http-equiv="refresh" content="2">' in look.content.decode() for look in looks)
        assert last["Location"] == f"{path}?answered"
        assert "status=pending" in refreshed_to(payer.get(last["Location"]))
        assert Transaction.objects.get().awaiting == "rail"

    def test_does_not_delay_later_queries(self, clock, pay, payer, acquirer):
        path = pay()
        acquirer.answers("query", *[PENDING] * 4, ends())
        for _ in range(4):
            payer.get(f"{path}/return")

        clock.advance(seconds=10)
        call_command("requery_pending")

        assert Transaction.objects.get().status == "success"

    def test_may_lead_to_another_action(self, pay, payer, acquirer):
        path = pay()
        acquirer.answers("query", asks(ActionKind.OTP))

        answer = payer.get(f"{path}/return")

        assert answer["Location"] == path
        assert "One-time code" in payer.get(path).content.decode()

    def test_of_an_input_changes_nothing(self, pay, payer, acquirer):
        path = pay(asks(ActionKind.PIN))

        answer = payer.get(f"{path}/return")

        assert answer["Location"] == path
        assert Transaction.objects.get().awaiting == "payer"
        assert acquirer.calls_of("query") == []

    def test_of_a_finished_payment_shows_it(self, pay, payer, acquirer):
        path = pay()
        acquirer.answers("query", ends())

        for _ in range(2):
            answer = payer.get(f"{path}/return")

        assert answer["Location"] == f"{path}?answered"
        assert len(acquirer.calls_of("query")) == 1

    def test_of_unknown_tokens_is_limited(self, payer):
        answers = [payer.get(f"/3ds/{number:032}/return").status_code for number in range(31)]

        assert answers == [404] * 30 + [429]


@pytest.mark.django_db(transaction=True)
def test_a_hanging_query_does_not_hold_the_payers_page(pay, payer, acquirer, monkeypatch):
    """Its answer is applied when it arrives."""
    monkeypatch.setattr(requery, "PAYER_WAITS", 0.05)
    path, may_answer = pay(), threading.Event()

    def answer_late():
        assert may_answer.wait(30)
        return ends()

    acquirer.answers("query", answer_late)

    look = payer.get(f"{path}/return")
    status = Transaction.objects.get().status
    may_answer.set()
    for thread in threading.enumerate():
        if thread.name == "rail-call":
            thread.join(30)

    assert (look.status_code, status) == (200, "pending")
    assert Transaction.objects.get().status == "success"


class TestPaymentLink:
    def test_leads_a_browser_on_by_a_page_of_ours(self, api, payer, acquirer):
        checkout = begin(make_link(api))
        acquirer.answers("authorise", redirects(BANK))
        acquirer.answers("query", ends())

        answer = payer.post(f"/checkout/{checkout.token}/card", orders.card_form(orders.GOOD_CARD))
        page = payer.get(answer["Location"])
        path = urlsplit(refreshed_to(page)).path
        away = payer.get(path)
        back = payer.get(f"{path}/return")

        assert acquirer.calls[0].order.is_on_our_page
        assert answer["Location"] == f"/checkout/{checkout.token}?onward"
        assert away["Location"] == BANK
        assert urlsplit(back["Location"]).path == f"/checkout/{checkout.token}"
        assert Transaction.objects.get().status == "success"

    def test_lets_a_payer_who_goes_back_choose(self, api, payer, acquirer):
        checkout = begin(make_link(api))
        acquirer.answers("authorise", redirects(BANK))
        payer.post(f"/checkout/{checkout.token}/card", orders.card_form(orders.GOOD_CARD))

        page = payer.get(f"/checkout/{checkout.token}")

        assert refreshed_to(page) == ""
        assert "Use another card" in page.content.decode()

    def test_redirects_a_program(self, api, acquirer):
        checkout = begin(make_link(api))
        acquirer.answers("authorise", redirects(BANK))

        answer = Client().post(f"/checkout/{checkout.token}/card", orders.card_form(orders.GOOD_CARD))

        assert urlsplit(answer["Location"]).path == f"/3ds/{Challenge.objects.get().token}"


class TestCardCheck:
    def test_is_pending_with_a_link(self, api, payer, acquirer):
        acquirer.answers("verify", redirects(BANK))
        acquirer.answers("query", ends())

        check = api.post(
            "/api/payments", orders.card_check(redirect_url="https://shop.example/back?cart=7")
        ).json()
        path = urlsplit(check["redirect_link"]).path
        away = payer.get(path)
        payer.get(f"{path}/return")

        shown = api.get(f"/api/payments/{check['reference']}").json()
        assert (check["status"], away["Location"], shown["status"]) == ("pending", BANK, "success")

    def test_without_a_page_to_return_to_fails(self, api, acquirer):
        acquirer.answers("verify", redirects(BANK))

        check = api.post("/api/payments", orders.card_check()).json()

        assert (check["status"], check["response_code"]) == ("failed", "20151")
        assert "redirect_link" not in check
