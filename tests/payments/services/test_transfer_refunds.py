"""Refunds of payments into virtual accounts: through the bank, to the sender's account."""

from datetime import timedelta
from functools import partial

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from kit.time.time_ordered_ids import new_id
from ledger.invariants import check
from ledger.models import Account, Entry
from payments.invariants.registry import INVARIANTS
from payments.models import (
    CardOperation,
    PayoutControls,
    SettlementBatch,
    SettlementItem,
    Transaction,
    Transition,
)
from payments.rails.protocol import RailAnswer
from payments.rules.outcomes import COMPLETED
from payments.services.rails import requery
from payments.services.reconciliation import ledger_lines
from payments.services.transactions import operations
from payments.services.transfers import incoming
from tests import orders
from tests.bank_statements import bank_account
from tests.beneficiaries import blocked_beneficiary
from tests.racing import racers
from tests.refunds import ask_for_refund, assert_refunded, refunded_amounts
from tests.settling import decide, settle, today
from virtual_accounts.services.transfer_matching import Notice

pytestmark = pytest.mark.django_db

SENDER = {"sender_name": "Bisi Ade", "sender_account_number": "0123456789", "sender_bank_code": "058"}
DESTINATION = {"name": "Bisi Ade", "account_number": "0123456789", "bank_code": "058"}


def paid_by_transfer(api, amount=50_000, **sender):
    """Return the URL of a successful transfer payment."""
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
    order = orders.transfer_payment(account, amount=amount)
    number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
    request = {"account_number": number, "amount": amount} | sender
    assert api.post("/api/virtual-accounts/simulate", request).status_code == 200
    return f"/api/payments/{order['reference']}"


@pytest.fixture
def paid(api):
    """A payment of 50,000 with a known sender."""
    return paid_by_transfer(api, **SENDER)


def errors(answer):
    return {each["field"]: each["code"] for each in answer.json()["errors"]}


def balance(kind):
    return Account.objects.get(kind=kind, currency="NGN").balance


def broken_invariants():
    return {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds}


class TestRefund:
    def test_goes_to_the_account_that_paid(self, api, paid):
        wanted = {"reference": "rf-1", "amount": 20_000, "reason": "too small"}

        answer = api.post(f"{paid}/refunds", wanted)

        expected = wanted | {"payment_reference": paid.rpartition("/")[2], "destination": DESTINATION}
        assert_refunded(answer, expected)

    def test_updates_the_payment_like_a_card_refund(self, api, paid):
        seen = [refunded_amounts(api, paid)]
        for amount in (20_000, 25_000, 5_000):
            ask_for_refund(api, paid, amount=amount)
            seen.append(refunded_amounts(api, paid))

        assert seen == [
            ("none", 0, 50_000),
            ("partially_refunded", 20_000, 30_000),
            ("partially_refunded", 45_000, 5_000),
            ("refunded", 50_000, 0),
        ]
        assert api.get(paid).json()["status"] == "success"

    def test_without_an_amount_refunds_the_rest(self, api, paid):
        ask_for_refund(api, paid, amount=20_000)

        assert ask_for_refund(api, paid).json()["amount"] == 30_000
        assert refunded_amounts(api, paid) == ("refunded", 50_000, 0)

    @pytest.mark.parametrize("amount", [50_001, 10**12])
    def test_never_exceeds_the_received_amount(self, api, paid, amount):
        answer = ask_for_refund(api, paid, amount=amount)

        assert (answer.status_code, answer.json()["code"]) == (400, "amount_too_large")
        assert not CardOperation.objects.exists()

    def test_of_a_fully_refunded_payment_is_rejected(self, api, paid):
        ask_for_refund(api, paid)

        rest, part = ask_for_refund(api, paid), ask_for_refund(api, paid, amount=1)

        assert (rest.status_code, rest.json()["code"]) == (409, "invalid_state")
        assert (part.status_code, part.json()["code"]) == (400, "amount_too_large")

    def test_is_listed_and_found_like_any_refund(self, api, paid):
        made = ask_for_refund(api, paid, reference="rf-1").json()

        assert api.get(f"{paid}/refunds").json()["data"] == [made]
        assert api.get("/api/refunds/rf-1").json() == made

    def test_has_no_payout_fee_and_keeps_the_payments_fee(self, api, paid):
        fee = api.get(paid).json()["fee"]
        ask_for_refund(api, paid)

        assert api.get(paid).json()["fee"] == fee == balance("fees")

    def test_of_an_unexpected_payment_also_works(self, api):
        static = api.post("/api/virtual-accounts", orders.static_account()).json()
        number = static["customer"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 30_000} | SENDER)
        reference = Transaction.objects.get().reference

        answer = ask_for_refund(api, f"/api/payments/{reference}")

        assert (answer.status_code, answer.json()["amount"]) == (201, 30_000)

    def test_of_another_business_is_404(self, other_api, paid):
        assert ask_for_refund(other_api, paid).status_code == 404


class TestDestination:
    def test_is_required_if_the_sender_is_unknown(self, api):
        answer = ask_for_refund(api, paid_by_transfer(api))

        assert (answer.status_code, answer.json()["code"]) == (400, "destination_required")
        assert errors(answer) == {"destination": "destination_required"}
        assert not CardOperation.objects.exists()

    def test_of_the_request_is_used(self, api):
        destination = DESTINATION | {"bank_code": "000013"}  # the NIP code; responses contain the code

        answer = ask_for_refund(api, paid_by_transfer(api), destination=destination)

        assert (answer.status_code, answer.json()["status"]) == (201, "success")
        assert answer.json()["destination"] == DESTINATION

    @pytest.mark.parametrize(
        ("controls", "code"),
        [
            ({"approval": "always"}, "invalid_state"),
            ({"approval": "above", "approval_above": {"NGN": 49_999}}, "invalid_state"),
            ({"server_url": "https://payouts.example.com/ask"}, "invalid_state"),
            ({"frozen_at": timezone.now(), "freeze_reason": "Theft"}, "payouts_frozen"),
            ({"approval": "above", "approval_above": {"NGN": 50_000}}, None),
            ({"approval": "always", "keys_need_approval": False}, None),
            ({"per_payout": {"NGN": 1}}, None),
        ],
    )
    def test_is_refused_where_a_payout_to_it_would_not_be_sent(self, api, ada, controls, code):
        PayoutControls.objects.create(business=ada.business, **controls)

        answer = ask_for_refund(api, paid_by_transfer(api), destination=DESTINATION)

        assert (answer.status_code, answer.json().get("code")) == ((409, code) if code else (201, None))
        assert CardOperation.objects.exists() is (code is None)

    def test_needs_no_approval_for_the_account_that_paid(self, api, ada, paid):
        PayoutControls.objects.create(business=ada.business, approval="always")

        assert ask_for_refund(api, paid).json()["status"] == "success"

    def test_is_the_account_that_paid_even_while_payouts_are_frozen(self, api, ada, paid):
        PayoutControls.objects.create(business=ada.business, frozen_at=timezone.now(), freeze_reason="Theft")

        assert ask_for_refund(api, paid).json()["status"] == "success"

    def test_that_is_blocked_is_refused(self, api, ada):
        blocked_beneficiary(ada.business, **DESTINATION)

        answer = ask_for_refund(api, paid_by_transfer(api), destination=DESTINATION)

        assert (answer.status_code, answer.json()["code"]) == (409, "beneficiary_blocked")

    def test_is_not_allowed_if_the_sender_is_known(self, api, paid):
        answer = ask_for_refund(api, paid, destination=DESTINATION)

        assert (answer.status_code, answer.json()["code"]) == (400, "not_allowed_here")
        assert errors(answer) == {"destination": "not_allowed_here"}

    def test_is_not_allowed_for_a_card_payment(self, api):
        order = orders.card_payment()
        api.post("/api/payments", order)

        answer = ask_for_refund(api, f"/api/payments/{order['reference']}", destination=DESTINATION)

        assert (answer.status_code, answer.json()["code"]) == (400, "not_allowed_here")

    @pytest.mark.parametrize(
        "sender",
        [
            SENDER | {"sender_bank_code": "999"},
            SENDER | {"sender_account_number": "12345678901"},
            SENDER | {"sender_account_number": "123"},
            SENDER | {"sender_bank_code": ""},
        ],
        ids=["unknown bank", "11 digits", "3 digits", "no bank"],
    )
    def test_is_required_if_the_senders_account_cannot_be_paid(self, api, ada, sender):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        order = orders.transfer_payment(account)
        number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
        receive(number, **sender)
        address = f"/api/payments/{order['reference']}"

        without, with_one = (
            ask_for_refund(api, address),
            ask_for_refund(api, address, destination=DESTINATION),
        )

        assert (without.status_code, without.json()["code"]) == (400, "destination_required")
        assert with_one.status_code == 201

    @pytest.mark.parametrize(
        ("changes", "wrong"),
        [
            ({"account_number": "123"}, {"destination.account_number"}),
            ({"bank_code": "999"}, {"destination.bank_code"}),
            ({"name": ""}, {"destination.name"}),
            ({"name": "A\nB"}, {"destination.name"}),
            ({"iban": "x"}, {"destination.iban"}),
            ({"name": None, "account_number": 1}, {"destination.name", "destination.account_number"}),
        ],
    )
    def test_is_validated_strictly(self, api, changes, wrong):
        answer = ask_for_refund(api, paid_by_transfer(api), destination=DESTINATION | changes)

        assert answer.status_code == 400
        assert set(errors(answer)) == wrong

    def test_is_part_of_the_fingerprint(self, api):
        address = paid_by_transfer(api)
        wanted = {"reference": "rf-1", "amount": 100, "destination": DESTINATION}
        other = wanted | {"destination": DESTINATION | {"account_number": "9876543210"}}

        answers = [api.post(f"{address}/refunds", each) for each in (wanted, wanted, other)]

        assert [each.status_code for each in answers] == [201, 200, 409]
        assert answers[1]["Idempotent-Replayed"] == "true"
        assert answers[2].json()["existing"]["status"] == "success"

    def test_in_another_currency_than_the_banks_is_rejected(self, api, paid):
        Transaction.objects.update(currency="USD")

        answer = ask_for_refund(api, paid)

        assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_currency")
        assert "takes payouts in NGN only" in answer.json()["detail"]


def receive(number, **sender):
    return incoming.receive(
        Notice(bank_reference=orders.new_reference("b"), account_number=number, amount=50_000, **sender)
    )


class TestSimulatedSender:
    @pytest.mark.parametrize("name", ["sender_account_number", "sender_bank_code"])
    def test_needs_both_fields_or_neither(self, api, name):
        request = {"account_number": "0123456789", "amount": 100, name: SENDER[name]}

        answer = api.post("/api/virtual-accounts/simulate", request)

        (other,) = {"sender_account_number", "sender_bank_code"} - {name}
        assert answer.status_code == 400
        assert errors(answer) == {other: "required"}
        assert answer.json()["success"] is False

    @pytest.mark.parametrize("number", ["123", "12345678901", 123])
    def test_has_ten_digits(self, api, number):
        request = {"account_number": "0123456789", "amount": 100} | SENDER | {"sender_account_number": number}

        answer = api.post("/api/virtual-accounts/simulate", request)

        assert errors(answer) == {
            "sender_account_number": "invalid_type" if isinstance(number, int) else "invalid"
        }

    def test_of_an_unlisted_bank_is_unknown(self, api):
        address = paid_by_transfer(api, **SENDER | {"sender_bank_code": "999"})

        assert ask_for_refund(api, address).json()["code"] == "destination_required"

    def test_by_nip_code_is_known(self, api):
        address = paid_by_transfer(api, **SENDER | {"sender_bank_code": "000013"})

        assert ask_for_refund(api, address).json()["destination"] == DESTINATION


class TestWhatCannotBeRefunded:
    @pytest.mark.parametrize(
        ("order", "word"),
        [(orders.card_check(), "card check"), (orders.payout(), "beneficiary")],
        ids=["card check", "payout"],
    )
    def test_is_rejected_with_the_reason(self, api, order, word):
        api.post("/api/payments", order)

        answer = ask_for_refund(api, f"/api/payments/{order['reference']}")

        assert (answer.status_code, answer.json()["code"]) == (409, "not_refundable")
        assert word in answer.json()["detail"]

    def test_is_also_rejected_with_a_destination(self, api):
        order = orders.payout()
        api.post("/api/payments", order)

        answer = ask_for_refund(api, f"/api/payments/{order['reference']}", destination=DESTINATION)

        assert (answer.status_code, answer.json()["code"]) == (409, "not_refundable")

    @pytest.mark.parametrize("arrives", [None, 40_000], ids=["pending", "mismatch"])
    def test_includes_payments_that_have_not_succeeded(self, api, arrives):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        order = orders.transfer_payment(account)
        number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
        if arrives:
            request = {"account_number": number, "amount": arrives}
            api.post("/api/virtual-accounts/simulate", request | SENDER)

        answer = ask_for_refund(api, f"/api/payments/{order['reference']}", amount=100)

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
        assert refunded_amounts(api, f"/api/payments/{order['reference']}") == ("none", 0, 0)


class TestFailedRefund:
    @pytest.mark.parametrize("ending", [5, 7, 51, 61, 91])
    def test_is_decided_by_the_payout_table_and_releases_its_amount(self, api, paid, ending):
        answer = ask_for_refund(api, paid, amount=20_000 + ending)

        shown = answer.json()
        assert (answer.status_code, shown["status"]) == (201, "failed")
        assert (shown["response_code"], shown["response_summary"]) == ("20030", "Payment failed")
        assert shown["gateway_code"] == f"{ending:02}"
        assert refunded_amounts(api, paid) == ("refund_failed", 0, 50_000)
        assert not Entry.objects.filter(kind="refund").exists()

    def test_is_followed_by_a_later_success(self, api, paid):
        ask_for_refund(api, paid, amount=20_005)
        ask_for_refund(api, paid, amount=20_000)

        assert refunded_amounts(api, paid) == ("partially_refunded", 20_000, 30_000)

    def test_does_not_follow_the_card_table(self, api):
        address = paid_by_transfer(api, amount=50_098, **SENDER)

        assert ask_for_refund(api, address).json()["status"] == "success"


@pytest.fixture
def lost(api):
    """A payment from the account whose answers from the bank are lost."""
    return paid_by_transfer(api, **SENDER | {"sender_account_number": "0000000097"})


class TestLostRefund:
    def test_reserves_its_amount_until_the_bank_answers(self, api, lost):
        answer = ask_for_refund(api, lost, amount=20_000)
        meanwhile = refunded_amounts(api, lost)
        too_much = ask_for_refund(api, lost, amount=30_001)
        call_command("requery_pending")

        assert (answer.status_code, answer.json()["status"]) == (201, "pending")
        assert answer.json()["response_code"] == "10001"
        assert meanwhile == ("none", 0, 30_000)
        assert too_much.json()["code"] == "amount_too_large"
        assert refunded_amounts(api, lost) == ("partially_refunded", 20_000, 30_000)
        assert api.get(f"{lost}/refunds").json()["data"][0]["status"] == "success"

    def test_is_queried_at_the_bank_it_was_sent_to(self, api, lost, settings):
        ask_for_refund(api, lost)
        settings.PAYOUT_BANK = "tests.rails.OtherBank"

        call_command("requery_pending")

        assert refunded_amounts(api, lost)[0] == "refunded"

    def test_stays_pending_while_the_bank_does_not_answer(self, api, lost, settings):
        settings.PAYOUT_BANK = "tests.rails.SilentBank"
        ask_for_refund(api, lost, reference="rf-1")

        asked = list(requery.requery_due(clock=lambda: timezone.now() + timedelta(minutes=1)))

        assert [each.is_answered for each in asked] == [False]
        assert api.get("/api/refunds/rf-1").json()["status"] == "pending"
        assert CardOperation.objects.get().queries_made == 1

    def test_is_replayed_while_no_bank_is_available(self, api, lost, settings):
        first = ask_for_refund(api, lost, reference="rf-1", amount=100)
        settings.PAYOUT_BANK = ""

        again = ask_for_refund(api, lost, reference="rf-1", amount=100)

        assert (again.status_code, again.json()) == (200, first.json())


class TestWithoutABank:
    def test_stores_nothing(self, api, paid, settings):
        settings.PAYOUT_BANK = ""

        answer = ask_for_refund(api, paid)

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert not CardOperation.objects.exists()
        assert refunded_amounts(api, paid) == ("none", 0, 50_000)

    def test_reports_other_errors_first(self, api, paid, settings):
        unknown_sender = paid_by_transfer(api)
        settings.PAYOUT_BANK = ""

        answers = [
            ask_for_refund(api, paid, amount=50_001),
            ask_for_refund(api, paid, destination=DESTINATION),
            ask_for_refund(api, unknown_sender),
        ]

        assert [each.json()["code"] for each in answers] == [
            "amount_too_large",
            "not_allowed_here",
            "destination_required",
        ]


class TestLedger:
    def test_debits_pending_settlement_when_the_bank_has_sent_a_refund(self, api, lost):
        before = balance("pending_settlement"), balance("bank_clearing")
        ask_for_refund(api, lost, amount=20_000)
        meanwhile = balance("pending_settlement"), balance("bank_clearing")
        call_command("requery_pending")

        assert meanwhile == before
        assert balance("pending_settlement") == before[0] - 20_000
        assert balance("bank_clearing") == before[1] + 20_000
        assert balance("refunds_payable") == 0
        assert broken_invariants() == {}

    def test_may_become_negative_and_then_covers_no_payout(self, api, paid, settings):
        decide(*settle(), "approve", "release")
        ask_for_refund(api, paid)
        settings.PAYOUT_REQUIRES_BALANCE = True

        payout = api.post("/api/payments", orders.payout(amount=10_000)).json()

        assert (balance("wallet") > 10_000, balance("pending_settlement")) == (True, -50_000)
        assert (payout["status"], payout["response_code"]) == ("failed", "20051")
        assert broken_invariants() == {}

    def test_settlement_nets_it(self, api, paid):
        ask_for_refund(api, paid, amount=20_000)
        (batch,) = settle()

        assert (batch.gross, batch.fees, batch.refunds) == (50_000, 500, 20_000)
        assert SettlementItem.objects.get(operation__isnull=False).refunded == 20_000
        decide(batch, "approve", "release")
        assert balance("wallet") == 29_500
        assert broken_invariants() == {}

    def test_logs_each_change_of_the_refund_status(self, api, paid):
        ask_for_refund(api, paid, amount=20_005)
        ask_for_refund(api, paid)

        moves = Transition.objects.filter(attribute="refund_status").order_by("pk")
        assert [(each.before, each.after, each.cause) for each in moves] == [
            ("none", "refund_failed", "merchant"),
            ("refund_failed", "refunded", "merchant"),
        ]


class TestReconciliation:
    def test_is_on_the_banks_statement_only(self, api, paid):
        made = ask_for_refund(api, paid, reference="rf-1", amount=20_000).json()
        account = bank_account(pays_out=["sandbox"])

        (entry,) = ledger_lines.expected(account, today())
        operation = CardOperation.objects.get()
        assert (entry.kind, str(entry.id), entry.amount) == ("refund", made["id"], -20_000)
        assert entry.references == (operation.acquirer_transaction_id,)
        assert len(operation.acquirer_transaction_id) == 30


class TestDatabase:
    @pytest.mark.parametrize(
        "change",
        [{"destination_account_number": ""}, {"destination_name": ""}, {"connector": ""}],
    )
    def test_rejects_an_incomplete_destination(self, api, paid, change):
        ask_for_refund(api, paid)
        copy = CardOperation.objects.get()
        copy.pk, copy.reference = new_id(timezone.now()), "copy"
        for name, value in change.items():
            setattr(copy, name, value)

        with pytest.raises(IntegrityError, match="transfer_refunds_have_destinations"), transaction.atomic():
            copy.save(force_insert=True)

    @pytest.mark.parametrize("change", [{"amount_being_refunded": 50_001}, {"amount_being_refunded": -1}])
    def test_rejects_more_than_the_received_amount(self, paid, change):
        with pytest.raises(IntegrityError, match="refunded_within_collected"), transaction.atomic():
            Transaction.objects.update(**change)


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_50_concurrent_refunds_never_exceed_the_received_amount(self, api, paid):
        """Tests the lock on the payment in `refunds._open`."""
        with racers(50) as threads:
            answers = threads.race(*[partial(ask_for_refund, api, paid, amount=3_000)] * 50)

        assert sorted(answer.status_code for answer in answers) == [201] * 16 + [400] * 34
        assert refunded_amounts(api, paid) == ("partially_refunded", 48_000, 2_000)
        assert balance("bank_clearing") == -2_000
        assert broken_invariants() == {}

    def test_equal_refunds_are_created_once(self, api, paid):
        """Tests the second read of the reference in `refunds._open`."""
        with racers(20) as threads:
            answers = threads.race(*[partial(ask_for_refund, api, paid, reference="rf-1", amount=3_000)] * 20)

        assert {answer.status_code for answer in answers} == {200, 201}
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert refunded_amounts(api, paid) == ("partially_refunded", 3_000, 47_000)

    def test_refunds_with_a_concurrent_settlement_are_all_netted(self, api, paid):
        """Tests the order of the ledger accounts, and that a batch nets each refund once."""
        with racers(10) as threads:
            threads.race(settle, *[partial(ask_for_refund, api, paid, amount=1_000)] * 9)
        settle()
        for batch in SettlementBatch.objects.filter(state="pending"):
            decide(batch, "approve", "release")

        assert balance("wallet") + balance("pending_settlement") == 49_500 - 9_000
        assert broken_invariants() == {}

    def test_an_answer_and_two_requeries_are_applied_once(self, api, paid, settings):
        """Tests the lock in `operations.apply_answer`."""
        settings.PAYOUT_BANK = "tests.rails.SlowBank"
        with racers(3) as threads:
            for _ in range(10):
                ask_for_refund(api, paid, amount=1_000)
                pending = CardOperation.objects.select_related("transaction__business").get(status="pending")
                ask = partial(answer, pending)
                threads.race(ask, ask, ask)

        assert refunded_amounts(api, paid) == ("partially_refunded", 10_000, 40_000)
        assert Entry.objects.filter(kind="refund").count() == 10
        assert broken_invariants() == {}


def answer(operation):
    return operations.apply_answer(
        operation_id=operation.pk,
        answer=RailAnswer(outcome=COMPLETED),
        cause=Transition.Cause.REQUERY,
        now=timezone.now(),
    )
