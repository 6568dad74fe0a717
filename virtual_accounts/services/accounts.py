"""Virtual accounts: created and found."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction as database

from kit.api.idempotency import IdempotentResult, fingerprint_of, keyed_hash, replay_of
from kit.db.prepared_statements import Lookup, insert_if_absent
from kit.time_ordered_ids import new_id
from merchants import audit
from merchants.audit import Actor
from merchants.models import Business
from virtual_accounts.models import VirtualAccount
from virtual_accounts.services import number_pool


def create(
    *, business: Business, request: dict[str, Any], now: datetime, actor: Actor | None = None
) -> IdempotentResult[VirtualAccount]:
    """Create an account; a static one gets its permanent number. A person's creation is audited with it.

    :raises DuplicateReference: the reference belongs to a different request
    :raises RailUnavailable: it is a new request and no hosting bank is configured
    """
    new = VirtualAccount(
        id=new_id(now),
        business=business,
        fingerprint=fingerprint_of(request).request,  # card numbers in names aren't compared
        bank_code=settings.VIRTUAL_ACCOUNT_BANK_CODE,
        bank_name=settings.VIRTUAL_ACCOUNT_BANK_NAME,
        created_at=now,
        **_stored(request),
    )
    replay = _replay(business, new)
    if replay is not None:
        return replay
    number_pool.require_bank()
    if number_pool.with_numbers(lambda: _write(new, actor=actor, now=now), now=now):
        return IdempotentResult(new, is_replay=False)
    replay = _replay(business, new)  # an equal or different request has just written it
    if replay is None:
        raise VirtualAccount.DoesNotExist
    return replay


def find_of(business: Business, reference: str) -> VirtualAccount | None:
    """Return the business's account with that reference; another business's is none."""
    return _BY_REFERENCE.find(business.pk, reference)


def hold(account_id: UUID) -> VirtualAccount | None:
    """Return an account as it is; nobody changes it until the transaction ends, others may hold it too."""
    return _HELD.find(account_id)


def lock(account_id: UUID) -> VirtualAccount:
    """Return an account as it is, locked until the transaction ends. Those who refer to it go on."""
    account: VirtualAccount = VirtualAccount.objects.select_for_update(no_key=True).get(pk=account_id)
    return account


_BY_REFERENCE = Lookup(VirtualAccount, "business", "reference")
_HELD = Lookup(VirtualAccount, "id", share=True)


def bvn_hash(bvn: str) -> str:
    """Return the keyed hash by which accounts of the same person are found."""
    return keyed_hash({"bvn": bvn})


@database.atomic
def _write(new: VirtualAccount, *, actor: Actor | None, now: datetime) -> bool:
    """Write the row, and tell whether this was the first with its reference."""
    if new.is_static:
        new.account_number = number_pool.take(new.pk, now=now).number
    new.current_number = new.account_number  # no session is open yet
    if insert_if_absent(new):
        if actor is not None:
            audit.record(
                action="virtual_account.created",
                actor=actor,
                business=new.business,
                target=new.reference,
                after={"type": str(new.type)},
                now=now,
            )
        return True
    database.set_rollback(True)  # the number goes back
    return False


def _replay(business: Business, new: VirtualAccount) -> IdempotentResult[VirtualAccount] | None:
    return replay_of(find_of(business, new.reference), fingerprint=new.fingerprint)


def _stored(request: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored of a request, by the names of the fields."""
    values = dict(request)
    bvn = values.get("bvn")
    if "dob" in values:
        values["date_of_birth"] = values.pop("dob")
    return values | ({"bvn_hash": bvn_hash(bvn), "bvn_last4": bvn[-4:]} if bvn else {})
