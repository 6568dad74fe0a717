"""Unclaimed transfers: recorded as notified by the bank, and resolved by staff (`payments` books both)."""

from datetime import datetime
from uuid import UUID

from kit.db.prepared_statements import insert_if_absent
from kit.time.time_ordered_ids import new_id
from virtual_accounts.models import SENDER_ACCOUNT, SENDER_BANK, UnclaimedTransfer
from virtual_accounts.services.transfer_matching import Notice

Why = UnclaimedTransfer.Why


def find(notice: Notice) -> UnclaimedTransfer | None:
    """Return the unclaimed transfer with the notification's bank reference."""
    return (
        UnclaimedTransfer.objects.filter(bank_reference=notice.bank_reference)
        .exclude(why=Why.CONFLICT)
        .first()
    )


def has_content(transfer: UnclaimedTransfer, notice: Notice) -> bool:
    """Return whether a notification equals the recorded one."""
    recorded = (transfer.account_number, transfer.amount, transfer.currency)
    return recorded == (notice.account_number, notice.amount, notice.currency)


def record(notice: Notice, why: UnclaimedTransfer.Why, *, now: datetime) -> UnclaimedTransfer | None:
    """Record a notification; return None if it was recorded before."""
    transfer = UnclaimedTransfer(
        id=new_id(now),
        bank_reference=notice.bank_reference,
        account_number=notice.account_number,
        amount=notice.amount,
        currency=notice.currency,
        why=why,
        sender_name=notice.sender_name,
        narration=notice.narration,
        extra_members=notice.all_members,
        provider_account=notice.provider_account,
        received_at=now,
    )
    return transfer if insert_if_absent(transfer) else None


def notice_to(account_number: str, transfer: UnclaimedTransfer) -> Notice:
    """Return the notification as if the bank had named this account number. The number that it named is kept."""
    members = {"account_number": transfer.account_number, **transfer.extra_members}
    return Notice(
        bank_reference=transfer.bank_reference,
        account_number=account_number,
        amount=transfer.amount,
        currency=transfer.currency,
        sender_name=transfer.sender_name,
        sender_account_number=members.pop(SENDER_ACCOUNT, ""),
        sender_bank_code=members.pop(SENDER_BANK, ""),
        narration=transfer.narration,
        provider_account=transfer.provider_account,
        extra_members=members,
    )


def lock(transfer_id: UUID) -> UnclaimedTransfer:
    """Return an unclaimed transfer, locked until the transaction ends."""
    return UnclaimedTransfer.objects.select_for_update().get(pk=transfer_id)


def resolve(transfer: UnclaimedTransfer, *, resolution: str, actor: str, now: datetime) -> None:
    """Record how an open transfer that the caller has locked was resolved."""
    transfer.resolution, transfer.resolved_by, transfer.resolved_at = resolution, actor, now
    transfer.save(update_fields=["resolution", "resolved_by", "resolved_at"])
