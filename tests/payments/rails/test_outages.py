"""Faults found in the first review, with the acquirer, the bank and a worker as processes."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings as django_settings
from django.db import connection

from payments.models import CardOperation, Transaction
from tests import orders
from tests.payments.rails.processes import acquirer_process, bank_process, environment
from tests.simulators import acquirer_connected, connected_bank

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, pytest.mark.timeout(180)]

PAYMENTS = "/api/payments"
SECONDS_AHEAD = 11


@pytest.fixture
def acquirer(settings):
    with acquirer_process() as running, acquirer_connected(settings, running):
        yield running


class TestUnavailableRails:
    """A repeated request returned 503 while its rail was unavailable, although the payment was charged."""

    def test_replay_repeated_requests_and_reject_new_ones(self, api, acquirer, settings):
        created = [
            orders.card_payment(),
            orders.card_payment(capture=False),
            orders.card_check(),
            orders.payout(),
        ]
        with bank_process() as bank, connected_bank(settings, bank):
            first = [api.post(PAYMENTS, order) for order in created]
            refund = {"reference": "rf-1", "amount": 500}
            refunded = api.post(f"{PAYMENTS}/{created[0]['reference']}/refunds", refund)
            captured = api.post(f"{PAYMENTS}/{created[1]['reference']}/capture", {"amount": 700})
        acquirer.order(is_down=True)  # the bank's process has exited
        before = Transaction.objects.count(), CardOperation.objects.count()

        again = [api.post(PAYMENTS, order) for order in created]
        assert [answer.status_code for answer in first] == [201] * 4
        assert [answer.status_code for answer in again] == [200] * 4
        assert [answer["Idempotent-Replayed"] for answer in again] == ["true"] * 4
        assert [answer.json()["id"] for answer in again] == [answer.json()["id"] for answer in first]
        for path, body, expected in [
            (f"{created[0]['reference']}/refunds", refund, refunded),
            (f"{created[1]['reference']}/capture", {"amount": 700}, captured),
        ]:
            answer = api.post(f"{PAYMENTS}/{path}", body)
            assert (answer.status_code, answer.json()["id"]) == (200, expected.json()["id"])

        different = api.post(PAYMENTS, created[0] | {"amount": 51_000})
        forbidden = api.post(f"{PAYMENTS}/{created[0]['reference']}/void")
        new = [
            api.post(PAYMENTS, orders.card_payment()),
            api.post(PAYMENTS, orders.card_check()),
            api.post(f"{PAYMENTS}/{created[0]['reference']}/refunds", refund | {"reference": "rf-2"}),
        ]
        assert (different.status_code, different.json()["code"]) == (409, "duplicate_reference")
        assert (forbidden.status_code, forbidden.json()["code"]) == (409, "invalid_state")
        assert [answer.json()["code"] for answer in new] == ["rail_unavailable"] * 3
        assert (Transaction.objects.count(), CardOperation.objects.count()) == before


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has the clock of its process")
class TestWorkerAhead:
    def test_does_not_reverse_a_valid_authorisation(self, api, acquirer):
        """A worker 11 seconds ahead reversed a payment that the acquirer answered after 1.5 seconds."""
        worker = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.with_django",
                "tests.payments.rails.skewed_worker",
                str(SECONDS_AHEAD),
            ],
            cwd=django_settings.BASE_DIR,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert worker.stdout.readline() == "ready\n"
            acquirer.order(plan=["delay 1.5"])
            worker.stdin.write("go\n")
            worker.stdin.flush()
            with ThreadPoolExecutor(1) as threads:
                paid = threads.submit(pay_and_close, api).result()
            assert worker.stdout.readline() == "done\n"
        finally:
            worker.kill()
            worker.communicate()

        payment = Transaction.objects.get()
        assert (paid.status_code, paid.json()["status"]) == (201, "success")
        assert (payment.status, payment.queries_made) == ("success", 0)
        assert acquirer.position(payment.retrieval_reference_number)["charged"] == payment.amount


def pay_and_close(api):
    try:
        return api.post(PAYMENTS, orders.card_payment())
    finally:
        connection.close()
