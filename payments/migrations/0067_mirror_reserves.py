"""Book earlier holds, and their returns, to the house accounts that mirror the reserves of businesses."""

from typing import Any

from django.db import migrations
from django.db import transaction as database
from django.db.models import Exists, Max, OuterRef

from kit.db import clock
from ledger import hash_chain

KIND = "reserves_mirrored"
LEGS = {"reserves": 1, "reserves_contra": -1}


def mirror(apps: Any, schema_editor: Any) -> None:
    """Book each row that has no such entry, one per transaction, because the lock of the accounts is held until it ends."""
    vendor = schema_editor.connection.vendor
    mirrored = apps.get_model("ledger", "Entry").objects.filter(kind=KIND, cause=OuterRef("pk"))
    holds = apps.get_model("payments", "ReserveHold").objects.filter(~Exists(mirrored))
    for key, currency, amount in holds.order_by("pk").values_list("pk", "currency", "amount"):
        book(apps, vendor, key, currency, amount)
    returns = apps.get_model("payments", "ReserveReturn").objects.filter(~Exists(mirrored))
    for key, currency, amount in returns.order_by("pk").values_list("pk", "hold__currency", "amount"):
        book(apps, vendor, key, currency, -amount)


@database.atomic
def book(apps: Any, vendor: str, cause: Any, currency: str, amount: int) -> None:
    accounts = apps.get_model("ledger", "Account").objects
    accounts.bulk_create(
        (accounts.model(currency=currency, kind=kind) for kind in LEGS), ignore_conflicts=True
    )
    house = accounts.select_for_update().filter(business=None, currency=currency, kind__in=LEGS)
    locked = list(house.order_by("pk"))
    entries = apps.get_model("ledger", "Entry").objects
    if entries.filter(kind=KIND, cause=cause).exists():  # a host of this release was faster
        return
    now = clock.now()
    entry = entries.model(kind=KIND, cause=cause, currency=currency, note="", at=now)
    if vendor == "sqlite":  # there the entry closes its postings, so it comes last
        entry.pk = (entries.aggregate(last=Max("pk"))["last"] or 0) + 1
    else:
        entry.save(force_insert=True)
    text = hash_chain.entry_text(kind=KIND, cause=cause, at=now, note="")
    postings = [posting_of(apps, account, entry.pk, LEGS[account.kind] * amount, text) for account in locked]
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
        ("ledger", "0018_validate_mirrors"),
        ("payments", "0066_accounts_for_refunds"),
    ]

    operations = [
        migrations.RunPython(mirror, migrations.RunPython.noop, elidable=True),
    ]
