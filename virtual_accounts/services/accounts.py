"""Create and find virtual accounts."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction as database

from kit.api.replays import IdempotentResult, replay_of
from kit.api.request_fingerprints import differing, fingerprint_of, keyed_hash
from kit.db.prepared_statements import Lookup, insert_if_absent
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from virtual_accounts.models import VirtualAccount
from virtual_accounts.providers import require_provider
from virtual_accounts.services import account_openings, number_pool, provider_messages


def create(
    *, business: Business, request: dict[str, Any], now: datetime, actor: Actor | None = None
) -> IdempotentResult[VirtualAccount]:
    """Create an account. A static one gets its permanent number. If a person creates it, this is audited.

    A provider that opens accounts itself is asked once. Without an answer, the account is inactive until it has one.

    :raises DuplicateReference: the reference belongs to a different request
    :raises NotSupported: the request is new and the hosting bank has no accounts in its currency
    :raises RailUnavailable: the request is new and no hosting bank is configured, or it can't be reached
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
    replay = _replay(business, new, request)
    if replay is not None:
        return replay
    opener = require_provider(new.currency)
    if opener is not None and new.is_static:
        new.provider_account, new.opening = opener.account, VirtualAccount.Opening.PENDING
        new.status, new.bank_code, new.bank_name = VirtualAccount.Status.INACTIVE, "", ""
    if number_pool.with_numbers(lambda: _write(new, actor=actor, now=now), now=now):
        if not new.is_opened:
            account_openings.try_at_once(new, now=now)
        return IdempotentResult(new, is_replay=False)
    replay = _replay(business, new, request)  # an equal or different request has just written it
    if replay is None:
        raise VirtualAccount.DoesNotExist
    return replay


def find_of(business: Business, reference: str) -> VirtualAccount | None:
    """Return the business's account with a reference, or None."""
    return _BY_REFERENCE.find(business.pk, reference)


def lock_shared(account_id: UUID) -> VirtualAccount | None:
    """Return an account with a shared lock until the transaction ends."""
    return _HELD.find(account_id)


def lock(account_id: UUID) -> VirtualAccount:
    """Return an account, locked until the transaction ends. Inserting references to it is not blocked."""
    return VirtualAccount.objects.select_for_update(no_key=True).get(pk=account_id)


_BY_REFERENCE = Lookup(VirtualAccount, "business", "reference")
_HELD = Lookup(VirtualAccount, "id", share=True)


def bvn_hash(bvn: str) -> str:
    """Return the keyed hash by which accounts of the same person are found."""
    return keyed_hash({"bvn": bvn})


@database.atomic
def _write(new: VirtualAccount, *, actor: Actor | None, now: datetime) -> bool:
    """Insert the row; return whether its reference was free."""
    if new.is_static and new.is_opened:
        new.account_number = number_pool.take(new.pk, now=now).number
    new.current_number = new.account_number  # no session is open yet
    if insert_if_absent(new):
        if not new.is_opened:
            provider_messages.write_opening(new, now=now)
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


def _replay(
    business: Business, new: VirtualAccount, request: dict[str, Any]
) -> IdempotentResult[VirtualAccount] | None:
    return replay_of(
        find_of(business, new.reference),
        fingerprint=new.fingerprint,
        differs=lambda existing: differing(
            request, _stored_request(existing, new), fingerprint=existing.fingerprint
        ),
    )


SAME_COLUMNS = (
    "type", "account_type", "email", "currency", "address", "metadata", "first_name", "middle_name", "last_name",
    "business_name", "phone_number", "gender",
)  # fmt: skip


def _stored_request(existing: VirtualAccount, new: VirtualAccount) -> dict[str, Any]:
    """Return the stored fields of the request that created an account. BVNs are compared by their hashes."""
    same_bvn = existing.bvn_hash == new.bvn_hash
    return {name: getattr(existing, name) or None for name in SAME_COLUMNS} | {
        "dob": existing.date_of_birth,
        "bvn": new.bvn if same_bvn else existing.bvn_last4 or None,
    }


def _stored(request: dict[str, Any]) -> dict[str, Any]:
    """Return the stored values of a request, by field name."""
    values = dict(request)
    bvn = values.get("bvn")
    if "dob" in values:
        values["date_of_birth"] = values.pop("dob")
    return values | ({"bvn_hash": bvn_hash(bvn), "bvn_last4": bvn[-4:]} if bvn else {})
