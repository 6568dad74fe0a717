"""Emails to owners about their settlement account. The page shows the same, so that a lost email loses nothing."""

from collections.abc import Iterable
from typing import cast

import structlog
from django.conf import settings

from kit import mail
from kit.money.money import money
from kit.text.display_names import mailed, mailed_address
from merchants.models import Business, Member, User
from merchants.people import notifications
from payments.models import SettlementAccount, SettlementAccountChange, SettlementPayout

log = structlog.get_logger("sluice.settlement")


def mail_change(change: SettlementAccountChange) -> None:
    """Email that a change waits, and where it can be stopped."""
    business = change.account.business
    _mail(
        business,
        Member.objects.active(business, [Member.Role.OWNER]).addresses(),  # about security: always
        f"Settlement account of {mailed(business.name)} is about to change",
        "payments/settlement_account/change.txt",
        maker=mailed_address(cast("User", change.made_by).email),
        bank=change.bank_name,
        account_number=change.account_number,
        account_name=mailed(change.account_name),
        applies_at=change.applies_at,
        awaits_owner=change.awaits_owner,
    )


def mail_lost(lost: SettlementPayout, account: SettlementAccount, *, amount: int) -> None:
    """Email what of a settlement payout failed or came back and why, and whether the schedule is paused."""
    currency = lost.payout.currency
    is_returned = lost.outcome == SettlementPayout.Outcome.RETURNED
    _mail(
        account.business,
        notifications.recipients(account.business, notifications.Kind.SETTLEMENTS),
        f"A settlement payout of {mailed(account.business.name)} {'was returned' if is_returned else 'failed'}",
        "payments/settlement_account/failed_or_returned.txt",
        amount=money(amount, currency),
        whole=money(lost.payout.amount, currency) if amount < lost.payout.amount else "",
        reference=lost.payout.reference,
        reason=mailed(lost.reason),
        is_returned=is_returned,
        pause_reason=mailed(account.pause_reason),
    )


def mail_paused(account: SettlementAccount) -> None:
    """Email that the schedule is paused without an attempt."""
    _mail(
        account.business,
        notifications.recipients(account.business, notifications.Kind.SETTLEMENTS),
        f"Settlement payouts of {mailed(account.business.name)} are paused",
        "payments/settlement_account/paused.txt",
        pause_reason=mailed(account.pause_reason),
    )


def _mail(
    business: Business, recipients: Iterable[str], subject: str, template: str, **context: object
) -> None:
    known = {
        "business": mailed(business.name),
        "link": f"{settings.PUBLIC_URL}/dashboard/settings/settlement-account/",
    }
    mail.send(
        subject,
        template,
        known | context,
        recipients,
        log=log,
        failure="settlement account not mailed",
    )
