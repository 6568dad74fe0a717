"""Concurrent requests of merchants to a service in separate processes."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests import orders
from tests.clients import HttpClient
from tests.journeys.service import start_service

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.sqlite, pytest.mark.xdist_group("journey")]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A service whose acquirer records each call in a file, and that file."""
    folder = tmp_path_factory.mktemp("recorded")
    calls = folder / "calls"
    with start_service(
        folder, CARD_ACQUIRER="tests.rails.RecordingAcquirer", RECORDED_CALLS=str(calls)
    ) as running:
        yield running, calls


@pytest.fixture(scope="module")
def covering(tmp_path_factory):
    """A service whose payouts must be covered."""
    with start_service(tmp_path_factory.mktemp("covering"), PAYOUT_REQUIRES_BALANCE="true") as running:
        yield running


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(max_workers=len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def captured_payment(client: HttpClient, amount: int) -> str:
    order = orders.card_payment(amount=amount)
    assert client.post("/api/payments", order).json()["status"] == "success"
    return f"/api/payments/{order['reference']}"


class TestEqualCreates:
    def test_are_one_payment_and_one_call_of_the_acquirer(self, recorded):
        service, calls = recorded
        client = service.client
        order = orders.card_payment(amount=50_000)

        answers = at_once(*[partial(client.post, "/api/payments", order)] * 100)

        assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 99}
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert {answer.json()["status"] for answer in answers} <= {"success", "pending"}
        for answer in answers:
            assert answer.headers.get("Idempotent-Replayed") == (
                None if answer.status_code == 201 else "true"
            )
        assert calls.read_text().splitlines() == [f"authorise {answers[0].json()['id']}"]
        assert len(client.get("/api/payments").json()["data"]) == 1

    def test_are_one_challenge_with_one_address(self, service):
        client = service.open_business("Challenged Chairs")
        order = orders.card_payment(source=orders.card_source(pan=orders.CHALLENGED_CARD))

        answers = at_once(*[partial(client.post, "/api/payments", order)] * 20)

        assert len({answer.json()["id"] for answer in answers}) == 1
        assert len({link for answer in answers if (link := answer.json().get("redirect_link"))}) == 1


class TestRefundsAtOnce:
    def test_never_exceed_what_was_captured(self, service):
        client = service.client
        payment = captured_payment(client, 100)
        wanted = [{"reference": orders.new_reference("rf"), "amount": 30} for _ in range(50)]

        answers = at_once(*[partial(client.post, f"{payment}/refunds", one) for one in wanted])

        assert Counter(answer.status_code for answer in answers) == {201: 3, 400: 47}
        refused = [answer.json()["code"] for answer in answers if answer.status_code == 400]
        assert set(refused) == {"amount_too_large"}
        shown = client.get(payment).json()
        assert shown["refund_status"] == "partially_refunded"
        assert shown["total_amount_refunded"] == 90
        assert shown["total_amount_available_to_refund"] == 10
        assert len(client.get(f"{payment}/refunds").json()["data"]) == 3

    def test_with_one_reference_are_one_refund(self, service):
        client = service.client
        payment = captured_payment(client, 50_000)
        wanted = {"reference": orders.new_reference("rf"), "amount": 20_000}

        answers = at_once(*[partial(client.post, f"{payment}/refunds", wanted)] * 30)

        assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 29}
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert client.get(payment).json()["total_amount_refunded"] == 20_000

    def test_of_the_full_amount_refund_it_once(self, service):
        client = service.client
        payment = captured_payment(client, 50_000)
        wanted = [{"reference": orders.new_reference("rf")} for _ in range(20)]

        answers = at_once(*[partial(client.post, f"{payment}/refunds", one) for one in wanted])

        assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 19}
        shown = client.get(payment).json()
        assert (shown["refund_status"], shown["total_amount_available_to_refund"]) == ("refunded", 0)


class TestCaptureVoidAndRefundAtOnce:
    LEGAL = (
        # capture, void, refund
        (200, 409, 201),  # captured, and refunded afterwards
        (200, 409, 409),  # the refund came before the capture
        (409, 200, 409),  # voided
    )

    def test_leave_a_valid_sequence_and_consistent_totals(self, service):
        client = service.client
        for _ in range(40):
            order = orders.card_payment(capture=False, amount=40_000)
            payment = f"/api/payments/{order['reference']}"
            client.post("/api/payments", order)
            wanted = {"reference": orders.new_reference("rf"), "amount": 15_000}

            answers = at_once(
                partial(client.post, f"{payment}/capture", {"amount": 25_000}),
                partial(client.post, f"{payment}/void"),
                partial(client.post, f"{payment}/refunds", wanted),
            )

            codes = tuple(answer.status_code for answer in answers)
            assert codes in self.LEGAL, [answer.text for answer in answers]
            shown = client.get(payment).json()
            captured = 25_000 if codes[0] == 200 else 0
            refunded = 15_000 if codes[2] == 201 else 0
            assert shown["status"] == ("success" if captured else "failed")
            assert shown["response_code"] == ("10000" if captured else "20090")
            assert shown["total_amount_captured"] == captured
            assert shown["total_amount_refunded"] == refunded
            assert shown["total_amount_available_to_refund"] == captured - refunded
            assert shown["refund_status"] == ("partially_refunded" if refunded else "none")


class TestOneBalance:
    """Refunds by bank transfer and payouts take from the same wallet."""

    def test_is_never_spent_twice(self, covering):
        client = covering.client
        payment = settled_transfer_payment(client, 1_000_000)
        before = balance(client)
        destination = {"name": "Ada Obi", "account_number": "0123456789", "bank_code": "058"}
        wanted = [
            {"reference": orders.new_reference("rf"), "amount": 100_000, "destination": destination}
            for _ in range(8)
        ]

        answers = at_once(
            *[partial(client.post, f"{payment}/refunds", one) for one in wanted],
            *[partial(client.post, "/api/payments", orders.payout(amount=100_000)) for _ in range(8)],
        )

        refunds, payouts = answers[:8], [answer.json() for answer in answers[8:]]
        assert {answer.status_code for answer in refunds} <= {201, 409}
        assert {payout["response_code"] for payout in payouts} <= {"10000", "20051"}
        paid_out = [payout for payout in payouts if payout["response_code"] == "10000"]
        refunded = [answer for answer in refunds if answer.status_code == 201]
        spent = 100_000 * len(refunded) + sum(payout["amount"] + payout["fee"] for payout in paid_out)
        assert before - 110_000 < spent <= before
        assert balance(client) == before - spent
        assert covering.command("check_ledger").returncode == 0


def settled_transfer_payment(client: HttpClient, amount: int) -> str:
    """Return the path of a payment by bank transfer whose money is in the wallet."""
    account = client.post("/api/virtual-accounts", orders.static_account()).json()
    paid = orders.transfer_payment(account["id"], amount=amount)
    assert client.post("/api/payments", paid).status_code == 201
    arrived = {
        "account_number": account["customer"]["account_number"], "amount": amount, "sender_name": "Ada Obi",
    }  # fmt: skip
    assert client.post("/api/virtual-accounts/simulate", arrived).status_code == 200
    assert client.post("/api/sandbox/advance", {"day": "released"}).status_code == 200
    return f"/api/payments/{paid['reference']}"


def balance(client: HttpClient) -> int:
    """Return what the business may pay out: a negative settlement to come is deducted."""
    shown = client.get("/api/balance").json()["data"][0]
    return shown["available"] + min(shown["pending"], 0)
