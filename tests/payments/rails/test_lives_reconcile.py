"""Complete lifecycles of card payments, transfers and payouts match the simulators' own statements.

The acquirer and the bank are processes with their own ledgers.
"""

import csv
import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from cash.models import Break
from kit.db import clock
from kit.money.amount_input import minor_units
from kit.money.money import written
from ledger.models import Account
from payments.models import CardOperation, Transaction
from payments.services.reconciliation import breaks
from payments.services.transfers import unapplied_decisions
from tests import orders
from tests.bank_statements import bank_account, import_statement
from tests.payments.rails.processes import acquirer_process, bank_process
from tests.settling import STAFF
from tests.simulators import acquirer_connected, connected_bank
from virtual_accounts.models import UnappliedMoney

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, pytest.mark.timeout(300)]

KEY = "bank-key-of-today-0123456789-0123456789"
PAYMENTS = "/api/payments"


@pytest.fixture
def acquirer(settings):
    with acquirer_process() as running, acquirer_connected(settings, running):
        yield running


@pytest.fixture
def bank(settings, live_server):
    settings.BANK_NOTIFICATION_KEYS = [KEY]
    notify = ("--notify", live_server.url)
    with bank_process(*notify, BANK_NOTIFICATION_KEYS=KEY) as running, connected_bank(settings, running):
        yield running


@pytest.fixture
def gtbank(db):
    mapping = {
        "date": "day", "amount": "amount", "sign": "direction", "debit_sign": "out", "reference": "reference",
        "currency": "currency",
    }  # fmt: skip
    return bank_account(pays_out=["http"], receives=["hosting_bank", "top_ups"], csv_mapping=mapping)


@pytest.fixture
def assert_reconciled(gtbank, tmp_path):
    """Return a function that imports the bank's statement, and checks that every line is matched and nothing is missing."""

    def check(statement, *, lines):
        total = sum(_signed(row, minor_units(row["amount"], "NGN")) for row in rows_of(statement))
        options = ("--opening", "0", "--closing", written(total, "NGN"))
        assert import_statement(tmp_path, statement, *options)["matched"] == lines
        breaks.update(gtbank, now=clock.now() + timedelta(days=7))
        assert list(Break.objects.filter(ended_at=None)) == []
        assert run("check_ledger").endswith("invariants hold.\n")

    return check


def rows_of(statement):
    return list(csv.DictReader(StringIO(statement)))


def _signed(row, amount):
    return amount if row["direction"] == "in" else -amount


def run(command):
    out = StringIO()
    call_command(command, stdout=out, stderr=StringIO())
    return out.getvalue()


def create(api, order, *, status="success"):
    answer = api.post(PAYMENTS, order)
    assert answer.status_code == 201, answer.content
    assert answer.json()["status"] == status, answer.json()
    return answer.json()


def act(api, payment, action, body=None):
    answer = api.post(f"{PAYMENTS}/{payment['reference']}/{action}", body)
    assert answer.status_code in {200, 201}, answer.content
    return answer.json()


def refund(api, payment, amount):
    return act(api, payment, "refunds", {"reference": orders.new_reference("rf"), "amount": amount})


def owed(kind):
    return sum(Account.objects.filter(kind=kind).values_list("balance", flat=True))


def test_lifecycle_of_cards(api, acquirer):
    purchase = create(api, orders.card_payment(amount=60_000))
    assert refund(api, purchase, 20_000)["status"] == "success"
    assert refund(api, purchase, 20_098)["status"] == "pending"  # the first answer is lost
    assert refund(api, purchase, 10_005)["status"] == "failed"
    captured = create(api, orders.card_payment(amount=100_000, capture=False), status="pending")
    assert act(api, captured, "capture", {"amount": 40_000})["status"] == "success"
    assert refund(api, captured, 10_000)["status"] == "success"
    voided = create(api, orders.card_payment(capture=False), status="pending")
    assert act(api, voided, "void")["response_code"] == "20090"
    create(api, orders.card_payment(amount=10_051), status="failed")
    expired = create(api, orders.card_payment(capture=False), status="pending")
    Transaction.objects.filter(pk=expired["id"]).update(expires_at=clock.now())
    run("expire_due")
    acquirer.order(plan=["cut"])  # charged, and the answer is lost
    lost = create(api, orders.card_payment(amount=70_000), status="pending")
    run("requery_pending")

    rrn = Transaction.objects.get(pk=lost["id"]).retrieval_reference_number
    assert acquirer.position(rrn)["charged"] == 0
    assert not CardOperation.objects.filter(status="pending").exists()
    assert not Transaction.objects.filter(status="pending").exists()
    assert sum(one["reserved"] for one in acquirer.order(books=True)["books"].values()) == 0
    # 1 purchase, 1 capture, 3 refunds; none for the void, the expiry, the decline and the reversal
    rows = rows_of(acquirer.order(statement=True)["statement"])
    sums = {
        each: sum(int(row["amount"]) for row in rows if row["direction"] == each) for each in ("in", "out")
    }
    assert (len(rows), sums) == (5, {"in": -owed("acquirer_receivable"), "out": owed("refunds_payable")})
    assert run("check_ledger").endswith("invariants hold.\n")


def receive(bank, number, amount, **fields):
    result = bank.order(receive={"account_number": number, "amount": amount, **fields})
    assert result["answer"]["status"] == 200, result
    return json.loads(result["answer"]["body"])["applied"]


def test_lifecycle_of_transfers(api, bank, assert_reconciled):
    static = api.post("/api/virtual-accounts", orders.static_account()).json()
    dynamic = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
    paid = create(api, orders.transfer_payment(dynamic["id"]), status="pending")
    number = paid["virtual_account_details"]["account_number"]
    sender = {"sender_name": "Bisi Ojo", "sender_account_number": "0123456789", "sender_bank_code": "058"}

    applied = [
        receive(bank, number, paid["amount"], **sender),
        receive(bank, static["customer"]["account_number"], 30_000, sender_name="Chidi Eze"),
        receive(bank, number, 70_000, **sender),  # a second transfer
        receive(bank, number, 80_000, **sender),
        receive(bank, "9999999999", 90_000),  # an unknown account number
    ]
    assert applied == ["session", "new_payment", "unapplied", "unapplied", "unclaimed"]
    assert refund(api, paid, 20_000)["status"] == "success"
    returned, credited = UnappliedMoney.objects.order_by("id")
    unapplied_decisions.return_to_sender(returned.pk, reason="Paid twice", actor=STAFF, now=clock.now())
    unapplied_decisions.credit(credited.pk, reason="Found its owner", actor=STAFF, now=clock.now())

    assert Transaction.objects.filter(request_type="payout").get().status == "success"
    # 5 transfers in, 1 refund and 1 return out
    assert_reconciled(bank.order(statement=True)["statement"], lines=7)


def return_payout(bank, payout, **part):
    result = bank.order(**{"return": {"reference": payout["id"].replace("-", ""), **part}})
    return json.loads(result["answer"]["body"])["applied"]


def test_lifecycle_of_payouts(api, bank, assert_reconciled):
    create(api, orders.payout(amount=250_000))
    create(api, orders.payout(amount=250_051), status="failed")
    lost = orders.payout(amount=120_000)
    lost["customer"]["account_number"] = "0000000097"
    create(api, lost, status="pending")
    bank.order(plan=["lose_and_cut"])
    create(api, orders.payout(amount=130_000), status="pending")  # it never arrived and is resent
    run("requery_pending")
    returned, in_parts = (create(api, orders.payout(amount=amount)) for amount in (140_000, 150_000))
    never_answered = orders.payout(amount=160_000)
    never_answered["customer"]["account_number"] = "0000000097"
    pending = create(api, never_answered, status="pending")
    parts = [(returned, {}), (in_parts, {"amount": 50_000}), (in_parts, {"amount": 100_000})]
    applied = [return_payout(bank, payout, **part) for payout, part in [*parts, (pending, {})]]
    assert applied == ["reversed", "reversed", "reversed", "failed"]

    assert not Transaction.objects.filter(status="pending").exists()
    # 6 payouts out, 4 returns in
    assert_reconciled(bank.order(statement=True)["statement"], lines=10)
