"""Expired authorisations are released at the acquirer. Acquirer, expiry and requery run as processes."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from kit.db import clock
from payments.models import CardOperation, Transaction
from tests.payments.rails.processes import acquirer_process, command
from tests.simulators import acquirer_connected
from tests.transactions import authorised_payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
def acquirer(settings):
    with acquirer_process() as running, acquirer_connected(settings, running):
        yield running


@pytest.fixture
def authorised(ada, acquirer):
    """Return a payment that the acquirer has authorised and that is overdue."""
    payment = authorised_payment(business=ada.business, now=clock.now())
    assert payment.awaiting == "capture"
    assert acquirer.position(payment.retrieval_reference_number)["reserved"] == payment.amount
    Transaction.objects.update(expires_at=clock.now())
    return payment


def run(*arguments):
    ended = command(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def make_due():
    CardOperation.objects.filter(status="pending").update(next_query_at=clock.now(), query_leased_until=None)


def test_hold_is_released_when_the_acquirer_is_available_again(acquirer, authorised):
    rrn = authorised.retrieval_reference_number
    acquirer.order(is_down=True)

    run("expire_due")
    run("requery_pending")

    authorised.refresh_from_db()
    assert (authorised.status, authorised.response_code) == ("failed", "20068")
    assert CardOperation.objects.get().status == "pending"
    assert acquirer.position(rrn) == {"charged": 0, "reserved": authorised.amount, "refunded": 0}

    acquirer.order(is_down=False)
    make_due()
    run("requery_pending")

    assert acquirer.position(rrn) == {"charged": 0, "reserved": 0, "refunded": 0}
    void = CardOperation.objects.get()
    assert (void.kind, void.status) == ("void", "success")
    authorised.refresh_from_db()
    assert (authorised.status, authorised.response_code) == ("failed", "20068")
    assert run("check_ledger").endswith("invariants hold.\n")


def test_void_without_an_answer_is_repeated_with_the_same_numbers(acquirer, authorised):
    acquirer.order(plan=["cut"])  # the acquirer executes it and closes the connection

    run("expire_due")
    run("requery_pending")

    void = CardOperation.objects.get()
    assert (void.status, void.queries_made) == ("pending", 1)
    received = acquirer.order(books=True)["received"]
    make_due()
    run("requery_pending")

    repeated = CardOperation.objects.get()
    assert (repeated.status, repeated.retrieval_reference_number) == (
        "success",
        void.retrieval_reference_number,
    )
    assert acquirer.order(books=True)["received"] > received
    assert acquirer.position(authorised.retrieval_reference_number)["reserved"] == 0


def test_two_concurrent_expiry_processes_create_one_void(authorised):
    with ThreadPoolExecutor(2) as threads:
        outputs = list(threads.map(run, ["expire_due"] * 2))

    assert sorted(outputs) == ["Expired 0 transactions.\n", "Expired 1 transaction.\n"]
    assert CardOperation.objects.count() == 1


def test_partial_capture_releases_the_rest(api, acquirer, ada):
    payment = authorised_payment(business=ada.business, now=clock.now(), amount=50_000)

    answer = api.post(f"/api/payments/{payment.reference}/capture", {"amount": 20_000})

    assert answer.json()["status"] == "success"
    assert acquirer.position(payment.retrieval_reference_number) == {
        "charged": 20_000,
        "reserved": 0,
        "refunded": 0,
    }
