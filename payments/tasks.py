"""Scheduled tasks of the payments app. Each queries the database for due work."""

from celery import shared_task

from kit.db import clock
from payments.services import return_matching
from payments.services.payouts.controls import payout_settings, waiting_payouts
from payments.services.rails import requery, watch_looks
from payments.services.reconciliation import breaks, provider_statements
from payments.services.replays import idempotency
from payments.services.reporting import daily_totals, fee_invoices
from payments.services.settlement import debts, reserves
from payments.services.settlement.batches import batch_transitions
from payments.services.settlement.payouts import payout_endings, settlement_accounts, settlement_payouts
from payments.services.transactions import expiry
from payments.services.transfers import account_provider_calls


@shared_task(name="payments.expire_due")
def expire_due() -> None:
    now = clock.now()
    for _ in expiry.expire(expiry.overdue(now=now)):
        pass
    if expiry.overdue_sessions(now=now):
        for _ in expiry.expire_sessions():
            pass


@shared_task(name="payments.end_waits_of_payouts")
def end_waits_of_payouts() -> None:
    now = clock.now()
    waiting_payouts.expire_overdue(now=now)
    payout_settings.apply_due(now=now)


@shared_task(name="payments.ask_servers")
def ask_servers() -> None:
    waiting_payouts.ask_servers()


@shared_task(name="payments.requery_due")
def requery_due() -> None:
    for _ in requery.requery_due():
        pass
    return_matching.match_ended()


@shared_task(name="payments.look_at_watches")
def look_at_watches() -> None:
    watch_looks.look_due()


@shared_task(name="payments.notify_account_provider")
def notify_account_provider() -> None:
    account_provider_calls.send_due()


@shared_task(name="payments.update_settled_payments")
def update_settled_payments() -> None:
    batch_transitions.update_due()


@shared_task(name="payments.match_statements")
def match_statements() -> None:
    breaks.update_all(now=clock.now())


@shared_task(name="payments.import_provider_statements")
def import_provider_statements() -> None:
    provider_statements.import_due(now=clock.now())


@shared_task(name="payments.return_reserves")
def return_reserves() -> None:
    now = clock.now()
    reserves.return_due(now=now)
    debts.update(now=now)


@shared_task(name="payments.pay_settlements")
def pay_settlements() -> None:
    now = clock.now()
    settlement_accounts.apply_due(now=now)
    payout_endings.end_due(now=now)
    settlement_payouts.pay_due()


@shared_task(name="payments.issue_fee_invoices")
def issue_fee_invoices() -> None:
    fee_invoices.issue_due(now=clock.now())


@shared_task(name="payments.roll_up_days")
def roll_up_days() -> None:
    for _ in daily_totals.roll_up(now=clock.now()):
        pass


@shared_task(name="payments.erase_card_number_hashes")
def erase_card_number_hashes() -> None:
    for _ in idempotency.erase_card_number_hashes(now=clock.now()):
        pass
