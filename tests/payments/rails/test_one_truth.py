"""Whatever faults the acquirer or the bank injects, their records and our ledger agree in the end."""

import time
from io import StringIO

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from payments.models import CardOperation, Transaction
from payments.services.rails import requery
from tests import orders
from tests.simulators import plan, short_acquirer_timeout, short_bank_timeout

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.servers]

PAYMENTS = "/api/payments"
PATIENCE = 0.1  # seconds
ACTS = [
    "answer", "swallow", "lose", "cut", "lose_and_cut", "half", "garbage", "twice",
    f"delay {PATIENCE * 1.5}", f"arrive_late {PATIENCE * 1.5}",
]  # fmt: skip
acts = st.lists(st.sampled_from(ACTS), min_size=1, max_size=6)
amounts = st.sampled_from([20_000, 20_000, 20_000, 10_051, 10_098])


def scenarios(*, capture, steps):
    return st.fixed_dictionaries(
        {
            "capture": st.just(capture),
            "amount": amounts,
            "acts": acts | acts.map(lambda these: ["answer", *these]),  # otherwise few are authorised
            "steps": st.lists(st.sampled_from(steps), min_size=1, max_size=4),
        }
    )


cards = scenarios(capture=True, steps=["refund", "requery_all"]) | scenarios(
    capture=False, steps=["capture", "void", "refund", "requery_all"]
)
often = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def requery_all():
    call_command("requery_pending", stdout=StringIO(), stderr=StringIO())


def requery_until_all_is_known():
    for _ in range(20):
        if not requery.unanswered():
            return
        requery_all()
    pytest.fail("some outcomes stay unknown")


def take(api, step, order, number):
    address = f"{PAYMENTS}/{order['reference']}"
    if step == "requery_all":
        requery_all()
    elif step == "refund":
        api.post(f"{address}/refunds", {"reference": f"{order['reference']}.{number}", "amount": 5_000})
    else:
        api.post(f"{address}/{step}")


@given(scenario=cards)
@example(scenario={"capture": False, "amount": 20_000, "acts": ["answer", "swallow"], "steps": ["capture"]})
@example(scenario={"capture": False, "amount": 20_000, "acts": ["answer", "cut"], "steps": ["void"]})
@example(scenario={"capture": True, "amount": 20_000, "acts": ["answer", "half"], "steps": ["refund"]})
@often
def test_of_cards(api, acquirer, scenario):
    order = orders.card_payment(capture=scenario["capture"], amount=scenario["amount"])
    acquirer.plan(*scenario["acts"])
    with short_acquirer_timeout(PATIENCE):
        api.post(PAYMENTS, order)
        for number, step in enumerate(scenario["steps"]):
            take(api, step, order, number)
    acquirer.simulator.plan.clear()
    requery_until_all_is_known()
    time.sleep(PATIENCE * 2 if any(" " in act for act in scenario["acts"]) else 0)  # late messages arrive

    payment = Transaction.objects.filter(reference=order["reference"]).first()
    if payment is None:
        return  # there was no connection, so it was rejected
    position = acquirer.books.position(payment.retrieval_reference_number)
    is_reserved = payment.awaiting == Transaction.Awaiting.CAPTURE
    assert payment.status != "pending" or is_reserved
    assert position == {
        "charged": payment.amount_captured,
        "reserved": payment.amount if is_reserved else 0,
        "refunded": payment.amount_refunded,
    }
    assert payment.status == "success" or payment.amount_captured == 0
    refunded = CardOperation.objects.filter(transaction=payment, kind="refund", status="success")
    assert sum(refund.amount for refund in refunded) == payment.amount_refunded


@given(
    acts=st.lists(st.sampled_from([*ACTS, "redirect", "drip 0.005"]), max_size=6),
    amount=st.sampled_from([250_000, 10_051]),
    sweeps=st.integers(0, 3),
)
@often
def test_of_payouts(api, bank, acts, amount, sweeps):
    order = orders.payout(amount=amount)
    plan(bank, *acts)
    with short_bank_timeout(PATIENCE):
        api.post(PAYMENTS, order)
        for _ in range(sweeps):
            requery_all()
    bank.plan.clear()
    requery_until_all_is_known()
    time.sleep(PATIENCE * 2 if any("late" in act for act in acts) else 0)

    payout = Transaction.objects.get(reference=order["reference"])
    assert payout.status == ("success" if amount == 250_000 else "failed")
    assert bank.books.paid(payout.id.hex) == (amount if payout.status == "success" else 0)
