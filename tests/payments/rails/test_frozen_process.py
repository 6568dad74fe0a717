"""A process that is suspended before it sends an authorisation, and resumes after the reversal."""

import os
import signal
import subprocess
import sys
import time
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command

from payments.models import Transaction
from tests.databases import database_url
from tests.factories import BusinessFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
def stopped_payer(acquirer):
    """Return a process that has stored its intent and is suspended before sending it."""
    named = (
        "CARD_ACQUIRER", "ACQUIRER_HOST", "ACQUIRER_PORT", "ACQUIRER_TLS", "ACQUIRER_TERMINAL_ID",
        "ACQUIRER_MERCHANT_ID", "ACQUIRER_INSTITUTION_ID",
    )  # fmt: skip
    rails = {name: str(getattr(settings, name)) for name in named}
    business = BusinessFactory()
    payer = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.with_django",
            "tests.payments.rails.frozen_payer",
            str(business.pk),
            "late",
        ],
        cwd=settings.BASE_DIR,
        env=os.environ | rails | {"DATABASE_URL": database_url()},
        stdout=subprocess.PIPE,
        text=True,
    )
    _, status = os.waitpid(payer.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    yield payer
    payer.kill()
    payer.wait()


def test_authorisation_is_not_sent_after_its_reversal(acquirer, stopped_payer):
    deadline = time.monotonic() + 60
    while (
        "0400" not in acquirer.simulator.received
    ):  # no query is sent before the suspended process's lease expires
        assert time.monotonic() < deadline
        time.sleep(0.5)
        call_command("requery_pending", stdout=StringIO(), stderr=StringIO())
    acquirer.books.delete_reversals()  # not every acquirer stores reversals of authorisations that have not arrived
    created_at = Transaction.objects.get().created_at.timestamp()
    time.sleep(max(0, created_at + 6 - time.time()))

    stopped_payer.send_signal(signal.SIGCONT)
    printed, _ = stopped_payer.communicate(timeout=60)

    payment = Transaction.objects.get()
    assert "0200" not in acquirer.simulator.received
    assert (payment.status, payment.gateway_code) == ("failed", "68")
    assert printed.split() == ["failed"]
    position = acquirer.books.position(payment.retrieval_reference_number)
    assert position == {"charged": 0, "reserved": 0, "refunded": 0}
