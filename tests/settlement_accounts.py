"""Settlement accounts as owners have set them up, and their payouts."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from kit.time.time_ordered_ids import new_id
from merchants.models import Business, User
from payments.models import SettlementAccount, SettlementAccountChange
from tests.factories import MemberFactory

ACCOUNT = {"bank_code": "058", "account_number": "0123456789", "account_name": "Ada Books Ltd"}


def settlement_account(business: Business, *, currency: str = "NGN", **fields: Any) -> SettlementAccount:
    """Store a settlement account that a change has set a day ago."""
    since = timezone.now() - timedelta(days=1)
    given = ACCOUNT | {name: fields.pop(name) for name in ACCOUNT.keys() & fields.keys()}
    account: SettlementAccount = SettlementAccount.objects.create(
        business=business,
        currency=currency,
        **given,
        since=since,
        failures_since=since,
        created_at=since - timedelta(days=1),
        **{"pays": "daily"} | fields,
    )
    SettlementAccountChange.objects.create(
        id=new_id(since),
        account=account,
        **given,
        state="applied",
        needs_second_owner=False,
        made_by=MemberFactory(business=business, role="finance").user,
        created_at=since - timedelta(days=1),
        applies_at=since,
        decided_at=since,
    )
    return account


def waiting_account(
    business: Business, *, made_by: User, currency: str = "NGN", needs_second_owner: bool = False
) -> SettlementAccountChange:
    """Store a change of a settlement account that waits."""
    now = timezone.now()
    account, _ = SettlementAccount.objects.get_or_create(
        business=business, currency=currency, defaults={"created_at": now}
    )
    change: SettlementAccountChange = SettlementAccountChange.objects.create(
        id=new_id(now),
        account=account,
        **ACCOUNT,
        needs_second_owner=needs_second_owner,
        made_by=made_by,
        created_at=now,
        applies_at=now + timedelta(days=1),
    )
    return change
