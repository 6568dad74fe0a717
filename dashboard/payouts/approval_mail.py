"""E-mails to the members who can approve payouts or a batch that wait for them.

One for each batch. Single payouts of one maker share an e-mail, at most one an hour while an earlier one still waits: a
program may make hundreds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from kit import mail
from kit.money.money import money
from kit.text.display_names import mailed, mailed_address
from kit.text.plurals import counted
from merchants.people import notifications
from payments.models import PayoutApproval
from payments.services.payouts.controls import approvals
from payout_batches import summaries

log = structlog.get_logger("sluice.dashboard")

APART = timedelta(hours=1)
AT_ONCE = 500  # approvals


def mail_due(*, now: datetime) -> int:
    """Send the e-mails that are due, and return their number. One that can't be sent is tried again."""
    return sum(_mail_once(group, now=now) for group in _groups(approvals.unmailed()[:AT_ONCE], now=now))


def _groups(due: Iterable[PayoutApproval], *, now: datetime) -> list[list[PayoutApproval]]:
    """Return what one e-mail each is about: a batch, or the single payouts of a maker."""
    batches, singles = [], defaultdict(list)
    for approval in due:
        if approval.transaction is None:
            batches.append([approval])
        else:
            singles[approval.business_id, approval.maker_id, approval.key_id].append(approval)
    return batches + [group for group in singles.values() if not _is_recent(group[0], now=now)]


def _is_recent(single: PayoutApproval, *, now: datetime) -> bool:
    """Return whether members were mailed about payouts of the same maker that still wait."""
    of_maker = approvals.waiting(single.business).filter(maker=single.maker_id, key=single.key_id)
    return of_maker.filter(transaction__isnull=False, mailed_at__gt=now - APART).exists()


def _mail_once(group: list[PayoutApproval], *, now: datetime) -> bool:
    own = PayoutApproval.objects.filter(pk__in=[each.pk for each in group])
    if not own.filter(mailed_at=None).update(mailed_at=now):
        return False  # another worker sends it
    is_sent = _mail(group)
    if not is_sent:
        own.update(mailed_at=None)
    return is_sent


def _mail(group: list[PayoutApproval]) -> bool:
    first = group[0]
    business = mailed(first.business.name)
    what, link = _batch(first) if first.transaction is None else _payouts(group)
    context = {
        "business": business,
        "what": what,
        "link": settings.PUBLIC_URL + link,
        "maker": _maker(first),
        "until": min(each.expires_at for each in group),
        "zone": str(first.business.zone),
    }
    receivers = notifications.recipients(first.business, notifications.Kind.BATCHES)
    with timezone.override(first.business.zone):
        return mail.send(
            f"Payouts of {business} wait for your approval",
            "dashboard/payouts/approval_notice.txt",
            context,
            receivers.exclude(user=first.maker_id) if first.maker_id else receivers,
            log=log,
            failure="approval not mailed",
        )


def _batch(approval: PayoutApproval) -> tuple[str, str]:
    ((batch, number, amount),) = summaries.sizes([approval.batch])
    what = (
        f"the batch “{mailed(batch.title)}” of {counted(number, 'payout')}, {money(amount, batch.currency)}"
    )
    return what, reverse("dashboard-batch", args=[batch.pk])


def _payouts(group: list[PayoutApproval]) -> tuple[str, str]:
    payout: Any = group[0].transaction
    if len(group) > 1:
        return counted(len(group), "payout"), reverse("dashboard-payouts") + "?status=awaiting_approval"
    what = f"a payout of {money(payout.amount, payout.currency)} to {mailed(payout.customer_name)}"
    return what, reverse("dashboard-payout-approval", args=[payout.pk])


def _maker(approval: PayoutApproval) -> str:
    if approval.key is not None:
        return f"The API key {approval.key.public_id}"
    return mailed_address(approval.maker.email) if approval.maker else "Staff"
