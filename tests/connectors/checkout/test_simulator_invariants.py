"""Whatever is called in whatever order, under whatever faults: the simulator's books agree with what it answers."""

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.simulator import AnswerCut, AnswerLost, Simulator
from tests.connectors.checkout.client import Client

FAULTS = (
    "swallow",
    "lose",
    "cut",
    "arrive_late 30",
    "delay 20",
    "error_after 502",
    "error 429",
    "hide 60",
    "duplicate",
)
STEP = st.one_of(
    st.tuples(st.just("pay"), st.sampled_from([100, 5000, 10_005, 6520]), st.booleans()),
    st.tuples(st.sampled_from(["captures", "refunds"]), st.integers(1, 6000), st.booleans()),
    st.tuples(st.sampled_from(["voids", "reversals", "approve"]), st.just(0), st.just(False)),
    st.tuples(st.just("advance"), st.sampled_from([1, 30, 1000, 8 * 24 * 3600]), st.just(False)),
)


def take(client, step, number):
    kind, amount, choice = step
    simulator = client.simulator
    made = list(simulator.account.payments.values())
    if kind == "advance":
        client.pass_time(amount)
    elif kind == "pay":
        client.pay(
            amount=amount,
            capture=choice,
            reference=str(number),
            key=str(number),
            three_ds={"allow_upgrade": choice},
        )
    elif made and kind == "approve":
        client.payer(f"/3ds/{made[-1].session}", result="approve", password=tables.PASSWORD)
    elif made:
        wish = {"amount": amount} if amount else {}
        client.post(f"/payments/{made[-1].id}/{kind}", wish, key=f"{kind}{number}")


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(st.tuples(STEP, st.sampled_from([*FAULTS, *[""] * 9])), max_size=12))
def test_books_agree_with_the_answers(steps):
    simulator = Simulator(seed="a test's", sender=lambda *_: 200)
    client = Client(simulator)
    for number, (step, fault) in enumerate(steps):
        if fault:
            simulator.plan.add(f"{step[0] if step[0] != 'pay' else 'authorise'}: {fault}")
        with suppress(AnswerLost, AnswerCut):
            take(client, step, number)
    client.pass_time(100)

    books = simulator.books()

    total = Decimal()
    for identifier, position in books["payments"].items():
        assert 0 <= position["refunded"] <= position["charged"] <= position["authorized"]
        assert (
            0
            <= position["reserved"]
            == position["authorized"]
            - position["charged"]
            - position["voided"]
            - (simulator.account.payments[identifier].expired)
        )
        approved = [one for one in client.actions(identifier) if one.get("approved")]
        for kind, name in (("Capture", "charged"), ("Refund", "refunded")):
            assert sum(one["amount"] for one in approved if one["type"] == kind) == position[name]
        total += Decimal(position["charged"] - position["refunded"]) / 100
    assert total == books["balances"].get("NGN", {"gross": 0})["gross"]
