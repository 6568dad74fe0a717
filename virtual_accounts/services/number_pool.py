"""The pool of account numbers: taken without waiting for anybody, given back, and stocked up."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db import transaction as database

from virtual_accounts.models import AccountNumber, NumberSeries
from virtual_accounts.providers import account_provider
from virtual_accounts.providers.protocol import NumberOrder

T = TypeVar("T")

COOLING = timedelta(hours=24)  # from the end of a session until its number may be taken again
BLOCK = 200  # numbers that are ordered at once
FIRST_SERIAL = 100_000_000
TRIES = 3  # others may have emptied a fresh block before we came back

# Numbers that others are taking at this moment are passed over; the partial index makes it one look-up,
# however many there are.
_TAKE = """
    UPDATE virtual_accounts_accountnumber SET holder_id = %s, last_holder_id = %s, free_at = NULL
    WHERE number = (
        SELECT number FROM virtual_accounts_accountnumber
        WHERE holder_id IS NULL AND bank_code = %s AND free_at <= %s
        ORDER BY free_at LIMIT 1 {locking}
    ) RETURNING number, bank_name
"""
_LOCKING = {"postgresql": "FOR UPDATE SKIP LOCKED"}


def require_bank() -> None:
    """Make sure that there is a bank to host numbers.

    :raises RailUnavailable: none is configured
    """
    account_provider()


class PoolEmpty(Exception):
    """No number can be taken now: stock up and try again."""


def take(account_id: UUID, *, now: datetime) -> AccountNumber:
    """Take a free number for an account, within the caller's transaction.

    :raises PoolEmpty: there is none
    """
    holder = AccountNumber._meta.get_field("holder").get_db_prep_save(account_id, connection)
    free_at = AccountNumber._meta.get_field("free_at").get_db_prep_save(now, connection)
    bank_code = settings.VIRTUAL_ACCOUNT_BANK_CODE
    with connection.cursor() as cursor:
        cursor.execute(
            _TAKE.format(locking=_LOCKING.get(connection.vendor, "")), [holder, holder, bank_code, free_at]
        )
        taken = cursor.fetchone()
    if taken is None:
        raise PoolEmpty
    return AccountNumber(
        number=taken[0],
        bank_code=bank_code,
        bank_name=taken[1],
        holder_id=account_id,
        last_holder_id=account_id,
    )


def give_back(numbers: list[str], *, now: datetime) -> None:
    """Free the numbers of ended sessions; after a day somebody else may have them."""
    if numbers:
        AccountNumber.objects.filter(pk__in=numbers).update(holder=None, free_at=now + COOLING)


def with_numbers(act: Callable[[], T], *, now: datetime) -> T:
    """Do what takes a number; should the pool be empty, stock it up in between.

    `act` is one database transaction. The bank is asked outside of it.
    """
    for _ in range(TRIES):
        try:
            return act()
        except PoolEmpty:
            stock_up(now=now)
    return act()


def stock_up(*, now: datetime, count: int = BLOCK) -> None:
    """Have the hosting bank issue new numbers, and put them into the pool.

    :raises RailUnavailable: no hosting bank is configured
    """
    bank_code = settings.VIRTUAL_ACCOUNT_BANK_CODE
    first_serial = _reserve_serials(bank_code, count)
    order = NumberOrder(bank_code=bank_code, first_serial=first_serial, count=count)
    issued = account_provider().issue(order)
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
