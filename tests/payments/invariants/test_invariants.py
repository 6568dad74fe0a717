"""`check_ledger` detects and names every kind of inconsistency, and reports nothing for a consistent ledger."""

import io
import json
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.core.management import call_command
from django.db import connection
from django.db import transaction as database
from django.test import override_settings
from django.utils import timezone

from cash.models import Break
from cash.services.imports import Source
from disputes.services import moves
from disputes.services.locking import lock_dispute
from disputes.services.reports import unmatched
from ledger import invariants
from ledger.invariants import Invariant, KeyRange, check
from ledger.models import Account, Posting
from ledger.services import Kind
from merchants.people.audit import Actor
from payments.api.serializers import SourceSerializer
from payments.invariants.registry import INVARIANTS
from payments.models import (
    CardOperation,
    PaymentLink,
    PayoutControls,
    PayoutReturn,
    RiskTerms,
    Tariff,
    Transaction,
)
from payments.rules.words.dispute_words import Stage, Status
from payments.services import fee_rules
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkouts import Details
from payments.services.journals.drafts import Leg
from payments.services.payouts import payout_returns
from payments.services.payouts.controls import waiting_payouts
from payments.services.rails import requery, watch_looks
from payments.services.reconciliation import breaks
from payments.services.settlement import reserves
from payments.services.settlement.payouts import settlement_payouts
from payments.services.staff import four_eyes, staff_actions
from payments.services.staff.actions import journal_actions, resolutions
from payments.services.transfers import unapplied_decisions, unclaimed_decisions
from payments.services.transfers.incoming import Notice, receive_notification
from tests import fee_invoices, orders
from tests.bank_statements import bank_account, csv_statement
from tests.batches import cancelled_batch, completed_batch
from tests.by_refund_acquirer import APPROVED, BY_REFUND, DONE, LOST, UNKNOWN, ByRefundAcquirer
from tests.clients import Credentials, InProcessClient
from tests.disputed import disputed, payment_of, take
from tests.factories import ApiKeyFactory, BusinessFactory, MemberFactory, UserFactory
from tests.journals import adjusted, debited_by_staff
from tests.ledger.tampering import tampering
from tests.orders import CHALLENGED_CARD, DECLINED_CARD, FRICTIONLESS_CARD
from tests.settlement_accounts import settlement_account
from tests.settling import decide, settle, today
from tests.transactions import expire_now, start
from tests.wallets import fill_wallet
from virtual_accounts.models import Transfer, UnappliedMoney, UnclaimedTransfer, VirtualAccount
from webhooks import services as webhooks

pytestmark = [pytest.mark.django_db, pytest.mark.long]

DOC = Path(__file__).resolve().parents[3] / "docs" / "operations" / "invariants.md"
STAFF = Actor(name="staff@example.com")
SENDER = {"sender_account_number": "0123456780", "sender_bank_code": "000013"}


@pytest.fixture(scope="module")
def books(django_db_setup, django_db_blocker):
    """A ledger with one event of every kind, made once: each test rolls back what it changes itself."""
    outer = database.atomic()
    outer._from_testcase = True  # what must not run inside a transaction may run inside this one
    with django_db_blocker.unblock(), outer:
        with override_settings(PAYOUT_REQUIRES_BALANCE=True):
            fill_books(ApiKeyFactory(business=BusinessFactory(name="Ada Books")))
        yield
        database.set_rollback(True)


def fill_books(ada):
    api = InProcessClient(Credentials(ada.public_id, ada.secret))
    webhooks.configure(
        business=ada.business,
        url="http://127.0.0.1:9/hook",
        subscribed_events=[
            "payment",
            "payout",
            "refund",
            "reversal",
            "unapplied",
            "settlement",
            "dispute",
            "balance",
        ],
        enabled=True,
        actor=STAFF,
        now=timezone.now() - timedelta(hours=1),
    )
    fill_wallet(ada.business, 600_000)
    for amount in (50_000, 60_000, 10_051):
        order = orders.card_payment(amount=amount)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/refunds", {"reference": f"r{amount}", "amount": 20_000})
    authorised = orders.card_payment(capture=False)
    api.post("/api/payments", authorised)
    api.post(f"/api/payments/{authorised['reference']}/capture", {"amount": 20_000})
    expired = api.post("/api/payments", orders.card_payment(capture=False)).json()
    expire_now(UUID(expired["id"]), now=timezone.now())
    sent = orders.payout(amount=250_000)
    lost = orders.payout(amount=100_000)
    lost["customer"] |= {"account_number": "0000000097"}
    for order in (sent, lost, orders.payout(amount=20_051), orders.payout(amount=900_000)):
        api.post("/api/payments", order)
    payout_returns.reverse(
        transaction_id=Transaction.objects.get(reference=sent["reference"]).pk,
        reason="Account closed",
        actor=STAFF,
        now=timezone.now(),
    )

    controlled_payouts(ada.business)
    payments_of_a_link(api)
    disputes_of_all_kinds(api)
    transfers_of_all_kinds(api)
    transfer_refunds_of_all_kinds(api)
    decisions_of_staff(ada.business)
    completed_batch(ada.business)
    cancelled_batch(ada.business, orders.batch_item(7))
    suspense_of_all_kinds(ada.business)
    late_charges_of_all_kinds(ada.business)
    statement_of_a_bank()
    taxed_transactions(ada.business)
    settlement_payouts.pay_by_schedule(settlement_account(ada.business), is_day_passed=True)
    journals_of_all_kinds(ada.business)
    fee_invoices.issue()


def journals_of_all_kinds(business):
    """A debit of a wallet, its reversal, a pair of two businesses, and one that explains a break."""
    debit, now = debited_by_staff(business), timezone.now()
    between = Leg(Kind.WALLET, "", -700), Leg(Kind.WALLET, "", 700, of_other=True)
    adjusted(business, 0, code="recovery", legs=between, other_business=BusinessFactory())
    undone = journal_actions.reversal(debit, reason="Not theirs", journal_id=uuid4())
    staff_actions.perform(undone, actor=STAFF, now=now)
    unknown = Break.objects.select_related("account").get(bank_amount=7)
    legs = Leg(Kind.BANK, unknown.account.name, -7), Leg(Kind.COSTS, "transfer", 7)
    adjusted(
        None,
        0,
        currency=unknown.account.currency,
        legs=legs,
        transaction=None,
        explained=unknown,
    )


def statement_of_a_bank():
    """Of a transfer that is matched, and of two lines that are breaks."""
    transfer = Transfer.objects.first()
    day = today()
    content = csv_statement(
        (day, transfer.amount, transfer.bank_reference), (day, 7, "INTEREST"), (day, 9, "OTHER")
    )
    account = bank_account(currency=transfer.currency, receives=["hosting_bank"])
    source = Source(file=io.BytesIO(content.encode()), name="statement.csv")
    breaks.import_file(account, source, actor=STAFF, now=timezone.now())


def taxed_transactions(business):
    """A payment, a payout that succeeded, one that failed, and one without an answer, each with a tax on its fee."""
    now = timezone.now()
    fill_wallet(business, 30_000)
    for flow, terms in {"card": {"basis_points": 150}, "payout": {"fixed": 1_000}}.items():
        tariff = Tariff(business=business, flow=flow, currency="NGN", tax_basis_points=750, **terms)
        fee_rules.agree(tariff, actor=STAFF, now=now)
    for order in (
        orders.card_payment(amount=40_000),
        orders.payout(amount=2_000),
        orders.payout(amount=2_051),
    ):
        start(order, business=business, now=now)
    unknown_payout(business)


def controlled_payouts(business):
    """One that was approved, one that waits for approval, and one that waits for the business's server."""
    PayoutControls.objects.create(business=business, approval="always", per_day={"NGN": 10**9})
    checker, now = MemberFactory(business=business, role="finance").user, timezone.now()
    approved = start(orders.payout(amount=1_000), business=business, now=now)
    waiting_payouts.approve(approved.pk, user=checker, actor=STAFF, now=now)
    start(orders.payout(amount=1_000), business=business, now=now)
    PayoutControls.objects.update(approval="never", server_url="http://127.0.0.1:9/ask")
    start(orders.payout(amount=1_000), business=business, now=now)
    PayoutControls.objects.update(server_url="")


def payments_of_a_link(api):
    """One that succeeded, one that failed, and one that is pending, of two checkouts."""
    api.post("/api/payment-links", orders.payment_link(max_uses=20, quantity_max=2))
    link = PaymentLink.objects.select_related("business").get()
    now = timezone.now()
    for quantity, numbers in ((1, (DECLINED_CARD, FRICTIONLESS_CARD)), (2, (CHALLENGED_CARD,))):
        details = Details(amount=link.amount * quantity, quantity=quantity, method="card", name="Ada Obi")
        address = {"address": "192.0.2.1", "network": "192.0.2.1"}
        checkout = checkouts.begin(link=link, details=details, now=now, **address)
        for attempt, number in enumerate(numbers):
            source = SourceSerializer().run_validation(orders.card_source(pan=number))
            checkouts.pay_by_card(checkout=checkout, card=source, attempt_number=attempt, now=now)


def disputes_of_all_kinds(api):
    """One that the acquirer has debited, one partly won, a contradicted loss, a corrected loss, and an inquiry."""
    by_staff = {"actor": STAFF.name, "now": timezone.now()}
    payments = [payment_of(api) for _ in range(5)]
    with override_settings(DISPUTE_FEES={"NGN": 2_500}):
        debited, _, _, corrected = (disputed(payment) for payment in payments[:4])
        disputed(payments[4], stage=Stage.INQUIRY)
    take(payments[1], status=Status.LOST, outcome_amount=10_000)
    for told in (Status.LOST, Status.WON):
        take(payments[2], status=told)
    take(payments[3], status=Status.LOST)
    corrected = lock_dispute(corrected.pk)
    moves.book([moves.record_debit(lock_dispute(debited.pk), **by_staff)])
    moves.book([moves.correct(corrected, 5_000, **by_staff)])
    unknown = take(payments[0], case_number="CB-unknown", rrn="0" * 12)
    staff_actions.perform(unmatched.dismissal(unknown, reason="Not ours"), actor=STAFF, now=timezone.now())


def transfer_refunds_of_all_kinds(api):
    """One successful, one failed and one unanswered refund."""
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
    order = orders.transfer_payment(account, amount=90_000)
    number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
    api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 90_000})
    to = {"name": "Bisi Ade", "account_number": "0123456789", "bank_code": "058"}
    lost = to | {"account_number": "0000000097"}
    for amount, destination in ((20_000, to), (20_005, to), (30_000, lost)):
        wanted = {"reference": f"tr{amount}", "amount": amount, "destination": destination}
        assert api.post(f"/api/payments/{order['reference']}/refunds", wanted).status_code == 201
    order = orders.transfer_payment(account, amount=70_000)
    number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
    api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 70_000, **SENDER})
    refund = {"reference": "to-the-sender", "amount": 10_000}
    assert api.post(f"/api/payments/{order['reference']}/refunds", refund).status_code == 201


def decisions_of_staff(business):
    """A confirmed and a declined top-up, and a payout resolved by two people and one by one person."""
    first, second = (UserFactory(is_staff=True, is_superuser=True) for _ in range(2))
    acting = {"actor": STAFF, "now": timezone.now()}
    for decide_on in (four_eyes.confirm, partial(four_eyes.decline, reason="No")):
        action = journal_actions.top_up(
            business=business, currency="NGN", amount=500, cause=uuid4(), reason="Float"
        )
        with override_settings(FOUR_EYES=True):
            proposal = four_eyes.submit(action, user=first, **acting)
        decide_on(proposal.pk, user=second, **acting)
    because = {"succeeded": True, "reason": "Bank confirmed", "evidence": "Statement, line 7"}
    resolutions.resolve_transaction(unknown_payout(business).pk, **because, **acting)
    with override_settings(FOUR_EYES=True):
        action = staff_actions.resolution(unknown_payout(business), **because)
        proposal = four_eyes.submit(action, user=first, **acting)
    four_eyes.confirm(proposal.pk, user=second, **acting)


def suspense_of_all_kinds(business):
    """Unclaimed transfers: open, assigned, written off. Returns: open, matched, and one that came early."""
    because = {"reason": "Found the owner", "actor": STAFF, "now": timezone.now()}
    number = VirtualAccount.objects.filter(business=business, type="static").values_list(
        "account_number", flat=True
    )
    for reference in ("open", "assigned", "written-off"):
        receive_notification(
            Notice(
                bank_reference=reference,
                account_number="0123456789",
                amount=700,
                currency="NGN",
                sender_name="Bisi",
            )
        )
    assigned, written_off = (
        UnclaimedTransfer.objects.get(bank_reference=one) for one in ("assigned", "written-off")
    )
    unclaimed_decisions.assign(assigned.pk, account_number=number[0], owner=business, **because)
    unclaimed_decisions.write_off(written_off.pk, **because)
    payout = start(orders.payout(amount=30_000), business=business, now=timezone.now())
    early = unknown_payout(business)
    for reference in ("order-1", "order-2", early.pk.hex):
        payout_returns.receive(
            payout_returns.ReturnNotice(
                bank_reference=reference, payout_reference=reference, amount=700, currency="NGN"
            )
        )
    matched = PayoutReturn.objects.get(payout_reference="order-1")
    payout_returns.match(matched.pk, payout_id=payout.pk, **because)
    resolutions.resolve_transaction(early.pk, succeeded=True, evidence="Statement, line 7", **because)


def late_charges_of_all_kinds(business):
    """Failed payments that were charged later: one is given back, one is not yet."""
    ByRefundAcquirer.begin()
    ByRefundAcquirer.answers("authorise", LOST)
    ByRefundAcquirer.answers("query", UNKNOWN, UNKNOWN, APPROVED)
    ByRefundAcquirer.answers("reverse", DONE, LOST)
    with override_settings(CARD_ACQUIRER=BY_REFUND):
        lost = [start(orders.card_payment(), business=business, now=timezone.now()) for _ in range(2)]
        assert len(list(requery.requery(lost, is_time_over=True))) == len(lost)
        assert all(watch_looks.look_at(payment.pk) for payment in lost)


def unknown_payout(business):
    order = orders.payout(amount=10_000)
    order["customer"] |= {"account_number": "0000000097"}
    return start(order, business=business, now=timezone.now())


def transfers_of_all_kinds(api):
    """One applied transfer, one that created a payment, and one each unapplied, credited and returned; and an open session."""
    accounts = "/api/virtual-accounts"
    number = api.post(accounts, orders.static_account()).json()["customer"]["account_number"]
    dynamic = api.post(accounts, orders.dynamic_account()).json()["id"]
    paid, _ = (api.post("/api/payments", orders.transfer_payment(dynamic)).json() for _ in range(2))
    details = paid["virtual_account_details"]
    for request in ({"account_number": number}, *[{"account_number": details["account_number"]}] * 4):
        api.post(f"{accounts}/simulate", request | {"amount": 50_000})
    cancelled = api.post("/api/payments", orders.transfer_payment(dynamic)).json()["reference"]
    api.post(f"/api/payments/{cancelled}/cancel")
    late = {"account_number": details["account_number"], "amount": 40_000, **SENDER}
    api.post(f"{accounts}/simulate", late)
    credited, returned, _, returned_to_sender = UnappliedMoney.objects.order_by("id")
    because = {"reason": "It came too late", "actor": STAFF, "now": timezone.now()}
    unapplied_decisions.credit(credited.pk, **because)
    unapplied_decisions.return_to_sender(returned.pk, account_number="0123456789", bank_code="058", **because)
    unapplied_decisions.return_to_sender(returned_to_sender.pk, **because)
    released_in_part(*settle())


def released_in_part(batch):
    """A batch of which a part is held back, and a part of that is returned."""
    RiskTerms.objects.create(
        business=batch.business,
        currency=batch.currency,
        reserve_basis_points=1_000,
        reserve_days=1,
        reserve_fixed=500,
        valid_from=timezone.now(),
        agreed_by=STAFF.name,
    )
    decide(batch, "approve", "release")
    reserves.return_due(now=timezone.now() + timedelta(days=2))


def key(row):
    return row.pk if connection.vendor == "postgresql" else row.pk.hex


def broken(among=INVARIANTS):
    return {one.invariant.name: one.broken for one in check(among) if not one.holds}


FIRST_POSTING = "(SELECT min(id) FROM ledger_posting)"
FIRST_ENTRY = "(SELECT min(id) FROM ledger_entry WHERE kind = '{}')"
CANCELLED = "SELECT id FROM payments_transaction WHERE response_code = '20091'"
LAST_POSTING = "(SELECT max(id) FROM ledger_posting)"

# For each invariant, a manual change of the database that breaks it.
# SQLite can't drop a check; `tampering` switches all of them off.
CHECKED_NOW = "SET CONSTRAINTS ALL IMMEDIATE" if connection.vendor == "postgresql" else "SELECT 1"


def without(table: str, check: str) -> str:
    is_named = connection.vendor == "postgresql"
    return f"ALTER TABLE {table} DROP CONSTRAINT {check}" if is_named else "SELECT 1"


WITHOUT_LIMIT = without("payments_paymentlink", "uses_within_limit")
WITHOUT_WATCH_CHECK = without("payments_watchedauthorisation", "watches_end_without_a_charge")
FIRST_CHECKOUT = "SELECT id FROM payments_checkout ORDER BY id LIMIT 1"
BREAKERS = {
    "entries_sum_to_zero": f"UPDATE ledger_posting SET amount = amount + 1 WHERE id = {FIRST_POSTING}",
    "entries_have_postings": f"DELETE FROM ledger_posting WHERE entry_id = {FIRST_ENTRY.format('card')}",
    "postings_have_entries": f"DELETE FROM ledger_entry WHERE id = {FIRST_ENTRY.format('card')}",
    "postings_have_accounts": f"UPDATE ledger_posting SET account_id = -1 WHERE id = {FIRST_POSTING}",
    "rows_belong_to_businesses": "DELETE FROM merchants_business",
    "transitions_have_transactions": "DELETE FROM payments_transaction WHERE method = 'card'",
    "balances_are_sums": "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'wallet' AND sequence > 0",
    "postings_are_chained": f"DELETE FROM ledger_posting WHERE id = {FIRST_POSTING}",
    "hashes_are_valid": "UPDATE ledger_entry SET note = 'nothing to see' WHERE kind = 'top_up'",
    "account_hashes_match_their_last_posting": f"DELETE FROM ledger_posting WHERE id = {LAST_POSTING}",
    "entries_stay_in_one_business_and_currency": "UPDATE ledger_entry SET currency = 'USD' WHERE kind = 'card'",
    "entries_post_to_accounts_of_their_kind": "UPDATE ledger_entry SET kind = 'top_up' WHERE kind = 'card'",
    "accounts_sum_to_zero": "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'wallet' AND sequence > 0",
    "accounts_are_complete": "DELETE FROM ledger_account WHERE kind = 'unapplied'",
    "balances_have_the_right_sign": "UPDATE ledger_account SET balance = -1 WHERE kind = 'fees' AND sequence > 0",
    "covered_payouts_were_covered": (
        "UPDATE ledger_posting SET amount = amount - 1000000, balance_after = balance_after - 1000000 WHERE entry_id = "
        f"{FIRST_ENTRY.format('refund')} AND amount < 0"
    ),
    "covered_refunds_were_covered": "UPDATE payments_cardoperation SET amount = 10000000 WHERE connector <> ''",
    "orders_have_an_account_of_their_connector": (
        "UPDATE django_migrations SET applied = '2020-01-01 00:00:00' WHERE name = '0014_accounts_of_connectors'",
        "UPDATE payments_transaction SET account = '' WHERE method = 'card'",
        "UPDATE payments_cardoperation SET account = 'another:host' WHERE connector <> ''",
    ),
    "top_ups_are_audited": "DELETE FROM merchants_auditentry WHERE action = 'wallet.topped_up'",
    "journals_sum_to_zero": (
        "UPDATE payments_journalleg SET amount = amount + 1 WHERE kind = 'wallet' AND amount > 0"
    ),
    "journals_are_their_entries": "DELETE FROM ledger_entry WHERE kind = 'journal'",
    "entries_of_journals_have_journals": (
        f"UPDATE ledger_entry SET cause = business_id WHERE id = {FIRST_ENTRY.format('journal')}"
    ),
    "house_entries_of_journals_have_journals": (
        "UPDATE ledger_entry SET currency = 'USD' WHERE kind = 'journal_house'"
    ),
    "journals_are_audited": "DELETE FROM merchants_auditentry WHERE action = 'journal.booked'",
    "reversals_undo_their_journals": (
        "UPDATE payments_journalleg SET name = 'other' WHERE kind = 'write_offs' AND amount > 0"
    ),
    "paired_journals_balance": "UPDATE payments_journal SET currency = 'USD' WHERE paired_with_id IS NOT NULL",
    "journals_of_clearing_mend_write_offs": (
        "UPDATE payments_journalleg SET kind = 'bank_clearing', name = '' WHERE kind = 'bank'"
    ),
    "explained_breaks_have_journals": "UPDATE cash_break SET ended_by = 'line' WHERE ended_by = 'entry'",
    "captures_are_booked": f"DELETE FROM ledger_entry WHERE id = {FIRST_ENTRY.format('card')}",
    "card_entries_have_payments": (
        f"UPDATE ledger_entry SET cause = business_id WHERE id = {FIRST_ENTRY.format('card')}"
    ),
    "refunds_are_booked": "UPDATE payments_cardoperation SET amount = amount + 1 WHERE kind = 'refund'",
    "transfer_refunds_are_booked": (
        "UPDATE payments_cardoperation SET amount = amount + 1 WHERE connector <> ''"
    ),
    "transfer_refunds_are_of_transfer_payments": (
        "UPDATE payments_cardoperation SET connector = '', destination_name = '', destination_account_number = '', "
        "destination_bank_code = '' WHERE connector <> ''"
    ),
    "transfer_refunds_do_not_exceed_payments": (
        "UPDATE payments_cardoperation SET amount = 90000 WHERE connector <> '' AND status = 'pending'"
    ),
    "refunded_amounts_are_sums": (
        "UPDATE payments_transaction SET amount_being_refunded = 1 WHERE amount_captured > 0"
    ),
    "charges_of_failed_payments_are_watched": (
        CHECKED_NOW,
        WITHOUT_WATCH_CHECK,
        "UPDATE payments_watchedauthorisation SET next_look_at = NULL, ended_at = opened_at WHERE returned_at IS NULL",
    ),
    "late_charges_are_booked": "DELETE FROM ledger_entry WHERE kind = 'late_charge_in'",
    "returned_late_charges_are_balanced": (
        CHECKED_NOW,
        WITHOUT_WATCH_CHECK,
        "UPDATE payments_watchedauthorisation SET returned_at = NULL WHERE returned_at IS NOT NULL",
    ),
    "expired_authorisations_are_released": "DELETE FROM payments_cardoperation WHERE kind = 'void'",
    "trace_numbers_are_unique": (
        "UPDATE payments_cardoperation SET retrieval_reference_number = ("
        "SELECT min(retrieval_reference_number) FROM payments_transaction WHERE method = 'card') "
        "WHERE kind = 'capture'"
    ),
    "trace_numbers_match_their_rrn": (
        "UPDATE payments_transaction SET system_trace_audit_number = '000000' WHERE method = 'card'"
    ),
    "cancelled_payments_captured_nothing": (
        f"UPDATE ledger_entry SET cause = ({CANCELLED}) WHERE id = {FIRST_ENTRY.format('virtual_account')}"
    ),
    "pending_balances_match_unreleased_payments": (
        "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'pending_settlement' AND sequence > 0"
    ),
    "entries_are_in_the_currency_of_their_cause": (
        "UPDATE payments_transaction SET currency = 'USD' WHERE method = 'card' AND status = 'success'"
    ),
    "batches_keep_to_one_currency": "UPDATE payments_settlementbatch SET currency = 'USD'",
    "payouts_are_in_their_banks_currency": "UPDATE payments_transaction SET currency = 'USD' WHERE method = 'bank'",
    "fees_follow_their_rules": "UPDATE payments_transaction SET fee = fee + 1 WHERE status = 'success'",
    "confirmed_proposals_had_a_second_person": (
        "DELETE FROM merchants_auditentry WHERE action = 'proposal.confirmed'"
    ),
    "confirmed_proposals_were_performed": (
        "UPDATE payments_proposal SET target = business_id WHERE state = 'confirmed'"
    ),
    "confirmed_proposals_meant_what_was_proposed": (
        'UPDATE payments_proposal SET made_about = \'{"awaiting": "reversal"}\' '
        "WHERE action = 'resolve_transaction'"
    ),
    "resolved_unknowns_are_audited": "DELETE FROM merchants_auditentry WHERE action = 'unknown.resolved'",
    "reversals_are_audited": "DELETE FROM merchants_auditentry WHERE action = 'payout.reversed'",
    "payouts_are_debited": "UPDATE payments_transaction SET amount = amount + 1 WHERE method = 'bank'",
    "successful_payouts_are_booked": "DELETE FROM ledger_entry WHERE kind = 'payout_sent'",
    "failed_payouts_are_credited_back": "DELETE FROM ledger_entry WHERE kind = 'payout_failed'",
    "payouts_without_debit_have_failed": "DELETE FROM ledger_entry WHERE kind = 'payout_accepted'",
    "payout_debits_have_payouts": (
        f"UPDATE ledger_entry SET cause = business_id WHERE id = {FIRST_ENTRY.format('payout_accepted')}"
    ),
    "money_in_flight_matches_pending_payouts": (
        "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'payouts_in_flight' AND sequence > 0"
    ),
    "reversals_are_booked": "DELETE FROM payments_payoutreturn WHERE applied = 'reversed'",
    "returned_amounts_are_sums": "UPDATE payments_transaction SET amount_returned = 1 WHERE amount_returned > 0",
    "returned_pending_payouts_failed": (
        "UPDATE payments_payoutreturn SET applied = 'failed' WHERE applied = 'reversed'"
    ),
    "fees_match_successful_transactions": "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'fees' AND sequence > 0",
    "taxes_payable_match_transactions": (
        "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'taxes_payable' AND sequence > 0"
    ),
    "tax_debits_have_payouts": f"UPDATE ledger_entry SET cause = business_id WHERE id = {FIRST_ENTRY.format('tax')}",
    "unsuccessful_transactions_have_no_fee": "UPDATE payments_transaction SET fee = 1 WHERE status = 'failed'",
    "final_statuses_have_one_transition": "DELETE FROM payments_transition WHERE attribute = 'status'",
    "settle_status_matches_the_batch": (
        "UPDATE payments_transaction SET settle_status = 'approved' WHERE settle_status = 'released'"
    ),
    "batches_are_sums": "UPDATE payments_settlementbatch SET gross = gross + 1, net = net + 1",
    "batch_items_match_payments_and_refunds": "UPDATE payments_settlementitem SET fee = fee + 1 WHERE gross > 0",
    "batches_have_their_items": "UPDATE payout_batches_payoutbatch SET amount = amount + 1",
    "sent_items_were_approved": (
        "UPDATE payout_batches_payoutbatchitem SET bank_code = '044' WHERE payout_id IS NOT NULL"
    ),
    "ended_batches_have_final_items": (
        "UPDATE payout_batches_payoutbatchitem SET state = 'ok' WHERE state = 'cancelled'"
    ),
    "releases_are_booked": "DELETE FROM ledger_entry WHERE kind = 'settlement_released'",
    "release_entries_have_batches": (
        f"UPDATE ledger_entry SET cause = business_id WHERE id = {FIRST_ENTRY.format('settlement_released')}"
    ),
    "reserves_are_open_holds": 'UPDATE payments_reservehold SET "left" = "left" - 1 WHERE "left" > 0',
    "holds_are_left_by_returns": "UPDATE payments_reservereturn SET amount = amount + 1",
    "batches_are_reserved_by_holds": (
        "UPDATE payments_settlementbatch SET reserved = reserved + 1 WHERE reserved > 0"
    ),
    "holds_are_booked": "DELETE FROM ledger_entry WHERE kind = 'reserve_held'",
    "entries_of_holds_have_holds": (
        f"UPDATE ledger_entry SET cause = business_id WHERE id = {FIRST_ENTRY.format('reserve_held')}"
    ),
    "house_reserves_are_those_of_businesses": (
        "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'reserves'"
    ),
    "changes_of_reserves_are_mirrored": "DELETE FROM ledger_entry WHERE kind = 'reserves_mirrored'",
    "reserve_returns_are_booked": "DELETE FROM ledger_entry WHERE kind = 'reserve_returned'",
    "entries_of_reserve_returns_have_returns": (
        f"UPDATE ledger_entry SET cause = business_id WHERE id = {FIRST_ENTRY.format('reserve_returned')}"
    ),
    "batches_are_approved_with_their_money": (
        "UPDATE payments_settlementbatch SET funds_required = TRUE WHERE state = 'released'"
    ),
    "unfunded_batches_were_confirmed": (
        "UPDATE payments_settlementbatch SET funds_required = TRUE, unfunded = 1, unfunded_by = 'a',"
        " unfunded_confirmed_by = 'b' WHERE state = 'released'"
    ),
    "settlement_payouts_go_to_the_account": (
        "UPDATE payments_settlementaccountchange SET account_number = '9999999999'"
    ),
    "settlement_accounts_are_their_last_change": (
        "UPDATE payments_settlementaccount SET account_number = '9999999999'"
    ),
    "settlement_payouts_do_not_overlap": (
        "DROP INDEX one_open_settlement_payout",
        (
            "INSERT INTO payments_settlementpayout "
            "(payout_id, account_id, trigger, day, outcome, reason, created_at) "
            "SELECT payout.id, made.account_id, 'member', made.day, '', '', made.created_at "
            "FROM payments_settlementpayout made JOIN payments_transaction payout "
            "ON payout.request_type = 'payout' AND payout.id <> made.payout_id "
            "WHERE payout.business_id = (SELECT business_id FROM payments_transaction t WHERE t.id = made.payout_id)"
        ),
    ),
    "outcomes_of_settlement_payouts_are_of_payouts": (
        "UPDATE payments_settlementpayout SET outcome = 'failed', reason = 'closed'"
    ),
    "scheduled_settlement_payouts_name_batches": "DELETE FROM payments_settlementpayoutbatch",
    "settlement_payouts_pay_released_batches": "UPDATE payments_settlementaccount SET currency = 'GHS'",
    "debts_are_brought_forward_once": (
        "UPDATE payments_settlementbatch SET brought_forward = 1, net = net - 1 WHERE state = 'released'"
    ),
    "events_match_outcomes": "UPDATE webhooks_delivery SET event = 'payout.failed'",
    "transfer_payments_are_booked": "DELETE FROM ledger_entry WHERE kind = 'virtual_account'",
    "transfer_payments_have_transfers": (
        "UPDATE virtual_accounts_transfer SET amount = amount + 1 WHERE applied = 'session'"
    ),
    "transfers_end_sessions_of_their_account": (
        "UPDATE virtual_accounts_transfer SET account_id = (SELECT account_id FROM virtual_accounts_session"
        " WHERE account_id <> virtual_accounts_transfer.account_id LIMIT 1) WHERE applied = 'session'"
    ),
    "link_uses_are_counted": "UPDATE payments_paymentlink SET uses_paid = uses_paid + 1",
    "links_keep_their_limit": (CHECKED_NOW, WITHOUT_LIMIT, "UPDATE payments_paymentlink SET max_uses = 1"),
    "link_payments_fit": "UPDATE payments_checkout SET amount = amount + 1",
    "checkouts_pay_once": (
        CHECKED_NOW,
        "DROP INDEX one_live_attempt_per_checkout",
        f"UPDATE payments_transaction SET checkout_id = ({FIRST_CHECKOUT}) WHERE checkout_id IS NOT NULL",
    ),
    "link_references_are_ours": (
        "UPDATE payments_transaction SET reference = 'x' || reference WHERE checkout_id IS NOT NULL"
    ),
    "held_money_is_of_open_disputes": (
        "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'disputes_held' AND sequence > 0"
    ),
    "disputed_amounts_are_sums": (
        "UPDATE payments_transaction SET amount_disputed = amount_disputed + 1 WHERE amount_disputed > 0"
    ),
    "no_payment_is_paid_back_twice": (
        "UPDATE payments_transaction SET amount_refunded = amount_captured, refund_status = 'refunded'"
        " WHERE amount_disputed > 0"
    ),
    "dispute_steps_match_their_disputes": "DELETE FROM disputes_disputestep WHERE kind = 'opened'",
    "opened_disputes_are_booked": "DELETE FROM ledger_entry WHERE kind = 'dispute_opened'",
    "closed_disputes_are_booked": "DELETE FROM ledger_entry WHERE kind = 'dispute_closed'",
    "what_disputes_give_back_is_booked": "UPDATE disputes_disputestep SET taken = taken - 1 WHERE taken < 0",
    "corrected_disputes_are_booked": "DELETE FROM ledger_entry WHERE kind = 'dispute_corrected'",
    "fee_invoices_match_ledger": "UPDATE payments_feeinvoice SET net = net + 1",
    "fee_invoices_equal_their_lines": "DELETE FROM payments_feeinvoiceline",
    "fee_invoices_have_no_gaps": "UPDATE payments_feeinvoice SET number = number + 1",
    "fees_of_disputes_are_booked": "DELETE FROM ledger_entry WHERE kind = 'dispute_fee'",
    "debits_of_disputes_are_cleared": "DELETE FROM ledger_account WHERE kind = 'chargeback_clearing'",
    "bank_accounts_hold_what_was_matched": "UPDATE cash_statement SET opening = opening + 1",
    "matches_balance": "UPDATE cash_matcheditem SET amount = amount + 1",
    "statement_entries_are_their_matches": "UPDATE cash_matcheditem SET kind = 'cost'",
    "lines_are_matched_or_breaks": "DELETE FROM cash_break",
    "postings_are_matched_expected_or_breaks": (
        "UPDATE ledger_entry SET at = '2020-02-01 00:00:00'",
        "UPDATE virtual_accounts_transfer SET received_at = '2020-02-01 00:00:00'",
        "UPDATE cash_statement SET first_day = '2020-01-01'",
    ),
    "statements_are_their_lines": "UPDATE cash_statement SET lines_count = lines_count + 1",
    "settled_reports_of_disputes_are_audited": (
        "DELETE FROM merchants_auditentry WHERE action = 'dispute_report.dismissed'"
    ),
    "told_cases_have_a_dispute": (
        CHECKED_NOW,
        without("disputes_disputereport", "report_has_a_dispute_or_is_unmatched"),
        "UPDATE disputes_disputereport SET dispute_id = NULL WHERE why = ''",
    ),
    "unapplied_transfers_are_kept": "DELETE FROM virtual_accounts_unappliedmoney WHERE state = 'open'",
    "unapplied_money_is_booked": "DELETE FROM ledger_entry WHERE kind = 'unapplied_in'",
    "decided_unapplied_money_is_debited": (
        "UPDATE virtual_accounts_unappliedmoney SET state = 'open', decided_at = NULL WHERE state = 'credited'"
    ),
    "refused_returns_are_open_again": (
        "UPDATE virtual_accounts_unappliedmoney SET state = 'open', reason = 'x', decided_at = NULL"
        " WHERE state = 'returned'"
    ),
    "suspense_is_the_sum_of_open_rows": "UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'suspense' AND sequence > 0",
    "money_in_suspense_is_booked": "DELETE FROM ledger_entry WHERE kind = 'suspense_in'",
    "money_leaves_suspense_with_its_decision": "DELETE FROM ledger_entry WHERE kind = 'suspense_out'",
    "suspense_is_left_by_audited_decisions": (
        "DELETE FROM merchants_auditentry WHERE action = 'unclaimed_transfer.assigned'"
    ),
    "assigned_transfers_were_unclaimed": (
        "UPDATE virtual_accounts_unclaimedtransfer SET amount = amount + 1 WHERE resolved_at IS NOT NULL"
    ),
    "returned_money_has_payouts": (
        "UPDATE payments_transaction SET reference = 'x' || reference WHERE substr(reference, 1, 7) = 'return_'"
    ),
    "returned_money_goes_to_the_sender": (
        "UPDATE payments_transaction SET account_number = '0123456781' WHERE substr(reference, 1, 7) = 'return_'"
    ),
    "transfer_refunds_go_to_the_sender": (
        "UPDATE payments_cardoperation SET destination_bank_code = '044' WHERE connector <> ''"
    ),
    "sessions_match_their_payments": (
        "UPDATE virtual_accounts_session SET status = 'failed', ended_at = opened_at WHERE status = 'pending'"
    ),
    "numbers_are_held_while_sessions_are_open": (
        "UPDATE virtual_accounts_session SET status = 'failed', ended_at = opened_at WHERE status = 'pending'"
    ),
    "daily_totals_match_transactions": "INSERT INTO payments_countedday SELECT min(date(created_at)) FROM payments_transaction",
    "opt_in_events_match_outcomes": "UPDATE webhooks_delivery SET event = 'released' WHERE event = 'unapplied'",
    "subscribed_outcomes_are_published": "DELETE FROM webhooks_delivery WHERE event = 'released'",
    "payouts_keep_their_limits": "UPDATE payments_payoutlimitcheck SET per_day = 1",
    "payouts_wait_for_their_approval": (
        "UPDATE payments_payoutapproval SET state = 'rejected', reason = 'x', decided_at = created_at"
        " WHERE state = 'approved'"
    ),
    "approved_payouts_had_other_members": "DELETE FROM payments_payoutapprovalgrant",
    "payouts_wait_for_their_server": (
        "UPDATE payments_payoutserverquestion SET state = 'denied', decided_at = created_at"
    ),
    "finished_transactions_are_published": "DELETE FROM webhooks_delivery WHERE event = 'payout.failed'",
}


# Rules that read a table of transactions, transitions, entries or postings in one statement.
WHOLE = {
    # Sums and sequences over all rows of an account, a business or a day.
    "balances_are_sums", "covered_payouts_were_covered", "daily_totals_match_transactions",
    "fee_invoices_match_ledger", "fees_match_successful_transactions", "link_uses_are_counted", "money_in_flight_matches_pending_payouts",
    "payouts_keep_their_limits", "pending_balances_match_unreleased_payments",
    # Rows with different keys: repeated numbers, and tables whose keys have nothing in common.
    "checkouts_pay_once", "entries_are_in_the_currency_of_their_cause", "opt_in_events_match_outcomes",
    "statement_entries_are_their_matches", "taxes_payable_match_transactions", "journals_are_their_entries",
    "entries_of_journals_have_journals", "house_entries_of_journals_have_journals",
    "rows_belong_to_businesses", "subscribed_outcomes_are_published", "trace_numbers_are_unique",
    # Few rows, each with an index lookup.
    "account_hashes_match_their_last_posting", "cancelled_payments_captured_nothing",
    "charges_of_failed_payments_are_watched", "late_charges_are_booked", "returned_late_charges_are_balanced",
    "confirmed_proposals_were_performed", "decided_unapplied_money_is_debited", "refused_returns_are_open_again",
    "money_in_suspense_is_booked", "money_leaves_suspense_with_its_decision", "release_entries_have_batches",
    "releases_are_booked", "returned_money_goes_to_the_sender", "returned_money_has_payouts",
    "returned_pending_payouts_failed", "reversals_are_booked", "suspense_is_left_by_audited_decisions", "top_ups_are_audited",
    "transfer_refunds_do_not_exceed_payments", "transfer_refunds_go_to_the_sender", "unapplied_money_is_booked",
    "holds_are_booked", "entries_of_holds_have_holds", "reserve_returns_are_booked", "entries_of_reserve_returns_have_returns",
    "changes_of_reserves_are_mirrored", "journals_of_clearing_mend_write_offs",
    "opened_disputes_are_booked", "closed_disputes_are_booked", "what_disputes_give_back_is_booked",
    "corrected_disputes_are_booked", "fees_of_disputes_are_booked",
    "settlement_payouts_go_to_the_account", "settlement_payouts_do_not_overlap",
    "outcomes_of_settlement_payouts_are_of_payouts",
}  # fmt: skip


@pytest.mark.usefixtures("books")
class TestInvariant:
    def test_holds_in_a_consistent_ledger(self):
        assert broken() == {}

    @pytest.mark.parametrize("name", BREAKERS)
    def test_detects_a_manual_change(self, name, monkeypatch):
        monkeypatch.setattr(invariants, "SHOWN", 1_000)
        statements = BREAKERS[name]
        with tampering(*([statements] if isinstance(statements, str) else statements)):
            found = broken()
            monkeypatch.setattr(invariants, "RANGE", 1)
            found_in_ranges = broken([one for one in INVARIANTS if one.name in found])

        assert found[name]
        assert sorted(found_in_ranges[name]) == sorted(found[name])
        assert set(found_in_ranges) == set(found)

    @pytest.mark.parametrize("rows", [1, 7])
    def test_holds_in_every_range_of_keys(self, rows, monkeypatch):
        monkeypatch.setattr(invariants, "RANGE", rows)

        assert broken() == {}

    def test_reads_each_table_of_its_keys_in_ranges(self, subtests):
        for invariant in INVARIANTS:
            whole, part = invariant.statement, invariant.statement_within(KeyRange("1", "2"))
            for source, column in invariant.keys.items():
                table, alias = source.split()
                within = f"(SELECT * FROM {table} WHERE {column} > 1 AND {column} <= 2) {alias}"
                with subtests.test(invariant.name):
                    assert part.count(within) == whole.count(source) > 0
                    assert source not in part.replace(within, "")

    def test_divides_the_largest_tables_except_where_a_rule_cannot_be_divided(self):
        large = ("payments_transaction", "payments_transition", "ledger_entry", "ledger_posting")

        whole = {one.name for one in INVARIANTS if not one.keys and any(table in one.sql for table in large)}

        assert whole == WHOLE

    def test_gives_a_statement_over_whole_tables_more_time(self):
        if connection.vendor != "postgresql":
            pytest.skip("SQLite has no such limit")
        slow = Invariant(name="slow", rule="", sql="SELECT 'slow' FROM pg_sleep(0.3)")
        with database.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '100ms'")

            (checked,) = check([slow])

        assert checked.broken == ["slow"]

    def test_every_name_is_tested_above(self):
        assert set(BREAKERS) == {invariant.name for invariant in INVARIANTS}
        assert len(INVARIANTS) >= 20

    def test_names_the_row(self):
        with tampering(BREAKERS["hashes_are_valid"]):
            found = broken()["hashes_are_valid"]

        postings = Posting.objects.filter(entry__kind="top_up")
        assert sorted(found) == sorted(f"posting {posting.pk}" for posting in postings)


@pytest.mark.sqlite
@pytest.mark.parametrize("microsecond", [0, 1, 999_499, 999_500, 999_999])
def test_hashes_are_valid_in_each_part_of_a_second(ada, microsecond):
    """SQLite rounds times to milliseconds, and so the last half of one to the next second."""
    fill_wallet(ada.business, 100, at=timezone.now().replace(microsecond=microsecond))

    assert broken() == {}


@pytest.mark.usefixtures("books")
class TestBankCurrency:
    """An upgraded database has payouts from before the currencies of banks were known."""

    NAME = "payouts_are_in_their_banks_currency"
    MIGRATION = "app = 'payments' AND name = '0014_tariff_currency'"

    def test_isnt_checked_for_payouts_from_before_the_rule(self):
        upgraded = f"UPDATE django_migrations SET applied = '2999-01-01 00:00:00' WHERE {self.MIGRATION}"

        with tampering(BREAKERS[self.NAME], upgraded):
            assert self.NAME not in broken()

    def test_is_checked_where_the_database_never_had_the_migration(self):
        with tampering(BREAKERS[self.NAME], f"DELETE FROM django_migrations WHERE {self.MIGRATION}"):
            assert broken()[self.NAME]


@pytest.mark.usefixtures("books")
class TestDestination:
    """Of the two returns and the four refunds, one each has a known sender."""

    @pytest.mark.parametrize("column", ["account_number", "bank_code"])
    def test_of_a_return_is_compared_where_the_bank_named_the_sender(self, column):
        named = UnappliedMoney.objects.get(amount=40_000)
        returns = "WHERE substr(reference, 1, 7) = 'return_'"

        with tampering(f"UPDATE payments_transaction SET {column} = '0123456781' {returns}"):
            assert broken() == {"returned_money_goes_to_the_sender": [f"unapplied money {key(named)}"]}

    @pytest.mark.parametrize("column", ["account_number", "bank_code"])
    def test_of_a_refund_is_compared_if_the_sender_is_known(self, column):
        named = CardOperation.objects.get(reference="to-the-sender")

        with tampering(
            f"UPDATE payments_cardoperation SET destination_{column} = '0123456781' WHERE connector <> ''"
        ):
            assert broken() == {"transfer_refunds_go_to_the_sender": [f"refund {key(named)}"]}


@pytest.mark.usefixtures("books")
class TestAnEditedPast:
    """Changing a posting and adjusting the adjacent values is still detected."""

    def test_is_detected_if_the_sums_were_adjusted(self):
        older, newer = Posting.objects.filter(account__kind="fees").order_by("sequence")[:2]

        with tampering(
            f"UPDATE ledger_posting SET amount = amount - 1, balance_after = balance_after - 1 WHERE id = {older.pk}",
            f"UPDATE ledger_posting SET amount = amount + 1 WHERE id = {newer.pk}",
        ):
            assert {f"posting {older.pk}", f"posting {newer.pk}"} <= set(broken()["hashes_are_valid"])

    def test_is_detected_if_an_entry_was_removed_with_its_effects(self):
        with tampering(
            "UPDATE ledger_account SET balance = balance - (SELECT sum(amount) FROM ledger_posting "
            f"WHERE account_id = ledger_account.id AND entry_id = {FIRST_ENTRY.format('card')}) WHERE id IN "
            f"(SELECT account_id FROM ledger_posting WHERE entry_id = {FIRST_ENTRY.format('card')})",
            f"DELETE FROM ledger_posting WHERE entry_id = {FIRST_ENTRY.format('card')}",
            f"DELETE FROM ledger_entry WHERE id = {FIRST_ENTRY.format('card')}",
        ):
            assert {"postings_are_chained", "captures_are_booked"} <= set(broken())


@pytest.mark.usefixtures("books")
class TestCheckLedger:
    def run(self, *arguments):
        out = io.StringIO()
        call_command("check_ledger", *arguments, stdout=out)
        return out.getvalue()

    def test_reports_success(self):
        assert self.run() == f"All {len(INVARIANTS)} invariants hold.\n"
        assert json.loads(self.run("--json"))["ok"] is True

    def test_exits_with_1_and_names_the_rows(self, capsys):
        wallet = Account.objects.get(kind="wallet", business__name="Ada Books")

        with tampering(BREAKERS["balances_are_sums"]), pytest.raises(SystemExit) as ended:
            call_command("check_ledger")

        assert ended.value.code == 1
        output = capsys.readouterr().out
        assert "BROKEN balances_are_sums: An account's balance is the sum" in output
        assert f"  account {wallet.pk}: " in output
        assert output.endswith(f"2 of {len(INVARIANTS)} invariants are broken.\n")

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no such statistics")
    def test_warns_if_it_could_take_hours(self, monkeypatch, capsys):
        monkeypatch.setattr(invariants, "LARGE", 0)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE pg_class SET reltuples = -1 WHERE relname = 'ledger_posting'")
            self.run()
            assert "run ANALYZE" in capsys.readouterr().err

            cursor.execute("ANALYZE ledger_posting")
            self.run()
            assert capsys.readouterr().err == ""

    def test_explains_the_text_of_the_guide(self):
        guide = DOC.read_text()

        assert guide.endswith("\n\n" + self.run("--explain"))
