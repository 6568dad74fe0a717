"""Pool of account numbers: take without blocking, release, and refill."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db import transaction as database

from kit.db.prepared_statements import insert_if_absent
from virtual_accounts.models import AccountNumber, NumberSeries
from virtual_accounts.providers import number_provider
from virtual_accounts.providers.protocol import NumberOrder

T = TypeVar("T")

COOLING = timedelta(hours=24)  # from the end of a session until its number can be reused
BLOCK = 200  # numbers per order
FIRST_SERIAL = 100_000_000
TRIES = 3  # concurrent requests may use up a new block


class PoolEmpty(Exception):
    """The pool has no free number. Refill it and retry."""


def take(account_id: UUID, *, now: datetime) -> AccountNumber:
    """Assign a free number to an account, in the caller's transaction.

    :raises PoolEmpty: no number is free
    """
    free = AccountNumber.objects.filter(
        holder=None, provider_account="", bank_code=settings.VIRTUAL_ACCOUNT_BANK_CODE, free_at__lte=now
    )
    # Numbers locked by concurrent requests are skipped. The partial index makes this a single lookup.
    skips = connection.features.has_select_for_update_skip_locked
    number = free.order_by("free_at").select_for_update(skip_locked=skips).first()
    if number is None:
        raise PoolEmpty
    number.holder_id = number.last_holder_id = account_id
    number.free_at = None
    number.save(update_fields=["holder", "last_holder", "free_at"])
    return number


class NumberTaken(Exception):
    """A provider names a number that another account holds."""


def hold(number: AccountNumber) -> None:
    """Store a number that a provider has given to its holder, in the caller's transaction. It may have been another's.

    :raises NumberTaken: another account holds it
    """
    number.last_holder_id = number.holder_id
    if insert_if_absent(number):
        return
    stored = AccountNumber.objects.select_for_update().get(pk=number.pk)
    if stored.holder_id not in {None, number.holder_id}:
        raise NumberTaken(number.pk)
    number.save(force_update=True)


def release(numbers: list[str], *, now: datetime) -> None:
    """Release the numbers of ended sessions. They can be assigned again after a day."""
    if numbers:
        AccountNumber.objects.filter(pk__in=numbers).update(holder=None, free_at=now + COOLING)


def with_numbers(act: Callable[[], T], *, now: datetime) -> T:
    """Run an action that takes a number, refilling the pool and retrying if it is empty.

    `act` is one database transaction. The bank is called outside of it.
    """
    for _ in range(TRIES):
        try:
            return act()
        except PoolEmpty:
            refill(BLOCK, now=now)
    return act()


def refill(count: int, *, now: datetime) -> None:
    """Order new numbers from the hosting bank, and add them to the pool.

    :raises RailUnavailable: no hosting bank is configured
    """
    bank_code = settings.VIRTUAL_ACCOUNT_BANK_CODE
    first_serial = _reserve_serials(bank_code, count)
    order = NumberOrder(bank_code=bank_code, first_serial=first_serial, count=count)
    issued = number_provider().issue(order)
    AccountNumber.objects.bulk_create(
        [
            AccountNumber(
                number=number, bank_code=bank_code, bank_name=settings.VIRTUAL_ACCOUNT_BANK_NAME, free_at=now
            )
            for number in issued
        ],
        batch_size=5_000,
        ignore_conflicts=True,
    )


@database.atomic
def _reserve_serials(bank_code: str, count: int) -> int:
    NumberSeries.objects.get_or_create(bank_code=bank_code, defaults={"next_serial": FIRST_SERIAL})
    series = NumberSeries.objects.select_for_update().get(pk=bank_code)
    first: int = series.next_serial
    series.next_serial = first + count
    series.save(update_fields=["next_serial"])
    return first
