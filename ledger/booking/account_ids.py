"""Ids of the accounts of a business, or of the house, in a currency. All are created together at first use."""

from functools import partial
from uuid import UUID

from django.db import transaction

from ledger.models import BUSINESS_KINDS, HOUSE_KINDS, Account

Ids = dict[str, int]  # by kind; ids ascend in the order of the kinds, so the wallet has the smallest

REMEMBERED = 10_000  # businesses and currencies in the cache of a process

_remembered: dict[tuple[UUID, str], Ids] = {}


def account_ids(business_id: UUID | None, currency: str) -> Ids:
    """Return the ids of a business's accounts, creating them if they don't exist. None: the house."""
    if business_id is None:  # seldom used; the cache outlives a database in tests
        return _find_or_open(business_id, currency)
    key = (business_id, currency)
    ids = _remembered.get(key)
    if ids is None:
        ids = _find_or_open(*key)
        # Accounts created in an open transaction must not be cached, because it may be rolled back.
        transaction.on_commit(partial(_remember, key, ids))
    return ids


def named_account_id(currency: str, kind: str, name: str) -> int:
    """Return the id of a house account of banks, which is opened at first use."""
    opened, _ = Account.objects.get_or_create(business=None, currency=currency, kind=kind, name=name)
    return opened.pk


def _find_or_open(business_id: UUID | None, currency: str) -> Ids:
    kinds = HOUSE_KINDS if business_id is None else BUSINESS_KINDS
    ids = _find(business_id, currency)
    if len(ids) < len(kinds):
        missing = [kind for kind in kinds if kind not in ids]
        Account.objects.bulk_create(
            [Account(business_id=business_id, currency=currency, kind=kind) for kind in missing],
            ignore_conflicts=True,  # another process was faster
        )
        ids = _find(business_id, currency)
    return ids


def _find(business_id: UUID | None, currency: str) -> Ids:
    found = Account.objects.filter(currency=currency)
    if business_id is None:
        found = found.filter(business__isnull=True, kind__in=HOUSE_KINDS)
    else:
        found = found.filter(business_id=business_id)
    return dict(found.values_list("kind", "id"))


def _remember(key: tuple[UUID, str], ids: Ids) -> None:
    if len(_remembered) >= REMEMBERED:
        _remembered.clear()
    _remembered[key] = ids
