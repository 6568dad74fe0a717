"""Emails to owners and finance about debits of their wallet by staff."""

from typing import cast

import structlog
from django.conf import settings

from kit import mail
from kit.money.money import money
from kit.text.display_names import mailed, printable_line
from ledger.services import Kind
from merchants.models import Business, Member
from payments.models import Journal
from payments.models.staff.journals import reason_in_words

log = structlog.get_logger("sluice.payments")

NOTIFIED = (Member.Role.OWNER, Member.Role.FINANCE)


def mail_debit(journal: Journal) -> None:
    """Email that a wallet was debited. A mail that can't be sent is only logged: the statement shows the same."""
    business = cast("Business", journal.business)
    amount = money(-journal.legs.get(kind=Kind.WALLET).amount, journal.currency)
    name = mailed(business.name)
    mail.send(
        f"{amount} was taken from the balance of {name}",
        "payments/balance_adjusted.txt",
        {
            "business": name,
            "amount": amount,
            "reason": printable_line(reason_in_words(journal.code, journal.text)),
            "link": f"{settings.PUBLIC_URL}/dashboard/balance/",
        },
        Member.objects.active(business, NOTIFIED).addresses(),
        log=log,
        failure="debit of a wallet not mailed",
    )
