"""Book the open unclaimed transfers and unmatched payout returns of the earlier release to suspense."""

from typing import Any

from django.db import migrations, models
from django.db import transaction as database
from django.db.models import Max

from kit.db import clock
from kit.db.migration_operations import AddIndexConcurrently, ValidateConstraint
from ledger import hash_chain

LARGEST_ENTRY = 10**16
LEGS = {
    "bank_clearing": -1,
    "suspense": 1,
}  # accounts are locked in the order of their ids, as in `ledger.posting`


def book_open_rows(apps: Any, schema_editor: Any) -> None:
    """Book each row that has no entry, one per transaction, because the lock of the accounts is held until it ends."""
    unclaimed = apps.get_model("virtual_accounts", "UnclaimedTransfer").objects.filter(why="unknown_account")
    returns = apps.get_model("payments", "PayoutReturn").objects.filter(
        applied="unmatched", amount__lte=LARGEST_ENTRY
    )
    for rows in (unclaimed, returns):
        for row in rows.filter(resolved_at__isnull=True).order_by("pk"):
            with database.atomic():
                book(apps, schema_editor.connection.vendor, row)


def book(apps: Any, vendor: str, row: Any) -> None:
    entries = apps.get_model("ledger", "Entry").objects
    if entries.filter(kind="suspense_in", cause=row.pk).exists():
        return
    accounts = apps.get_model("ledger", "Account").objects
    accounts.bulk_create(
        (accounts.model(currency=row.currency, kind=kind) for kind in LEGS), ignore_conflicts=True
    )
    house = accounts.select_for_update().filter(business=None, currency=row.currency, kind__in=LEGS)
    now = clock.now()
    entry = entries.model(kind="suspense_in", cause=row.pk, currency=row.currency, note="", at=now)
    if vendor == "sqlite":  # there the entry closes its postings, so it comes last
        entry.pk = (entries.aggregate(last=Max("pk"))["last"] or 0) + 1
    else:
        entry.save(force_insert=True)
    text = hash_chain.entry_text(kind="suspense_in", cause=row.pk, at=now, note="")
    postings = [
        posting_of(apps, account, entry.pk, LEGS[account.kind] * row.amount, text)
        for account in house.order_by("pk")
    ]
    apps.get_model("ledger", "Posting").objects.bulk_create(postings)  # in one statement, which must balance
    if vendor == "sqlite":
        entry.save(force_insert=True)


def posting_of(apps: Any, account: Any, entry_id: int, amount: int, text: str) -> Any:
    """Return the account's next posting, and update the account."""
    previous = bytes(account.hash)
    account.balance += amount
    account.sequence += 1
    account.hash = hash_chain.link(
        previous,
        account_id=account.pk,
        sequence=account.sequence,
        amount=amount,
        balance=account.balance,
        entry=text,
    )
    account.save(update_fields=["balance", "sequence", "hash"])
    return apps.get_model("ledger", "Posting")(
        entry_id=entry_id,
        account_id=account.pk,
        amount=amount,
        sequence=account.sequence,
        balance_after=account.balance,
        previous_hash=previous,
        hash=account.hash,
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("payments", "0015_suspense"),
        ("ledger", "0004_house_accounts_are_unique"),
        ("virtual_accounts", "0004_assigned_transfers"),
    ]

    operations = [
        ValidateConstraint("payoutreturn", "return_resolutions_have_reason_and_actor"),
        AddIndexConcurrently(
            "payoutreturn",
            models.Index(
                fields=["id"],
                condition=models.Q(applied="unmatched", resolved_at__isnull=True),
                name="payout_returns_open",
            ),
        ),
        migrations.RunPython(book_open_rows, migrations.RunPython.noop, elidable=True),
    ]
