"""Payouts of released batches to the settlement account. NGN 1,000.00 by card is a net of NGN 985.00."""

import time
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone
from freezegun import freeze_time

from ledger import services as ledger
from ledger.invariants import check
from merchants.models import AuditEntry
from merchants.people.audit import Actor
from payments.api import request_types
from payments.invariants.registry import INVARIANTS
from payments.models import (
    Beneficiary,
    Holiday,
    PayoutControls,
    SettlementAccount,
    SettlementPayout,
    Tariff,
    Transaction,
)
from payments.rules.sandbox_triggers import LOST_ANSWER_ACCOUNT, RETURNED_ACCOUNT
from payments.services import fee_rules
from payments.services.payouts import payout_returns
from payments.services.rails import requery
from payments.services.refunds import refunds
from payments.services.settlement.payouts import (
    payout_endings,
    payout_schedules,
    settlement_accounts,
    settlement_payouts,
)
from payments.services.settlement.payouts.settlement_payouts import NothingToPay, StillOpen
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory, BusinessFactory, MemberFactory
from tests.racing import racers
from tests.reserves import agree, released
from tests.settlement_accounts import settlement_account, waiting_account
from tests.wallets import fill_wallet

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

FRIDAY = datetime(2026, 11, 27, 9, tzinfo=UTC)
OWNER = Actor(name="ada@example.com")
RELEASED_TO = {
    "day": "released",
    "settlement_account": {"account_number": "0123456789", "bank_code": "058"},
}


@pytest.fixture(autouse=True)
def friday():
    """Banks are open: no test depends on today."""
    with freeze_time(FRIDAY, tick=True) as clock:
        yield clock


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.fixture
def api(business):
    key = ApiKeyFactory(business=business)
    return InProcessClient(Credentials(key.public_id, key.secret))


def pay(clock=timezone.now):
    payout_endings.end_due(now=clock())
    return settlement_payouts.pay_due(clock=clock)


def wallet(business):
    return next(each.available for each in ledger.balances(business) if each.currency == "NGN")


def last_payout(business):
    return SettlementPayout.objects.filter(account__business=business).latest("created_at")


def reference_of(batch):
    batch.refresh_from_db()
    return batch.payout_reference


class TestSchedule:
    def test_pays_a_released_batch_and_names_it(self, business):
        settlement_account(business)
        batch = released(business)

        assert pay() == 1

        payout = Transaction.objects.get(business=business, request_type="payout")
        assert (payout.amount, payout.fee, payout.status) == (98_500, 0, "success")
        assert (payout.account_number, payout.customer_name) == ("0123456789", "Ada Books Ltd")
        assert payout.reference == reference_of(batch) == f"settlement_{batch.pk}"
        assert wallet(business) == 0
        assert last_payout(business).outcome == "paid"

    def test_pays_once_a_day_and_several_batches_together(self, business, friday):
        settlement_account(business)
        first = released(business)
        pay()
        second, third = released(business), released(business)

        assert pay() == 0
        friday.move_to(FRIDAY + timedelta(days=3))
        assert pay() == 1

        assert reference_of(first) == f"settlement_{first.pk}"
        assert reference_of(second) == reference_of(third) == "settlement_2026-11-30"
        assert last_payout(business).payout.amount == 2 * 98_500

    def test_of_another_business_is_left_alone(self, business):
        settlement_account(business)
        released(BusinessFactory())

        assert pay() == 0

    def test_waits_for_what_the_bank_can_send(self, business, settings):
        settings.PAYOUT_BANK = "tests.rails.LimitedBank"  # from NGN 100
        account = settlement_account(business)
        first = released(business, amount=10_000)

        with pytest.raises(NothingToPay, match="smallest amount"):
            settlement_payouts.pay_now(account, actor=OWNER)
        assert (pay(), wallet(business)) == (0, 9_850)
        second = released(business, amount=10_000)

        assert pay() == 1
        assert last_payout(business).payout.amount == 19_700
        assert reference_of(first) == reference_of(second) != ""

    def test_leaves_what_stays_and_waits_for_the_minimum(self, business):
        account = settlement_account(business, stays=50_000, minimum=48_501)
        released(business)

        assert pay() == 0
        SettlementAccount.objects.filter(pk=account.pk).update(minimum=48_500)
        assert pay() == 1

        assert wallet(business) == 50_000

    def test_waits_for_a_release(self, business):
        settlement_account(business)
        fill_wallet(business, 70_000)

        assert pay() == 0

    def test_pays_nothing_that_the_business_owes(self, business):
        settlement_account(business)
        batch = released(business)
        request = {"reference": "rf-1", "amount": 40_000}
        refunds.refund(transaction=batch.items.get().transaction, request=request, now=timezone.now())

        assert pay() == 1
        assert last_payout(business).payout.amount == 58_500

    def test_never_pays_without_a_schedule(self, business):
        settlement_account(business, pays="never")
        released(business)

        assert pay() == 0

    @pytest.mark.parametrize(
        ("day", "is_paid"),
        [(date(2026, 11, 28), False), (date(2026, 11, 29), False), (date(2026, 11, 30), True)],
    )
    def test_waits_for_a_day_on_which_banks_are_open(self, business, friday, day, is_paid):
        settlement_account(business)
        released(business)
        friday.move_to(datetime.combine(day, FRIDAY.time(), tzinfo=UTC))

        assert pay() == int(is_paid)

    def test_waits_for_the_end_of_a_holiday(self, business, friday):
        settlement_account(business)
        released(business)
        friday.move_to(datetime(2026, 12, 25, 9, tzinfo=UTC))
        Holiday.objects.update_or_create(
            currency="NGN", day=date(2026, 12, 25), defaults={"name": "Christmas Day"}
        )

        assert pay() == 0
        Holiday.objects.filter(day=date(2026, 12, 25)).update(is_observed=False)
        assert pay() == 1

    def test_pays_on_its_weekday_only(self, business, friday):
        settlement_account(business, pays="weekly", weekday=2)
        released(business)

        assert pay() == 0
        friday.move_to(FRIDAY + timedelta(days=5))
        assert pay() == 1

    def test_takes_the_agreed_fee(self, business):
        settlement_account(business)
        fee_rules.agree(
            Tariff(business=business, flow="settlement", currency="NGN", fixed=1_000), actor=OWNER, now=FRIDAY
        )
        released(business)

        assert pay() == 1
        payout = last_payout(business).payout
        assert (payout.amount, payout.fee, wallet(business)) == (97_500, 1_000, 0)

    def test_takes_one_fee_while_another_is_agreed(self, business, monkeypatch):
        account = settlement_account(business)
        released(business)

        def agree_another(*_):
            tariff = Tariff(business=business, flow="settlement", currency="NGN", fixed=1_000)
            fee_rules.agree(tariff, actor=OWNER, now=FRIDAY)
            return f"settlement_{account.pk}"

        monkeypatch.setattr(settlement_payouts, "_reference", agree_another)

        assert pay() == 1
        payout = last_payout(business).payout
        assert (payout.amount, payout.fee, wallet(business)) == (98_500, 0, 0)

    def test_ignores_limits_and_approval(self, business):
        PayoutControls.objects.create(business=business, per_payout={"NGN": 1}, approval="always")
        settlement_account(business)
        released(business)

        assert pay() == 1

    def test_waits_while_payouts_are_frozen(self, business, friday):
        PayoutControls.objects.create(business=business, frozen_at=FRIDAY, freeze_reason="Stolen laptop")
        settlement_account(business)
        released(business)

        assert pay() == 0
        PayoutControls.objects.update(frozen_at=None, freeze_reason="")
        assert pay() == 0
        friday.move_to(FRIDAY + timedelta(minutes=16))
        assert pay() == 1

    def test_is_made_by_the_command(self, business, capsys, monkeypatch):
        monkeypatch.setattr(
            payout_schedules, "is_due", lambda *_, **__: True
        )  # on PostgreSQL by its own clock
        settlement_account(business)
        released(business)

        call_command("pay_settlements", "--dry-run")
        assert "Would make up to 1 settlement payout." in capsys.readouterr().out
        call_command("pay_settlements")

        assert "Made 1 settlement payout." in capsys.readouterr().out
        assert wallet(business) == 0

    def test_holds_back_the_reserve(self, business):
        agree(business, reserve_basis_points=1_000, reserve_days=30)
        settlement_account(business)
        released(business)

        assert pay() == 1
        assert last_payout(business).payout.amount == 88_650

    @pytest.mark.django_db(transaction=True)
    def test_of_two_workers_makes_one_payout(self):
        """Tests the lock of the account."""
        with racers(3) as threads:
            for turn in range(5):
                business = BusinessFactory()
                account = settlement_account(business)
                released(business)

                pay_out = partial(settlement_payouts.pay_by_schedule, account, clock=timezone.now)
                answers = threads.race(*[pay_out] * 3)

                assert [each for each in answers if isinstance(each, Exception)] == []

                made = Transaction.objects.filter(business=business, request_type="payout")
                assert [each.amount for each in made] == [98_500], turn

    @pytest.mark.django_db(transaction=True)
    def test_of_a_change_keeps_what_is_set_meanwhile(self, monkeypatch):
        """Tests the lock of the account: applying a change writes all its columns."""
        shown = settlement_accounts._shown

        def slowly(row):
            time.sleep(0.3)
            return shown(row)

        monkeypatch.setattr(settlement_accounts, "_shown", slowly)
        business = BusinessFactory()
        owner = MemberFactory(business=business, role="owner").user
        account = waiting_account(business, made_by=owner).account
        later = FRIDAY + timedelta(days=2)

        def set_schedule():
            time.sleep(0.1)
            payout_schedules.change(
                business=business, currency="NGN", actor=OWNER, now=later, pays="daily", stays=500
            )

        with racers(2) as threads:
            assert threads.race(partial(settlement_accounts.apply_due, now=later), set_schedule) == [1, None]

        account.refresh_from_db()
        assert (account.account_number, account.pays, account.stays) == ("0123456789", "daily", 500)

    @pytest.mark.django_db(transaction=True)
    def test_with_a_concurrent_payout_takes_what_is_left(self):
        """Tests that the amount is read under the locks of the ledger."""
        with override_settings(PAYOUT_REQUIRES_BALANCE=True), racers(2) as threads:
            for _ in range(5):
                business = BusinessFactory()
                account = settlement_account(business)
                released(business)
                order = orders.payout(amount=50_000)
                by_api = partial(
                    request_types.choose(order).start, order, business=business, now=timezone.now()
                )

                pay_out = partial(settlement_payouts.pay_by_schedule, account, clock=timezone.now)
                threads.race(pay_out, by_api)

                assert wallet(business) in {0, 47_500}
                assert wallet(business) >= 0


class TestLosses:
    def test_temporary_cause_leaves_the_money_and_is_tried_again(
        self, business, friday, mailoutbox, django_capture_on_commit_callbacks
    ):
        MemberFactory(business=business, role="owner", user__email="ada@example.com")
        settlement_account(business, stays=9)  # 98,491: the bank is unavailable
        batch = released(business)

        with django_capture_on_commit_callbacks(execute=True):
            assert pay() == 1

        lost = last_payout(business)
        assert (lost.outcome, lost.reason) == ("failed", "the bank is unavailable")
        assert (wallet(business), reference_of(batch)) == (98_500, "")
        assert [mail.to for mail in mailoutbox] == [["ada@example.com"]]
        assert "the bank is unavailable" in mailoutbox[0].body
        SettlementAccount.objects.update(stays=0)
        assert pay() == 0
        friday.move_to(FRIDAY + timedelta(minutes=31))
        assert pay() == 1
        assert reference_of(batch) == f"settlement_{batch.pk}_2"

    def test_terminal_cause_pauses_at_once(self, business, mailoutbox, django_capture_on_commit_callbacks):
        MemberFactory(business=business, role="owner")
        account = settlement_account(business, stays=93)  # 98,407: the account is closed
        released(business)

        with django_capture_on_commit_callbacks(execute=True):
            assert pay() == 1

        account.refresh_from_db()
        assert account.pause_reason == "the account is invalid or closed"
        assert "paused" in mailoutbox[0].body
        SettlementAccount.objects.update(stays=0)
        assert pay() == 0
        payout_schedules.resume(account.pk, actor=OWNER, now=timezone.now())
        assert pay() == 1
        assert AuditEntry.objects.filter(action="settlement_payouts.resumed").exists()

    def test_third_loss_in_a_row_pauses(self, business, friday):
        account = settlement_account(business, stays=9)
        released(business)

        for turn in range(3):
            friday.move_to(FRIDAY + timedelta(minutes=31 * turn))
            assert pay() == 1

        account.refresh_from_db()
        assert "3 payouts in a row failed" in account.pause_reason
        friday.move_to(FRIDAY + timedelta(days=3))
        assert pay() == 0
        assert wallet(business) == 98_500

    def test_return_brings_the_batch_back(self, business, friday):
        account = settlement_account(business, account_number=RETURNED_ACCOUNT)
        batch = released(business)
        pay()
        payout = last_payout(business).payout

        payout_returns.reverse(transaction_id=payout.pk, reason="Recalled", actor=OWNER, now=timezone.now())
        assert pay() == 0  # on the same day

        assert (last_payout(business).outcome, reference_of(batch)) == ("returned", "")
        account.refresh_from_db()
        assert account.paused_at is None
        friday.move_to(FRIDAY + timedelta(days=3))
        assert pay() == 1

    def test_return_in_parts_brings_back_the_batches_that_are_not_paid_in_full(
        self, business, friday, mailoutbox, django_capture_on_commit_callbacks
    ):
        MemberFactory(business=business, role="owner")
        settlement_account(business)
        first, second = released(business), released(business)
        pay()
        made = last_payout(business)
        named, mails = [], []

        for number, amount in enumerate((8_500, 90_000, 98_500)):
            payout_returns.receive(
                payout_returns.ReturnNotice(
                    bank_reference=f"R{number}",
                    payout_reference=made.payout_id.hex,
                    amount=amount,
                    currency="NGN",
                )
            )
            with django_capture_on_commit_callbacks(execute=True):
                assert payout_endings.end_due(now=timezone.now()) == 1
            named.append((bool(reference_of(first)), bool(reference_of(second))))
            mails.append(mailoutbox[-1].body.split(" of the payout")[0])

        assert named == [(True, False), (True, False), (False, False)]
        assert mails == ["NGN 85.00", "NGN 900.00", "NGN 985.00"]
        assert "NGN 985.00 is in your balance again." in mailoutbox[-1].body
        assert payout_endings.end_due(now=timezone.now()) == 0

    def test_part_that_came_back_is_paid_without_a_further_release(self, business, friday):
        settlement_account(business)
        batch = released(business)
        pay()
        payout_returns.receive(
            payout_returns.ReturnNotice(
                bank_reference="R",
                payout_reference=last_payout(business).payout_id.hex,
                amount=8_500,
                currency="NGN",
            )
        )
        payout_endings.end_due(now=timezone.now())

        friday.move_to(FRIDAY + timedelta(days=3))
        assert pay() == 1

        assert (last_payout(business).payout.amount, wallet(business)) == (8_500, 0)
        assert reference_of(batch) == last_payout(business).payout.reference

    def test_return_of_a_closed_account_pauses(self, business):
        account = settlement_account(business)
        released(business)
        pay()

        payout = last_payout(business).payout
        payout_returns.reverse(
            transaction_id=payout.pk, reason="Account closed", actor=OWNER, now=timezone.now()
        )
        payout_endings.end_due(now=timezone.now())

        account.refresh_from_db()
        assert account.pause_reason == "Account closed"

    def test_blocked_account_pauses_without_an_attempt(self, business):
        account = settlement_account(business)
        Beneficiary.objects.create(
            id="01980a5e-9440-7c00-8000-000000000009",
            business=business,
            reference="own",
            fingerprint="x",
            name="Ada",
            account_number=account.account_number,
            bank_code=account.bank_code,
            currency="NGN",
            verification="unverified",
            blocked_at=FRIDAY,
            block_reason="Stolen",
            created_at=FRIDAY,
        )
        released(business)

        assert pay() == 0

        account.refresh_from_db()
        assert "blocked" in account.pause_reason

    def test_unknown_outcome_is_never_overlapped(self, business, friday):
        account = settlement_account(business, account_number=LOST_ANSWER_ACCOUNT)
        batch = released(business)
        assert pay() == 1
        assert last_payout(business).payout.status == "pending"
        released(business)
        friday.move_to(FRIDAY + timedelta(days=3))

        assert pay() == 0
        with pytest.raises(StillOpen):
            settlement_payouts.pay_now(account, actor=OWNER)
        list(requery.requery([last_payout(business).payout]))

        assert last_payout(business).payout.status == "success"
        assert pay() == 1
        assert SettlementPayout.objects.filter(outcome="paid").exists()
        assert reference_of(batch) == f"settlement_{batch.pk}"


class TestOnDemand:
    def test_pays_all_but_what_stays(self, business):
        account = settlement_account(business, pays="never", stays=500, minimum=10**9)
        batch = released(business)

        settlement_payouts.pay_now(account, actor=OWNER, clock=timezone.now)

        assert wallet(business) == 500
        assert reference_of(batch) == f"settlement_{batch.pk}"

    def test_names_the_latest_batches_that_make_up_its_amount(self, business):
        account = settlement_account(business, pays="never", stays=98_500)
        first, second = released(business), released(business)

        settlement_payouts.pay_now(account, actor=OWNER)

        assert (reference_of(first), reference_of(second)) == ("", f"settlement_{second.pk}")

    def test_without_money_is_refused(self, business):
        account = settlement_account(business)

        with pytest.raises(NothingToPay):
            settlement_payouts.pay_now(account, actor=OWNER)

        assert not Transaction.objects.filter(business=business).exists()


class TestApi:
    def test_shows_the_payout_of_a_settlement(self, api, business):
        settlement_account(business)
        batch = released(business)
        assert "payout_reference" not in api.get(f"/api/settlements/{batch.pk}").json()

        pay()

        reference = f"settlement_{batch.pk}"
        assert api.get(f"/api/settlements/{batch.pk}").json()["payout_reference"] == reference
        assert api.get("/api/settlements").json()["data"][0]["payout_reference"] == reference
        assert api.get(f"/api/payments/{reference}").json()["request_type"] == "payout"

    def test_pays_when_the_sandbox_closes_a_day(self, api, business, friday):
        settlement_account(business)
        friday.move_to(FRIDAY + timedelta(days=1))
        api.post("/api/payments", orders.card_payment(amount=100_000))

        answer = api.post("/api/sandbox/advance", {"day": "released"}).json()

        assert answer["batches"][0]["payout_reference"].startswith("settlement_")
        assert {"currency": "NGN", "available": 0, "pending": 0} in answer["balance"]

    def test_pays_to_the_first_account_that_the_sandbox_takes(self, api, business):
        api.post("/api/payments", orders.card_payment(amount=100_000))

        answer = api.post("/api/sandbox/advance", RELEASED_TO)

        assert answer.json()["batches"][0]["payout_reference"].startswith("settlement_")
        account = SettlementAccount.objects.get()
        assert (account.account_number, account.pays, account.is_set) == ("0123456789", "never", True)
        assert api.post("/api/sandbox/advance", RELEASED_TO).status_code == 200  # nothing is left
        assert [each.invariant.name for each in check(INVARIANTS) if not each.holds] == []

    def test_sandbox_leaves_an_account_that_owners_have_set(self, api, business):
        settlement_account(business, account_number="9876543210", pays="never")
        api.post("/api/payments", orders.card_payment(amount=100_000))

        api.post("/api/sandbox/advance", RELEASED_TO)

        assert SettlementPayout.objects.get().payout.account_number == "9876543210"

    def test_sandbox_takes_no_account_while_one_waits_for_another_owner(self, api, business):
        owner = MemberFactory(business=business, role="owner").user
        waiting_account(business, made_by=owner, needs_second_owner=True)

        answer = api.post("/api/sandbox/advance", RELEASED_TO)

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
        assert not SettlementAccount.objects.get().is_set

    @pytest.mark.parametrize("day", ["pending", "approved"])
    def test_sandbox_pays_only_what_is_released(self, api, day):
        answer = api.post("/api/sandbox/advance", RELEASED_TO | {"day": day})

        assert answer.status_code == 400
        assert not SettlementAccount.objects.exists()

    def test_keeps_the_prefix_of_its_references(self, api):
        answer = api.post("/api/payments", orders.payout(reference="settlement_1"))

        assert (answer.status_code, "reserved_reference" in answer.content.decode()) == (400, True)
