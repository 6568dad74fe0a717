"""Let a day pass for a business's settlement account in the sandbox: its wait ends, and it is paid out to."""

from contextlib import suppress
from datetime import datetime

from django.db import transaction as database

from kit.db.clock import database_now
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import SettlementAccount
from payments.services.settlement.payouts import payout_endings, settlement_accounts, settlement_payouts


def pass_waits(business: Business, *, actor: Actor) -> None:
    """End the waits of changes. A second owner still has to confirm them, where one is needed."""
    for account in SettlementAccount.objects.filter(business=business).order_by("pk"):
        _end_wait(account, actor=actor, now=database_now())


def pass_day(business: Business) -> None:
    """Make the payouts of the business's schedules, whatever day it is.

    Calls the bank, so call it outside a database transaction.
    """
    payout_endings.end_due(now=database_now())
    for account in SettlementAccount.objects.paid_automatically().filter(business=business).order_by("pk"):
        settlement_payouts.pay_by_schedule(account, is_day_passed=True)


def pay_out_to(business: Business, *, bank_code: str, account_number: str, actor: Actor) -> None:
    """Pay the wallet out to the settlement account. Without one in the bank's currency, the given one becomes it.

    Nothing is paid if nothing is left, or while a payout has no outcome. Calls the bank, so call it outside a database
    transaction.

    :raises UnknownBeneficiary: the bank has no such account
    :raises InvalidState: it is not in a currency of the business, or a change waits for another owner
    :raises RailUnavailable: the bank can't be asked now
    """
    account = settlement_accounts.take_first(
        business, bank_code=bank_code, account_number=account_number, actor=actor, now=database_now()
    )
    with suppress(settlement_payouts.NothingToPay, settlement_payouts.StillOpen):
        settlement_payouts.pay_now(account, actor=actor)


@database.atomic
def _end_wait(account: SettlementAccount, *, actor: Actor, now: datetime) -> None:
    if settlement_accounts.end_wait(account, actor=actor, now=now):
        audit.record(
            action="sandbox.settlement_account_advanced",
            actor=actor,
            business=account.business,
            target=account.currency,
            now=now,
        )
