"""The service over a real TCP connection to the simulated acquirer."""

import gc
import logging
import random
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from kit.connectors import connectors
from kit.text.masking import passes_luhn
from payments.models import CardOperation, Transaction
from payments.rails.iso8583.acquirer import SEND_WITHIN
from payments.rails.iso8583.connection import ACKNOWLEDGED_WITHIN
from payments.rails.iso8583.messages import Message
from payments.rails.protocol import CardOrder, RailAnswer, ThreeDSecure
from payments.rules import outcomes
from payments.rules.cards import Card, CardSecret
from payments.services.rails import requery
from payments.services.transactions import transitions
from payments.services.transactions.intents import FIRST_QUERY_AFTER
from payments.services.transactions.transitions import Cause
from payments.simulators import acquirer as acquirer_simulator
from tests import orders
from tests.simulators import made_acquirer, short_acquirer_timeout

pytestmark = [pytest.mark.django_db, pytest.mark.long]

PAYMENTS = "/api/payments"


def requery_all():
    call_command("requery_pending", stdout=StringIO(), stderr=StringIO())


def pay(api, **changes):
    order = orders.card_payment(**changes)
    answer = api.post(PAYMENTS, order)
    assert answer.status_code == 201, answer.content
    return answer.json()


def again(api, payment):
    return api.get(f"{PAYMENTS}/{payment['reference']}").json()


def books(acquirer, payment):
    row = Transaction.objects.get(pk=payment["id"])
    return acquirer.books.position(row.retrieval_reference_number)


def until(condition, *, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)


def card(number=orders.GOOD_CARD):
    return Card(
        secret=CardSecret(number=number, cvv="408"),
        brand="VISA",
        bin=number[:6],
        last4=number[-4:],
        name="Ada Obi",
        expiry_month="12",
        expiry_year="2035",
    )


def card_order(number, *, amount, age=0.0):
    return CardOrder(
        id=uuid.uuid4(),
        amount=amount,
        currency="NGN",
        captures_at_once=True,
        three_ds=ThreeDSecure(),
        has_passed_challenge=False,
        card_bin="408408",
        card_last4="4081",
        card_expiry_month="12",
        card_expiry_year="2035",
        system_trace_audit_number=f"{number:06}",
        retrieval_reference_number=f"632500{number:06}",
        authorization_code="",
        descriptor="Ada Books",
        created_at=timezone.now() - timedelta(seconds=age),
    )


class TestPayment:
    def test_is_charged_by_one_message(self, api, acquirer):
        payment = pay(api)

        assert (payment["status"], payment["response_code"], payment["gateway_code"]) == (
            "success",
            "10000",
            "00",
        )
        assert len(payment["authorization_code"]) == 6
        assert len(payment["acquirer_transaction_id"]) == 21
        assert payment["merchant_descriptor"] == "Ada Books"
        assert books(acquirer, payment) == {"charged": 50_000, "reserved": 0, "refunded": 0}
        assert acquirer.simulator.received == ["0800", "0200"]

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"amount": 10_005}, ("20005", "05", "retry")),
            ({"amount": 10_041}, ("20041", "41", "do_not_retry")),
            ({"amount": 10_043}, ("20043", "43", "do_not_retry")),
            ({"amount": 10_051}, ("20051", "51", "retry")),
            ({"amount": 10_083}, ("20083", "83", "do_not_retry")),
            ({"amount": 10_030}, ("20030", "30", "retry")),
            ({"source": orders.card_source(pan=orders.DECLINED_CARD)}, ("20051", "51", "retry")),
            ({"source": orders.card_source(expiry_year="2020")}, ("20054", "54", "do_not_retry")),
        ],
    )
    def test_is_declined_with_the_issuers_code(self, api, acquirer, changes, expected):
        payment = pay(api, **changes)

        actual = tuple(payment[name] for name in ("response_code", "gateway_code", "gateway_recommendation"))
        assert (payment["status"], actual) == ("failed", expected)
        assert "authorization_code" not in payment
        assert books(acquirer, payment)["charged"] == 0

    def test_of_more_than_twelve_digits_is_refused_without_being_sent(self, api, acquirer):
        refused = api.post("/api/payments", orders.card_payment(amount=10**12))

        assert (refused.status_code, refused.json()["code"]) == (400, "not_supported")
        assert [error["field"] for error in refused.json()["errors"]] == ["amount"]
        assert not Transaction.objects.exists()

    def test_is_not_sent_after_its_deadline(self, acquirer):
        connected = made_acquirer()
        assert connected.is_available()

        answer = connected.authorise(card_order(1, amount=50_000, age=SEND_WITHIN + 0.1), card=card())

        assert (answer.outcome.code, answer.outcome.gateway_code) == ("20030", "91")
        assert acquirer.simulator.received == ["0800"]

    def test_closes_a_connection_without_acknowledgements(self, acquirer):
        connected = made_acquirer()
        assert connected.is_available()

        socket_ = connected.link._thread._writer.get_extra_info("socket")

        assert socket_.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == ACKNOWLEDGED_WITHIN * 1000
        assert FIRST_QUERY_AFTER.total_seconds() > SEND_WITHIN + ACKNOWLEDGED_WITHIN

    def test_with_3d_secure_is_rejected_and_not_stored(self, api, acquirer):
        answer = api.post(PAYMENTS, orders.card_payment(three_ds={"enabled": True}))

        assert (answer.status_code, answer.json()["code"]) == (400, "not_supported")
        assert [each["field"] for each in answer.json()["errors"]] == ["3ds.enabled"]
        assert "3-D Secure" in answer.json()["detail"]
        assert not Transaction.objects.exists()

    def test_with_a_non_ascii_name_succeeds(self, ada, api, acquirer):
        ada.business.descriptor = "Café Ọ̀yọ́ \n 咖啡"
        ada.business.save()

        assert pay(api)["status"] == "success"


class TestCardCheck:
    def test_reserves_nothing(self, api, acquirer):
        check = api.post(PAYMENTS, orders.card_check()).json()

        assert (check["status"], check["amount"]) == ("success", 0)
        assert acquirer.simulator.received == ["0800", "0100"]
        assert books(acquirer, check) == {"charged": 0, "reserved": 0, "refunded": 0}

    def test_without_an_answer_fails_at_requery(self, api, acquirer):
        acquirer.plan("swallow")

        with short_acquirer_timeout():
            check = api.post(PAYMENTS, orders.card_check()).json()
        requery_all()

        assert (check["status"], again(api, check)["status"]) == ("pending", "failed")
        assert "0400" not in acquirer.simulator.received


class TestAuthorisation:
    def test_is_captured_in_part_by_an_advice(self, api, acquirer):
        payment = pay(api, capture=False)
        reserved = books(acquirer, payment)

        captured = api.post(f"{PAYMENTS}/{payment['reference']}/capture", {"amount": 20_000}).json()

        assert (payment["status"], reserved["reserved"]) == ("pending", 50_000)
        assert (captured["status"], captured["total_amount_captured"]) == ("success", 20_000)
        assert books(acquirer, payment) == {"charged": 20_000, "reserved": 0, "refunded": 0}
        assert acquirer.simulator.received == ["0800", "0100", "0220"]

    def test_is_released_by_a_reversal(self, api, acquirer):
        payment = pay(api, capture=False)

        voided = api.post(f"{PAYMENTS}/{payment['reference']}/void").json()

        assert (voided["status"], voided["response_code"]) == ("failed", "20090")
        assert books(acquirer, payment) == {"charged": 0, "reserved": 0, "refunded": 0}
        assert acquirer.simulator.received == ["0800", "0100", "0400"]

    @pytest.mark.parametrize(
        "act", ["swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "delay 0.8"]
    )
    @pytest.mark.parametrize(("action", "ends"), [("capture", ("10000", 50_000)), ("void", ("20090", 0))])
    def test_capture_or_void_is_repeated_until_answered(self, api, acquirer, act, action, ends):
        payment = pay(api, capture=False)
        acquirer.plan(act)

        with short_acquirer_timeout():
            pending = api.post(f"{PAYMENTS}/{payment['reference']}/{action}").json()
        requery_all()

        assert pending["status"] == "pending"
        position = books(acquirer, payment)
        assert (again(api, payment)["response_code"], position["charged"]) == ends
        assert position["reserved"] == 0
        first, repeat = [kind for kind in acquirer.simulator.received if kind[1] in "24"][-2:]
        assert (first, repeat) == {"capture": ("0220", "0221"), "void": ("0400", "0401")}[action]


class TestRefund:
    def test_goes_back_to_the_card(self, api, acquirer):
        payment = pay(api)

        refund = api.post(f"{PAYMENTS}/{payment['reference']}/refunds", {"reference": "rf", "amount": 12_000})

        assert refund.json()["status"] == "success"
        assert books(acquirer, payment) == {"charged": 50_000, "reserved": 0, "refunded": 12_000}

    def test_declined_changes_nothing(self, api, acquirer):
        payment = pay(api)

        refund = api.post(f"{PAYMENTS}/{payment['reference']}/refunds", {"reference": "rf", "amount": 10_005})

        assert refund.json()["status"] == "failed"
        assert again(api, payment)["refund_status"] == "refund_failed"
        assert books(acquirer, payment)["refunded"] == 0

    @pytest.mark.parametrize("act", ["swallow", "lose", "cut", "lose_and_cut", "half", "twice"])
    def test_is_paid_once_whatever_happens_to_the_answer(self, api, acquirer, act):
        payment = pay(api)
        acquirer.plan(act)

        with short_acquirer_timeout():
            api.post(f"{PAYMENTS}/{payment['reference']}/refunds", {"reference": "rf", "amount": 12_000})
        requery_all()
        requery_all()

        assert again(api, payment)["total_amount_refunded"] == 12_000
        assert books(acquirer, payment)["refunded"] == 12_000


class TestLostAnswer:
    @pytest.mark.parametrize("capture", [True, False])
    @pytest.mark.parametrize(
        "act", ["swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "delay 0.8", "arrive_late 0.8"]
    )
    def test_ends_reversed_and_failed(self, api, acquirer, act, capture):
        acquirer.plan(act)

        with short_acquirer_timeout():
            pending = pay(api, capture=capture)
        requery_all()
        time.sleep(0.5 if "0.8" in act else 0)  # late messages arrive now

        payment = again(api, pending)
        assert (pending["status"], pending["response_code"]) == ("pending", "10001")
        assert (payment["status"], payment["response_code"], payment["gateway_code"]) == (
            "failed",
            "20030",
            "68",
        )
        assert books(acquirer, pending) == {"charged": 0, "reserved": 0, "refunded": 0}

    def test_triggered_by_amount_is_also_reversed(self, api, acquirer):
        with short_acquirer_timeout():
            pending = pay(api, amount=10_098)

        requery_all()

        assert (pending["status"], again(api, pending)["status"]) == ("pending", "failed")
        assert books(acquirer, pending)["charged"] == 0

    def test_is_reversed_until_the_acquirer_confirms(self, api, acquirer, clock):
        acquirer.plan("swallow", "lose", "swallow", "lose_and_cut")
        awaited = []
        with short_acquirer_timeout():
            payment = pay(api)
            for _ in range(3):
                requery_all()
                awaited.append(Transaction.objects.get().awaiting)
        requery_all()
        awaited.append(Transaction.objects.get().awaiting)

        assert awaited == ["reversal", "reversal", "reversal", ""]
        assert acquirer.simulator.received.count("0400") == 1
        assert acquirer.simulator.received.count("0401") == 3
        assert (again(api, payment)["status"], books(acquirer, payment)["charged"]) == ("failed", 0)
        moves = Transaction.objects.get().transitions.filter(attribute="awaiting")
        assert [move.after for move in moves] == ["reversal"]

    def test_that_arrives_during_the_reversal_is_ignored(self, api, acquirer):
        """The calling thread was delayed after it received the answer, and requery began the reversal."""
        acquirer.plan("swallow", "swallow")
        approved = RailAnswer(outcome=outcomes.COMPLETED, authorization_code="123456")
        with short_acquirer_timeout():
            payment = pay(api)
            held_up = Transaction.objects.get()
            requery_all()

        transitions.apply_answer(held_up, approved, cause=Cause.RAIL, now=timezone.now())
        between = Transaction.objects.get()
        requery_all()

        assert (between.status, between.awaiting) == ("pending", "reversal")
        assert (again(api, payment)["status"], books(acquirer, payment)["charged"]) == ("failed", 0)

    def test_that_arrives_before_requery_is_applied(self, api, acquirer):
        acquirer.plan("swallow")
        with short_acquirer_timeout():
            payment = pay(api)
        begun = requery.unanswered()
        approved = RailAnswer(outcome=outcomes.COMPLETED, authorization_code="123456")
        transitions.apply_answer(Transaction.objects.get(), approved, cause=Cause.RAIL, now=timezone.now())

        asked = list(requery.query_leased(begun, clock=timezone.now))

        assert [one.is_answered for one in asked] == [True]
        assert "0400" not in acquirer.simulator.received
        assert (again(api, payment)["status"], books(acquirer, payment)["charged"]) == ("success", 50_000)

    def test_leaves_one_event(self, api, acquirer):
        acquirer.plan("swallow")
        with short_acquirer_timeout():
            pay(api)

        requery_all()
        requery_all()

        moves = Transaction.objects.get().transitions.filter(attribute="status")
        assert [move.after for move in moves] == ["failed"]


class TestLateAnswer:
    def test_is_not_matched_to_later_messages(self, api, acquirer, caplog):
        acquirer.plan("delay 0.6", "answer")
        caplog.set_level(logging.WARNING)

        with short_acquirer_timeout():
            first = pay(api, amount=10_051)
        second = pay(api)
        until(lambda: "unexpected answer from the acquirer" in caplog.text)

        assert (first["status"], second["status"]) == ("pending", "success")

    def test_received_twice_counts_once(self, api, acquirer):
        acquirer.plan("twice", "twice")

        first, second = pay(api, amount=20_000), pay(api, amount=30_000)

        assert (first["status"], second["status"]) == ("success", "success")
        assert books(acquirer, first)["charged"] + books(acquirer, second)["charged"] == 50_000


class TestHostileAnswer:
    """A host that sends arbitrary data within a valid frame."""

    @pytest.fixture
    def answer_with(self, acquirer, monkeypatch):
        usual = acquirer.books.answer

        def use(fields):
            def answer(question):
                message = usual(question)
                return Message(message.type, message.fields | fields)

            monkeypatch.setattr(acquirer.books, "answer", answer if fields else usual)

        return use

    @pytest.mark.parametrize("code", ["\0\0", "\x00a", "  ", "-1", "\x7f\x7f"], ids=ascii)
    def test_without_a_response_code_leaves_the_payment_pending(self, api, acquirer, answer_with, code):
        answer_with({39: code})

        payment = pay(api)

        assert payment["status"] == "pending"
        answer_with({})
        requery_all()
        assert again(api, payment)["status"] == "failed"
        assert books(acquirer, payment)["charged"] == 0

    def test_with_control_characters_is_stored_without_them(self, api, acquirer, answer_with):
        answer_with({38: "a\x00b\n\x7fc", 63: "\x00" * 300 + "x" * 600})

        payment = pay(api)

        assert payment["status"] == "success"
        assert payment["authorization_code"] == "a b c"
        assert payment.get("acquirer_transaction_id", "").isprintable()

    def test_of_any_bytes_closes_the_connection_and_leaves_the_payment_pending(
        self, api, acquirer, monkeypatch
    ):
        """No input from a host stops the thread that maintains the connection."""
        noise = random.Random(16)
        for length in (1, 4, 12, 20, 100, 4096):
            sent = b"0110" + noise.randbytes(length)
            monkeypatch.setattr(acquirer_simulator, "_as_sent", lambda *_, sent=sent: frame_of(sent[:4096]))
            with short_acquirer_timeout():
                assert pay(api)["status"] == "pending"
        monkeypatch.undo()

        until(made_acquirer().is_available)
        assert pay(api)["status"] == "success"


class TestConnection:
    def test_is_reopened_after_it_was_closed(self, api, acquirer):
        pay(api)
        acquirer.do(hang_up=True)
        until(lambda: acquirer.simulator.received.count("0800") == 2)

        assert pay(api)["status"] == "success"

    def test_failure_returns_503_and_stores_nothing(self, api, acquirer):
        acquirer.stop()

        answers = [api.post(PAYMENTS, orders.card_payment()) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [503, 503]
        assert answers[0].json()["code"] == "rail_unavailable"
        assert "unavailable" in answers[0].json()["detail"]
        assert answers[0]["Retry-After"] == "5"
        assert not Transaction.objects.exists()

    def test_that_is_down_is_reported_at_once(self, api, acquirer):
        acquirer.stop()
        api.post(PAYMENTS, orders.card_payment())

        begun = time.monotonic()
        api.post(PAYMENTS, orders.card_payment())

        assert time.monotonic() - begun < 1

    def test_is_unavailable_until_sign_on_is_accepted(self, api, acquirer):
        acquirer.do(refuses_sign_on=True)
        refused = api.post(PAYMENTS, orders.card_payment()).status_code

        acquirer.do(refuses_sign_on=False)
        until(lambda: made_acquirer().is_available())

        assert refused == 503
        assert pay(api)["status"] == "success"

    def test_answers_the_hosts_echo(self, api, acquirer):
        pay(api)

        acquirer.do(send_echo=True)

        until(lambda: acquirer.simulator.echoes_answered == 1)

    def test_sends_echoes_and_reconnects_without_an_answer(self, api, acquirer, settings):
        settings.ACQUIRER_ECHO_INTERVAL, settings.ACQUIRER_TIMEOUT = 0.05, 1
        connectors._made.cache_clear()
        pay(api)
        until(lambda: acquirer.simulator.received.count("0800") > 3)

        acquirer.do(is_deaf=True)
        until(lambda: not made_acquirer().link._thread._up.is_set())
        acquirer.do(is_deaf=False)
        until(lambda: made_acquirer().is_available())

        assert pay(api)["status"] == "success"

    def test_failure_does_not_affect_pending_payments(self, api, acquirer):
        acquirer.plan("swallow")
        with short_acquirer_timeout():
            pay(api)
        acquirer.stop()
        until(lambda: not made_acquirer().is_available())

        requery_all()

        waiting = Transaction.objects.get()
        assert (waiting.awaiting, waiting.queries_made) == ("rail", 1)


class TestManyAtOnce:
    def test_are_matched_over_one_connection(self, ada, acquirer):
        """Answers arrive out of order, and every thread gets the one to its own message."""
        connector = made_acquirer()
        acquirer.do(jitter=0.2)

        def ask(number):
            order = card_order(number, amount=20_000 + (51 if number % 2 else 0))
            return connector.authorise(order, card=card())

        with ThreadPoolExecutor(50) as threads:
            said = list(threads.map(ask, range(50)))

        assert [answer.outcome.code for answer in said] == ["10000", "20051"] * 25
        codes = {answer.acquirer_transaction_id for answer in said}
        assert len(codes) == 50
        assert acquirer.simulator.received.count("0800") == 1


class TestSecrets:
    def test_are_in_no_log_and_no_error(self, api, acquirer, caplog, capsys, monkeypatch):
        caplog.set_level(logging.DEBUG)
        number = "5399838383838381"
        assert passes_luhn(number)
        source = orders.card_source(pan=number, cvv="8263")
        for act in ("answer", "swallow", "garbage", "half", "cut", "twice", "delay 0.6"):
            acquirer.plan(act)
            with short_acquirer_timeout():
                pay(api, source=source)
        monkeypatch.setattr("payments.rails.iso8583.messages.PURCHASE", "too long for its field")
        assert pay(api, source=source)["gateway_code"] == "30"
        requery_all()
        acquirer.stop()
        until(lambda: not made_acquirer().is_available())

        written = caplog.text + str(capsys.readouterr()) + repr(vars(made_acquirer().link))
        assert "connection to the acquirer ended" in written
        assert number not in written
        assert "8263" not in written

    def test_are_not_stored_by_the_link(self, api, acquirer):
        acquirer.plan("swallow")
        with short_acquirer_timeout():
            pay(api, source=orders.card_source(pan="5399838383838381", cvv="8263"))
        link = made_acquirer().link

        gc.collect()

        assert not link._thread._pending._waiting


def frame_of(content):
    return len(content).to_bytes(2) + content


def test_operations_have_numbers_of_their_own(api, acquirer):
    payment = pay(api, capture=False)
    api.post(f"{PAYMENTS}/{payment['reference']}/capture")

    operation = CardOperation.objects.get()
    assert len(operation.system_trace_audit_number) == 6
    assert operation.retrieval_reference_number.endswith(operation.system_trace_audit_number)
    assert operation.retrieval_reference_number != payment["retrieval_reference_number"]
    assert requery.unanswered() == []


class TestCodes:
    """Which codes approve, which refuse, and that others do neither."""

    @pytest.mark.parametrize("code", ["08", "11", "16"])
    def test_of_other_approvals_charge(self, api, acquirer, code):
        acquirer.books.next_codes.append(code)

        payment = pay(api)

        assert (payment["status"], payment["gateway_code"]) == ("success", code)
        assert payment["authorization_code"]
        assert books(acquirer, payment)["charged"] == payment["amount"]

    def test_85_approves_a_card_check_only(self, api, acquirer):
        acquirer.books.next_codes.extend(["85", "85"])

        check = api.post(PAYMENTS, orders.card_check()).json()
        payment = pay(api)
        requery_all()

        assert (check["status"], check["gateway_code"]) == ("success", "85")
        assert (payment["status"], again(api, payment)["status"]) == ("pending", "failed")
        assert books(acquirer, payment) == {"charged": 0, "reserved": 0, "refunded": 0}

    def test_of_a_partial_approval_reverses_and_then_declines(self, api, acquirer):
        acquirer.books.next_codes.append("10")

        payment = pay(api)
        assert (payment["status"], payment["response_code"]) == ("pending", "10001")
        assert books(acquirer, payment)["charged"] == payment["amount"] // 2
        requery_all()

        payment = again(api, payment)
        assert (payment["status"], payment["response_code"], payment["gateway_code"]) == (
            "failed",
            "20013",
            "10",
        )
        assert books(acquirer, payment)["charged"] == 0

    def test_of_a_partial_approval_leaves_it_pending_until_the_reversal_is_answered(self, api, acquirer):
        acquirer.books.next_codes.append("10")
        payment = pay(api)
        acquirer.plan("swallow")
        with short_acquirer_timeout():
            requery_all()

        assert again(api, payment)["status"] == "pending"
        requery_all()
        assert again(api, payment)["response_code"] == "20013"

    def test_of_a_partial_approval_is_not_reversed_by_an_acquirer_that_finds_no_original(self, api, acquirer):
        """It has just approved the original, so 25 doesn't prove that nothing is reserved."""
        acquirer.books.next_codes.append("10")
        payment = pay(api)
        acquirer.books.delete_authorisations()
        requery_all()

        assert again(api, payment)["status"] == "pending"
        assert "0400" in acquirer.simulator.received

    def test_of_a_partial_approval_sends_a_reversal_and_then_repeats_of_it(self, api, acquirer):
        acquirer.books.next_codes.append("10")
        pay(api)
        acquirer.plan("swallow")
        with short_acquirer_timeout():
            requery_all()
        requery_all()

        assert [kind for kind in acquirer.simulator.received if kind[1] == "4"] == ["0400", "0401"]

    @pytest.mark.parametrize("code", ["09", "68", "76", "96", "N7", "Z3"])
    def test_that_are_unlisted_reverse_the_payment_before_it_fails(self, api, acquirer, code):
        acquirer.books.next_codes.append(code)

        payment = pay(api)
        requery_all()

        assert (payment["status"], again(api, payment)["status"]) == ("pending", "failed")
        assert "0400" in acquirer.simulator.received
