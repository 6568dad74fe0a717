"""What payers enter at the request of an acquirer: one form for each kind, sent once, and kept nowhere."""

import re
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client

from payments.models import Challenge, Transaction
from payments.rails.protocol import ActionKind
from payments.rules.outcomes import AUTHENTICATION_FAILED, DO_NOT_HONOUR
from tests import orders
from tests.payers import refreshed_to
from tests.scripted_acquirer import LOST, PENDING, asks, ends, redirects, use_scripted_acquirer

pytestmark = pytest.mark.django_db

OTP, PIN, PHONE, BIRTHDAY, ADDRESS = (
    ActionKind.OTP,
    ActionKind.PIN,
    ActionKind.PHONE,
    ActionKind.BIRTHDAY,
    ActionKind.ADDRESS,
)
HOME = {
    "address": "1 Marina Road",
    "city": "Lagos",
    "state": "Lagos",
    "zip_code": "101241",
    "country": "Nigeria",
}
# By kind: what the payer enters, and what the acquirer gets.
ENTERED = {
    OTP: ({"code": "12 34 56"}, {"otp": "123456"}),
    PIN: ({"pin": "4071"}, {"pin": "4071"}),
    PHONE: ({"phone": "+234 (801) 234-5678"}, {"phone": "+2348012345678"}),
    BIRTHDAY: ({"birthday": "1990-07-31"}, {"birthday": "1990-07-31"}),
    ADDRESS: (HOME | {"city": "  Lagos "}, HOME),
}


@pytest.fixture
def acquirer(settings):
    return use_scripted_acquirer(settings)


@pytest.fixture
def payer():
    return Client(raise_request_exception=False, enforce_csrf_checks=True, headers={"Accept": "text/html"})


@pytest.fixture
def pay(api, acquirer):
    """Start a payment whose acquirer asks for something, and return the path of the payer's page."""

    def start(first, **changes):
        acquirer.answers("authorise", first)
        payment = api.post("/api/payments", orders.card_payment(**changes)).json()
        assert payment["status"] == "pending", payment
        return urlsplit(payment["redirect_link"]).path

    return start


def send(payer, path, kind, **fields):
    given = fields or ENTERED[kind][0]
    return payer.post(path, {"action": "approve", "kind": kind, **given}, follow=True)


def shown(answer):
    return unescape(answer.content.decode())


class TestForm:
    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            (OTP, {"code": ("text", "one-time-code")}),
            (PIN, {"pin": ("password", "off")}),
            (PHONE, {"phone": ("tel", "tel")}),
            (BIRTHDAY, {"birthday": ("date", "bday")}),
            (
                ADDRESS,
                {
                    "address": ("text", "street-address"),
                    "city": ("text", "address-level2"),
                    "state": ("text", "address-level1"),
                    "zip_code": ("text", "postal-code"),
                    "country": ("text", "country-name"),
                },
            ),
        ],
    )
    def test_has_labelled_fields(self, pay, payer, kind, fields):
        page = payer.get(pay(asks(kind))).content.decode()

        found = {}
        for tag in re.findall(r"<input [^>]+>", page):
            given = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
            if given["type"] != "hidden":
                found[given["name"]] = (given["type"], given["autocomplete"])
                assert f'for="{given["name"]}"' in page
        assert found == fields
        assert "<script" not in page

    def test_shows_the_acquirers_sentence_as_text(self, pay, payer):
        page = payer.get(pay(asks(OTP, prompt="We sent a <b>code</b> to 0801***78"))).content.decode()

        assert "We sent a &lt;b&gt;code&lt;/b&gt; to 0801***78" in page

    @pytest.mark.parametrize("kind", ENTERED)
    def test_sends_what_the_payer_entered(self, pay, payer, acquirer, kind):
        path = pay(asks(kind))
        acquirer.answers("answer_action", ends())

        answer = send(payer, path, kind)

        [call] = acquirer.calls_of("answer_action")
        assert (call.kind, dict(call.value)) == (kind, ENTERED[kind][1])
        assert Transaction.objects.get().status == "success"
        assert "status=success" in refreshed_to(answer)

    @pytest.mark.parametrize(
        ("kind", "wrong"),
        [
            (OTP, {"code": ""}),
            (OTP, {"code": "1" * 17}),
            (PIN, {"pin": "12"}),
            (PIN, {"pin": "12a4"}),
            (PHONE, {"phone": "call me"}),
            (BIRTHDAY, {"birthday": "31/07/1990"}),
            (BIRTHDAY, {"birthday": "1990-02-30"}),
            (BIRTHDAY, {"birthday": "2199-01-01"}),
            (ADDRESS, {"city": ""}),
            (ADDRESS, {"city": "x" * 101}),
            (ADDRESS, {"city": orders.GOOD_CARD}),
            (ADDRESS, {"city": "La\x00gos"}),
        ],
    )
    def test_says_what_is_wrong_and_sends_nothing(self, pay, payer, acquirer, kind, wrong):
        path = pay(asks(kind))

        page = shown(send(payer, path, kind, **ENTERED[kind][0] | wrong))

        assert f'id="{next(iter(wrong))}-error"' in page
        assert acquirer.calls_of("answer_action") == []
        assert Challenge.objects.get().wrong_codes == 0

    def test_shows_again_what_is_no_secret(self, pay, payer):
        path = pay(asks(ADDRESS))

        page = shown(send(payer, path, ADDRESS, **HOME | {"country": ""}))

        assert 'value="1 Marina Road"' in page
        assert "Enter your country." in page
        assert page.index(" autofocus") > page.index('id="country"')

    def test_never_shows_a_secret_again(self, pay, payer):
        path = pay(asks(PIN))

        answer = send(payer, path, PIN, pin="40719")
        refused = send(payer, path, PIN, pin="40719x")

        assert "40719" not in shown(answer) + shown(refused) + str(payer.cookies)

    def test_of_an_earlier_action_is_not_taken_for_the_next(self, pay, payer, acquirer):
        """A second tab still shows the first form."""
        path = pay(asks(PIN))
        acquirer.answers("answer_action", asks(OTP))
        send(payer, path, PIN)

        late = send(payer, path, PIN)

        assert late.redirect_chain == [(path, 303)]
        assert "One-time code" in shown(late)
        assert len(acquirer.calls_of("answer_action")) == 1


class TestNextAction:
    def test_is_asked_for_until_the_acquirer_decides(self, api, pay, payer, acquirer):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", asks(OTP, prompt="Enter the code"), ends())

        page = shown(send(payer, path, PIN))
        send(payer, path, OTP)

        assert "Enter the code" in page
        assert [call.kind for call in acquirer.calls_of("answer_action")] == [PIN, OTP]
        reference = Transaction.objects.get().reference
        assert api.get(f"/api/payments/{reference}").json()["status"] == "success"

    def test_has_tries_of_its_own(self, pay, payer, acquirer):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", asks(PIN), asks(PIN), asks(OTP), asks(OTP))
        for _ in range(3):
            send(payer, path, PIN)

        page = shown(send(payer, path, OTP))

        assert "Incorrect code. You have 2 attempts left." in page
        assert Transaction.objects.get().status == "pending"

    def test_redirects_a_browser_by_a_page_of_ours(self, pay, payer, acquirer):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", redirects("https://bank.example/acs"))

        answer = send(payer, path, PIN)

        assert answer.redirect_chain == [(f"{path}?onward", 303)]
        assert refreshed_to(answer) == path
        assert payer.get(path)["Location"] == "https://bank.example/acs"

    def test_after_the_fifth_is_left_to_the_bank(self, clock, pay, payer, acquirer):
        path = pay(asks(PIN))
        kinds = [PIN, OTP, PHONE, BIRTHDAY, ADDRESS]
        acquirer.answers("answer_action", *[asks(kind) for kind in kinds[1:]], asks(PIN))

        for kind in kinds:
            send(payer, path, kind)
        page = shown(payer.get(path))
        late = send(payer, path, PIN)
        acquirer.answers("query", asks(PIN), ends())
        states = []
        for minutes in (1, 5):
            clock.advance(minutes=minutes)
            call_command("requery_pending")
            states.append(Transaction.objects.get().status)

        assert "Ask your bank" in page
        assert "<form" not in page
        assert late.redirect_chain == [(path, 303)]
        assert len(acquirer.calls_of("answer_action")) == 5
        assert states == ["pending", "success"]


class TestWrongInput:
    def test_is_the_same_action_again(self, pay, payer, acquirer):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", asks(PIN), ends())

        page = shown(send(payer, path, PIN))
        send(payer, path, PIN)

        assert "Incorrect PIN. You have 2 attempts left." in page
        assert Transaction.objects.get().status == "success"

    def test_fails_the_payment_the_third_time(self, pay, payer, acquirer):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", asks(PIN), asks(PIN), asks(PIN))

        for _ in range(3):
            answer = send(payer, path, PIN)

        payment = Transaction.objects.get()
        assert (payment.status, payment.response_code) == ("failed", "20151")
        assert "status=failed" in refreshed_to(answer)
        assert list(payment.transitions.filter(attribute="status").values_list("after", "cause")) == [
            ("failed", "payer")
        ]

    def test_does_not_extend_the_time(self, clock, pay, payer, acquirer):
        path = pay(asks(PIN))
        opened = Transaction.objects.get().expires_at
        acquirer.answers("answer_action", asks(PIN))
        clock.advance(minutes=5)

        send(payer, path, PIN)

        assert Transaction.objects.get().expires_at == opened

    @pytest.mark.parametrize("outcome", [AUTHENTICATION_FAILED, DO_NOT_HONOUR])
    def test_may_be_refused_at_once(self, pay, payer, acquirer, outcome):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", ends(outcome))

        send(payer, path, PIN)

        payment = Transaction.objects.get()
        assert (payment.status, payment.response_code) == ("failed", outcome.code)


class TestLostAnswer:
    @pytest.mark.parametrize("lost", [LOST, PENDING], ids=["lost", "pending"])
    def test_is_queried_and_the_input_never_sent_again(self, clock, pay, payer, acquirer, lost):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", lost)

        answer = send(payer, path, PIN)
        again = send(payer, path, PIN)
        acquirer.answers("query", ends())
        clock.advance(minutes=1)
        call_command("requery_pending")

        assert "status=pending" in refreshed_to(answer)
        assert "Your bank is still processing this payment" in shown(again)
        assert len(acquirer.calls_of("answer_action")) == 1
        assert Transaction.objects.get().status == "success"

    def test_opens_the_form_again_if_the_acquirer_still_waits(self, clock, pay, payer, acquirer):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", LOST, ends())
        send(payer, path, PIN)
        acquirer.answers("query", asks(PIN))
        clock.advance(minutes=1)
        call_command("requery_pending")

        page = shown(payer.get(path))
        send(payer, path, PIN)

        assert "Card PIN" in page
        assert Transaction.objects.get().status == "success"

    def test_of_a_connector_that_fails_is_the_same(self, pay, payer, acquirer):
        path = pay(asks(PIN))
        acquirer.answers("answer_action", RuntimeError("no such field"))

        answer = send(payer, path, PIN)

        assert "status=pending" in refreshed_to(answer)
        assert Transaction.objects.get().awaiting == "rail"

    def test_that_arrives_after_another_question_is_ignored(self, clock, pay, payer, acquirer):
        """Tests the lease in `payer_actions.require_current`."""
        path = pay(asks(PIN))

        def answer_late():
            clock.advance(minutes=1)
            acquirer.answers("query", asks(OTP))
            call_command("requery_pending")
            send(Client(), path, OTP)
            return asks(PIN)

        acquirer.answers("answer_action", answer_late, LOST)

        send(payer, path, PIN)

        challenge = Challenge.objects.get()
        assert (challenge.kind, challenge.wrong_codes, challenge.transaction.awaiting) == (OTP, 0, "rail")

    def test_is_none_if_the_acquirer_was_unavailable(self, pay, payer, acquirer):
        path = pay(asks(PIN))
        acquirer.is_up = False

        page = shown(send(payer, path, PIN))

        assert "count as an incorrect code" in page
        assert acquirer.calls_of("answer_action") == []
        assert Transaction.objects.get().awaiting == "payer"
