"""Payouts over real HTTP to the simulated bank."""

import logging
import socket
import ssl
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
import trustme
from django.core.management import call_command
from django.utils import timezone

from kit.connectors import http_client
from kit.connectors.http_client import NoAnswer
from payments.models import Transaction
from payments.rails import RailUnavailable, http_bank
from payments.rails.protocol import AnswerLost, PayoutOrder
from payments.rails.signed_calls import Peer, SignedCaller
from payments.services.payouts import name_enquiries
from payments.services.payouts.controls import payout_freezes
from payments.services.rails import requery
from tests import orders
from tests.simulators import made_bank, plan, short_bank_timeout
from tests.wallets import STAFF

pytestmark = pytest.mark.django_db

PAYMENTS = "/api/payments"
LOST = ["swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "drip 0.05", "redirect", "delay 0.8"]


def requery_all():
    call_command("requery_pending", stdout=StringIO(), stderr=StringIO())


def pay_out(api, **changes):
    answer = api.post(PAYMENTS, orders.payout(**changes))
    assert answer.status_code == 201, answer.content
    return answer.json()


def again(api, payout):
    return api.get(f"{PAYMENTS}/{payout['reference']}").json()


def paid(bank, payout):
    return bank.books.paid(payout["id"].replace("-", ""))


class TestPayout:
    def test_succeeds(self, api, bank):
        payout = pay_out(api)

        assert (payout["status"], payout["response_code"], payout["gateway_code"]) == (
            "success",
            "10000",
            "00",
        )
        assert len(payout["acquirer_transaction_id"]) == 30
        assert paid(bank, payout) == 250_000

    @pytest.mark.parametrize("code", ["05", "07", "51", "61"])
    def test_fails_with_the_banks_code(self, api, bank, code):
        payout = pay_out(api, amount=int(f"100{code}"))

        assert (payout["status"], payout["response_code"], payout["gateway_code"]) == (
            "failed",
            "20030",
            code,
        )
        assert paid(bank, payout) == 0

    @pytest.mark.parametrize("code", ["02", "91", "98", "99", "A0"])
    def test_stays_pending_after_a_code_that_is_no_listed_refusal(self, api, bank, code):
        """The bank has paid, whatever its code means."""
        bank.books.next_codes.append(code)

        payout = pay_out(api)
        assert (payout["status"], payout["response_code"]) == ("pending", "10001")
        requery_all()

        assert again(api, payout)["status"] == "success"
        assert paid(bank, payout) == 250_000

    def test_stays_pending_if_the_beneficiarys_bank_is_unavailable(self, api, bank):
        """91 is a failure in the sandbox's table, but a real bank may still have sent the money."""
        payout = pay_out(api, amount=10_091)
        requery_all()

        assert (payout["status"], again(api, payout)["status"]) == ("pending", "pending")

    def test_with_an_unknown_outcome_is_queried(self, api, bank):
        customer = {"name": "Ada Obi", "account_number": "0000000097", "bank_code": "058"}

        payout = pay_out(api, customer=customer)
        requery_all()

        assert (payout["status"], again(api, payout)["status"]) == ("pending", "success")
        assert paid(bank, payout) == 250_000

    @pytest.mark.parametrize("act", LOST)
    def test_is_paid_once_whatever_happens_to_the_answer(self, api, bank, act):
        plan(bank, act)

        with short_bank_timeout():
            payout = pay_out(api)
        requery_all()

        assert payout["status"] == "pending"
        assert again(api, payout)["status"] == "success"
        assert paid(bank, payout) == 250_000
        assert len(bank.books.all_paid()) == 1

    @pytest.mark.long
    @pytest.mark.parametrize("act", LOST)
    def test_is_queried_until_answered(self, api, bank, act):
        plan(bank, "lose", act, act)

        with short_bank_timeout():
            payout = pay_out(api)
            for _ in range(2):
                requery_all()
        requery_all()

        assert again(api, payout)["status"] == "success"
        assert paid(bank, payout) == 250_000

    def test_reported_as_duplicate_is_looked_up(self, bank):
        order = payout_order()
        connector = made_bank()

        first, second = connector.send(order), connector.send(order)

        assert second == first
        assert len(bank.books.all_paid()) == 1

    def test_that_never_arrived_is_resent_within_the_banks_retention(self, api, bank):
        plan(bank, "lose_and_cut")
        payout = pay_out(api)

        requery_all()

        assert (again(api, payout)["status"], paid(bank, payout)) == ("success", 250_000)

    def test_that_never_arrived_waits_while_payouts_are_frozen(self, api, ada, bank):
        plan(bank, "lose_and_cut")
        payout = pay_out(api)
        payout_freezes.freeze(ada.business, reason="Stolen key", actor=STAFF, now=timezone.now())

        requery_all()
        frozen = again(api, payout)["status"], paid(bank, payout)
        payout_freezes.lift(ada.business, reason="Revoked", actor=STAFF, now=timezone.now())
        requery_all()

        assert frozen == ("pending", 0)
        assert (again(api, payout)["status"], paid(bank, payout)) == ("success", 250_000)

    def test_that_waited_for_the_end_of_a_freeze_is_sent_at_once_then(self, api, ada, bank):
        plan(bank, "lose_and_cut")
        payout = pay_out(api)
        payout_freezes.freeze(ada.business, reason="Stolen key", actor=STAFF, now=timezone.now())
        for _ in range(3):
            requery_all()
        assert Transaction.objects.get().next_query_at > timezone.now() + timedelta(minutes=5)

        payout_freezes.lift(ada.business, reason="Revoked", actor=STAFF, now=timezone.now())
        list(requery.requery_due())

        assert (again(api, payout)["status"], paid(bank, payout)) == ("success", 250_000)

    def test_that_has_arrived_gets_its_outcome_while_payouts_are_frozen(self, api, ada, bank):
        plan(bank, "cut")
        payout = pay_out(api)
        payout_freezes.freeze(ada.business, reason="Stolen key", actor=STAFF, now=timezone.now())

        requery_all()

        assert (again(api, payout)["status"], paid(bank, payout)) == ("success", 250_000)

    @pytest.mark.parametrize("act", ["lose_and_cut", "cut"])
    def test_is_never_resent_beyond_the_banks_retention(self, api, bank, settings, act):
        """The first release resent orders of any age, so a bank that had deleted the reference paid twice."""
        settings.BANK_MEMORY = 0
        plan(bank, act)
        payout = pay_out(api)
        before = paid(bank, payout)
        with bank.books._lock:
            bank.books._transfers.clear()  # the bank deletes old transfers

        for _ in range(3):
            requery_all()

        assert before == (250_000 if act == "cut" else 0)
        assert bank.books.all_paid() == {}
        assert again(api, payout)["status"] == "pending"
        assert Transaction.objects.get().queries_made == 3
        assert Transaction.objects.beyond_retry_window(at=timezone.now()).exists()

    def test_still_found_beyond_the_banks_retention_gets_its_outcome(self, api, bank, settings):
        settings.BANK_MEMORY = 0
        plan(bank, "cut")
        payout = pay_out(api)

        requery_all()

        assert (again(api, payout)["status"], paid(bank, payout)) == ("success", 250_000)

    def test_is_not_sent_by_a_process_with_an_expired_lease(self, bank):
        """The process was suspended before it sent the order, and resumes after staff have resolved it."""
        late = replace(payout_order(), send_by=timezone.now() - timedelta(seconds=1))

        with pytest.raises(AnswerLost):
            made_bank().send(late)

        assert bank.books.all_paid() == {}

    def test_stays_pending_if_the_answer_has_a_different_amount(self, api, bank, monkeypatch):
        monkeypatch.setattr(bank.books, "send", lambda order: order | {"response_code": "00", "amount": 1})

        assert pay_out(api)["status"] == "pending"

    @pytest.mark.parametrize("code", ["", "0", "000", "é0", None, 0, ["00"]])
    def test_with_an_invalid_code_stays_pending(self, api, bank, monkeypatch, code):
        answer = {"response_code": code}
        monkeypatch.setattr(bank.books, "send", lambda order: {"reference": order["reference"]} | answer)

        assert pay_out(api)["status"] == "pending"

    def test_stays_pending_while_the_bank_is_unreachable(self, api, bank):
        bank.stop()

        assert pay_out(api)["status"] == "pending"
        requery_all()
        assert Transaction.objects.get().queries_made == 1

    def test_concurrent_payouts_are_each_paid_once(self, bank):
        connector = made_bank()
        placed = [payout_order() for _ in range(20)] * 2

        with ThreadPoolExecutor(16) as threads:
            answers = list(threads.map(connector.send, placed))

        assert all(answer.outcome.is_success or answer.outcome.is_pending for answer in answers)
        assert sum(bank.books.all_paid().values()) == 20 * 250_000


class TestNameEnquiry:
    def test_returns_the_name(self, ada, bank):
        asked = {"business": ada.business, "bank_code": "058", "account_number": "0123456789"}

        assert name_enquiries.account_name(**asked) == "Sandbox Account 6789"

    @pytest.mark.parametrize(("bank_code", "number"), [("058", "0000000000"), ("nobank", "0123456789")])
    def test_returns_none_for_an_unknown_account(self, ada, bank, bank_code, number):
        with pytest.raises(name_enquiries.UnknownBeneficiary):
            name_enquiries.account_name(business=ada.business, bank_code=bank_code, account_number=number)

    @pytest.mark.parametrize("act", LOST)
    def test_without_an_answer_is_refused(self, ada, bank, act):
        plan(bank, act)

        with short_bank_timeout(), pytest.raises(RailUnavailable):
            name_enquiries.account_name(business=ada.business, bank_code="058", account_number="0123456789")

    def test_works_in_the_sandbox(self, ada):
        asked = {"business": ada.business, "bank_code": "058", "account_number": "0123456789"}

        assert name_enquiries.account_name(**asked) == "Sandbox Account 6789"

    @pytest.mark.long
    def test_leaves_room_for_transfers_while_others_hang(self, bank, monkeypatch, settings):
        monkeypatch.setattr(http_bank, "MOST_ENQUIRIES", 2)
        settings.BANK_TIMEOUT = 2
        connector = http_bank.HttpBank()
        asked = {"account_number": "0123456789", "nip_code": "000013"}
        plan(bank, *["swallow"] * 2)
        with ThreadPoolExecutor(2) as threads:
            hanging = [threads.submit(connector.account_name, **asked) for _ in range(2)]
            while bank.plan:
                time.sleep(0.01)

            with pytest.raises(AnswerLost):
                connector.account_name(**asked)
            assert connector.is_available()
            assert all(isinstance(each.exception(), AnswerLost) for each in hanging)

    def test_without_a_bank_is_refused(self, ada, settings):
        settings.PAYOUT_BANK = ""

        with pytest.raises(RailUnavailable):
            name_enquiries.account_name(business=ada.business, bank_code="058", account_number="0123456789")


class TestCall:
    def caller(self, bank, **changes):
        known = {"url": bank.url, "client_id": "sluice", "key": bank.key, "timeout": 0.4}
        return SignedCaller(Peer(**known | changes))

    @pytest.mark.long
    @pytest.mark.parametrize("act", ["swallow", "drip 0.02", "delay 5"])
    def test_times_out(self, bank, act):
        plan(bank, act)
        caller = self.caller(bank)

        begun = time.monotonic()
        with pytest.raises(NoAnswer, match="too late"):
            caller.call("GET", "/transfers/1")

        assert 0.3 < time.monotonic() - begun < 2

    def test_is_not_sent_after_its_caller_gave_up(self, bank, monkeypatch):
        """A slow lookup of the address must not send a transfer that is already unknown."""
        caller, looked_up = self.caller(bank, timeout=0.1), threading.Event()
        lookup = socket.getaddrinfo

        def slow_lookup(*arguments):
            looked_up.wait(5)
            return lookup(*arguments)

        monkeypatch.setattr(socket, "getaddrinfo", slow_lookup)
        plan(bank, "answer")
        with pytest.raises(NoAnswer, match="too late"):
            caller.call("GET", "/transfers/1")
        looked_up.set()

        self.wait_until_free(caller)
        assert len(bank.plan) == 1

    @pytest.mark.long
    def test_leaves_no_thread_behind(self, bank):
        """A peer that drips its headers keeps no thread, because the connection is shut down."""
        plan(bank, *["drip 0.05"] * 3)
        caller = self.caller(bank)
        for _ in range(3):
            with pytest.raises(NoAnswer):
                caller.call("GET", "/transfers/1")

        self.wait_until_free(caller)

    def wait_until_free(self, caller):
        deadline = time.monotonic() + 5
        while caller._client._slots._value < http_client.MOST_CALLS:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    @pytest.mark.long
    def test_is_refused_if_too_many_hang(self, bank, monkeypatch):
        monkeypatch.setattr(http_client, "MOST_CALLS", 1)
        caller = self.caller(bank, timeout=2)
        plan(bank, "delay 1")
        with ThreadPoolExecutor(1) as threads:
            hanging = threads.submit(caller.call, "GET", "/transfers/1")
            while caller.has_room():
                time.sleep(0.01)

            with pytest.raises(NoAnswer, match="too many"):
                caller.call("GET", "/transfers/2")

            assert hanging.result()["response_code"] == "25"
        assert caller.has_room()

    @pytest.mark.parametrize("changes", [{"key": "another"}, {"client_id": "another"}])
    def test_with_a_wrong_key_or_client_id_gets_no_answer(self, bank, changes):
        with pytest.raises(NoAnswer, match="401"):
            self.caller(bank, **changes).call("GET", "/transfers/1")

    def test_follows_no_redirects(self, bank):
        plan(bank, "redirect", "answer")

        with pytest.raises(NoAnswer, match="307"):
            self.caller(bank).call("GET", "/transfers/1")

        assert len(bank.plan) == 1

    def test_uses_no_proxy_of_the_environment(self, bank, monkeypatch):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")

        assert self.caller(bank).call("GET", "/transfers/1")["response_code"] == "25"

    def test_rejects_untrusted_certificates(self):
        with tls_server() as port:
            caller = SignedCaller(
                Peer(url=f"https://127.0.0.1:{port}", client_id="sluice", key="key", timeout=5)
            )
            with pytest.raises(NoAnswer, match="SSLError"):
                caller.call("GET", "/transfers/1")

    def test_limits_the_size_of_an_answer(self):
        with talker(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (http_client.LARGEST_ANSWER + 10_000)) as port:
            caller = SignedCaller(Peer(url=f"http://127.0.0.1:{port}", client_id="a", key="k", timeout=5))
            with pytest.raises(NoAnswer, match="too long"):
                caller.call("GET", "/transfers/1")

    @pytest.mark.long
    def test_hides_its_key(self, api, bank, caplog):
        caplog.set_level(logging.DEBUG)
        plan(bank, *LOST)
        with short_bank_timeout():
            for _ in LOST:
                pay_out(api)

        peer = Peer(url=bank.url, client_id="sluice", key=bank.key, timeout=1)
        assert "no answer from the bank" in caplog.text
        assert bank.key not in caplog.text + repr(peer)


def payout_order():
    return PayoutOrder(
        id=uuid.uuid4(),
        amount=250_000,
        currency="NGN",
        beneficiary="Ada Obi",
        account_number="0123456789",
        nip_code="000013",
        narration="",
    )


@contextmanager
def talker(says):
    """A server that sends this to its first client."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk():
            with suppress(OSError):
                caller, _ = server.accept()
                with caller:
                    caller.recv(4096)
                    caller.sendall(says)

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        yield server.getsockname()[1]
    thread.join(5)


@contextmanager
def tls_server():
    """A server with a certificate of an unknown authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def shake_hands():
            with suppress(OSError):
                caller, _ = server.accept()
                context.wrap_socket(caller, server_side=True)

        thread = threading.Thread(target=shake_hands, daemon=True)
        thread.start()
        yield server.getsockname()[1]
    thread.join(5)
