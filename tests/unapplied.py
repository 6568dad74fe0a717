"""Unapplied money, created by a notification of the hosting bank."""

from datetime import datetime
from typing import Any

from merchants.models import Business
from payments.services.transfers import incoming
from payments.services.transfers.incoming import Notice
from tests import orders
from tests.transactions import start
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts, unapplied_queries


def mismatched_money(
    *, business: Business, now: datetime, amount: int = 40_000, **changes: Any
) -> UnappliedMoney:
    """Receive a transfer of the wrong amount for an open payment. `changes` are fields of the
    notification.
    """
    wanted = read_account(orders.dynamic_account(), business=business)
    account = accounts.create(business=business, request=wanted, now=now).resource
    payment = start(orders.transfer_payment(str(account.pk)), business=business, now=now)
    payment.refresh_from_db()
    notice = {"bank_reference": orders.new_reference("bank"), "sender_name": "Bisi Ojo"} | changes
    incoming.receive(Notice(account_number=payment.session.number_id, amount=amount, **notice))
    return unapplied_queries.of(business).first()
