"""Saved beneficiaries: verified by name enquiry, named in payouts by their reference, and blocked.

Each verification calls the bank, outside of every database transaction.
"""

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from django.db import transaction as database
from rest_framework import status

from kit import banks
from kit.api.errors import Problem
from kit.api.fields.field_errors import Errors, InvalidFields, error
from kit.api.replays import DuplicateReference, IdempotentResult
from kit.api.request_fingerprints import differing, fingerprint_of
from kit.connectors.connectors import RailUnavailable
from kit.db.prepared_statements import Lookup, insert_if_absent
from kit.db.rows.columns import save_columns
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor, Recorded
from payments.models import Beneficiary, InvalidState
from payments.rules.name_matching import names_match
from payments.services.payouts import name_enquiries
from payments.services.payouts.name_enquiries import UnknownBeneficiary

Verification = Beneficiary.Verification
OPTIONAL = ("email", "note")


class BeneficiaryBlocked(Problem):
    """A beneficiary with this account is blocked. Nothing was stored."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "beneficiary_blocked"
    default_detail = "This beneficiary is blocked. Owners and finance can lift the block in the dashboard."


class UnknownReference(InvalidFields):
    """A payout names no beneficiary of the business."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What a bank says about an account and the name that it was compared with."""

    verification: Verification
    account_name: str = ""
    at: datetime | None = None  # None: the bank didn't answer

    def columns(self) -> dict[str, Any]:
        return {
            "verification": self.verification,
            "account_name": self.account_name,
            "verified_at": self.at,
        }


def verify(*, business: Business, name: str, account_number: str, bank_code: str, now: datetime) -> Verified:
    """Compare a name with the one that the bank has. Calls the bank.

    :raises UnknownBeneficiary: there is no such account
    """
    try:
        by_bank = name_enquiries.account_name(
            business=business, bank_code=bank_code, account_number=account_number, given_name=name
        )
    except RailUnavailable:
        return Verified(Verification.UNVERIFIED)
    return Verified(
        Verification.VERIFIED if names_match(name, by_bank) else Verification.NAME_DIFFERS, by_bank, now
    )


def create(
    *, business: Business, request: Mapping[str, Any], actor: Actor, now: datetime
) -> IdempotentResult[Beneficiary]:
    """Verify and save a beneficiary. The same request again returns it.

    :raises DuplicateReference: the reference belongs to a different request, or to a deleted beneficiary
    :raises UnknownBeneficiary: the bank has no such account; nothing was stored
    """
    fingerprint = fingerprint_of(request).request
    existing = _BY_REFERENCE.find(business.pk, request["reference"])
    if existing is not None:
        return _replayed(existing, request, fingerprint)
    account = {name: request[name] for name in ("name", "account_number", "bank_code")}
    verified = verify(business=business, **account, now=now)
    new = Beneficiary(
        id=new_id(now),
        business=business,
        reference=request["reference"],
        fingerprint=fingerprint,
        **account,
        currency=request.get("currency") or _currency_of(request["bank_code"]),
        **{name: request.get(name, "") for name in OPTIONAL},
        **verified.columns(),
        created_at=now,
    )
    with database.atomic():
        if insert_if_absent(new):
            after = {"name": new.name, "account_number": new.account_number, "bank_code": new.bank_code}
            _record("beneficiary.created", new, after=after, actor=actor, now=now)
            return IdempotentResult(new, is_replay=False)
    existing = _BY_REFERENCE.find(business.pk, request["reference"])
    if existing is None:
        raise Beneficiary.DoesNotExist
    return _replayed(existing, request, fingerprint)


def _replayed(
    existing: Beneficiary, request: Mapping[str, Any], fingerprint: str
) -> IdempotentResult[Beneficiary]:
    if existing.deleted_at is not None or existing.fingerprint != fingerprint:
        stored = {name: getattr(existing, name) for name in _STORED}
        stored["currency"] = existing.currency if "currency" in request else None
        differs = differing(request, stored, fingerprint=existing.fingerprint)
        raise DuplicateReference.of(existing, differs=[] if existing.deleted_at else differs)
    return IdempotentResult(existing, is_replay=True)


_STORED = ("name", "account_number", "bank_code", *OPTIONAL)


def _currency_of(bank_code: str) -> str:
    bank = banks.find(bank_code)
    return bank.currency if bank else ""


def change(
    beneficiary: Beneficiary, changes: Mapping[str, Any], *, actor: Actor, now: datetime
) -> Beneficiary:
    """Change name, email or note; None removes an optional one. Another name is verified again.

    :raises UnknownBeneficiary: the bank has no such account any more
    """
    after = {name: value or "" for name, value in changes.items()}
    verified = None
    if after.get("name", beneficiary.name) != beneficiary.name:
        verified = verify(
            business=beneficiary.business,
            name=after["name"],
            account_number=beneficiary.account_number,
            bank_code=beneficiary.bank_code,
            now=now,
        )
    with database.atomic():
        current = lock(beneficiary.pk)
        before = {name: getattr(current, name) for name in after}
        if before != after:
            save_columns(current, **after, **(verified.columns() if verified else {}))
            _record("beneficiary.changed", current, before=before, after=after, actor=actor, now=now)
    return current


@database.atomic
def delete(beneficiary_id: UUID, *, actor: Actor, now: datetime) -> None:
    """Hide a beneficiary. Its payouts stay, and its reference stays taken.

    A block ends only by `unblock`, which no API key may do. So it isn't deleted with the beneficiary.

    :raises InvalidState: staff have blocked it, or it was deleted
    :raises BeneficiaryBlocked: the business has blocked it
    """
    current = lock(beneficiary_id)
    _require_not_blocked_by_staff(current)
    if current.is_blocked:
        raise BeneficiaryBlocked
    save_columns(current, deleted_at=now)
    _record("beneficiary.deleted", current, actor=actor, now=now)


@database.atomic
def block(beneficiary_id: UUID, *, reason: str, actor: Actor, now: datetime) -> None:
    """Refuse payouts to the account from now on. Payouts that were accepted go on."""
    current = lock(beneficiary_id)
    if not current.is_blocked:
        save_columns(current, blocked_at=now, block_reason=reason)
        _record("beneficiary.blocked", current, after={"reason": reason}, actor=actor, now=now)


@database.atomic
def block_by_staff(beneficiary_id: UUID, *, reason: str, actor: Actor, now: datetime) -> None:
    """Block a beneficiary so that only staff can lift it. Its business reads the reason, instead of its own."""
    current = lock(beneficiary_id)
    if not current.is_blocked_by_staff:
        blocked_at = current.blocked_at or now
        save_columns(current, blocked_at=blocked_at, block_reason=reason, is_blocked_by_staff=True)
        _record("beneficiary.blocked", current, after={"reason": reason}, actor=actor, now=now)


@database.atomic
def unblock(beneficiary_id: UUID, *, actor: Actor, now: datetime) -> None:
    """Lift the business's own block.

    :raises InvalidState: staff have blocked it
    """
    current = lock(beneficiary_id)
    _require_not_blocked_by_staff(current)
    if current.is_blocked:
        _unblock(current, actor=actor, now=now)


@database.atomic
def unblock_by_staff(beneficiary_id: UUID, *, reason: str, actor: Actor, now: datetime) -> None:
    """Lift a block of staff, with the reason for it."""
    current = lock(beneficiary_id)
    if current.is_blocked_by_staff:
        _unblock(current, after={"reason": reason}, actor=actor, now=now)


def _unblock(current: Beneficiary, **recorded: Any) -> None:
    before = {"reason": current.block_reason}
    save_columns(current, blocked_at=None, block_reason="", is_blocked_by_staff=False)
    _record("beneficiary.unblocked", current, before=before, **recorded)


def _require_not_blocked_by_staff(current: Beneficiary) -> None:
    if current.is_blocked_by_staff:
        raise InvalidState("The operator of this service has blocked this beneficiary. Contact the operator.")


def find_of(business: Business, reference: str) -> Beneficiary | None:
    """Return the business's beneficiary with this reference, with `last_paid_at`, or None."""
    own = Beneficiary.objects.of(business).with_last_payment().select_related("business")
    return own.filter(reference=reference).first()


def lock(beneficiary_id: UUID) -> Beneficiary:
    """Return a beneficiary, locked until the database transaction ends.

    :raises InvalidState: it was deleted
    """
    locked = Beneficiary.objects.select_for_update(of=("self",)).select_related("business")
    found = locked.get(pk=beneficiary_id)
    if found.deleted_at is not None:
        raise InvalidState("This beneficiary was deleted.")
    return found


def with_account(business: Business, request: dict[str, Any], *, now: datetime) -> dict[str, Any]:
    """Return a payout's request with the account of the beneficiary that it names.

    Calls the bank if it has not been verified within 30 days.

    :raises UnknownReference: there is no such beneficiary, or it is in another currency
    """
    customer = request["customer"]
    if "beneficiary" not in customer:
        return request
    named = named_in(business, [request])
    if errors := errors_of(request, named):
        raise UnknownReference(errors)
    found = verified_again(named[customer["beneficiary"]], now=now)
    return request | {"customer": account_of(found, customer)}


def named_in(business: Business, requests: Iterable[Mapping[str, Any]]) -> dict[str, Beneficiary]:
    """Return the beneficiaries that payouts name, by reference, in one query."""
    references = {each["customer"].get("beneficiary") for each in requests} - {None}
    own = Beneficiary.objects.of(business).filter(reference__in=references).select_related("business")
    return {each.reference: each for each in own}


def references_by_name(business: Business, texts: Collection[str]) -> dict[str, list[str]]:
    """Return, for each text, the references of the beneficiaries that it may mean, in one query.

    That is the one with this reference, and those with this name in any case. Names are compared here, because SQLite's
    lower case is that of ASCII.
    """
    own = Beneficiary.objects.of(business).order_by("pk").values_list("reference", "name")
    found: dict[str, list[str]] = {text: [] for text in texts}
    by_name: dict[str, list[str]] = {}
    for reference, name in own:
        by_name.setdefault(_caseless(name), []).append(reference)
        if reference in found:
            found[reference].append(reference)
    for text, references in found.items():
        references += [each for each in by_name.get(_caseless(text), []) if each not in references]
    return found


def saved_accounts(business: Business, account_numbers: Collection[str]) -> set[tuple[str, str]]:
    """Return the saved accounts with these numbers: bank codes and account numbers."""
    found = Beneficiary.objects.of(business).filter(account_number__in=account_numbers)
    return set(found.values_list("bank_code", "account_number")) if account_numbers else set()


def _caseless(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def errors_of(request: Mapping[str, Any], named: Mapping[str, Beneficiary]) -> Errors:
    """Return the errors of a payout that names a beneficiary."""
    reference = request["customer"].get("beneficiary")
    if reference is None:
        return {}
    found = named.get(reference)
    if found is None:
        message = "You have no beneficiary with this reference."
        return {"customer": {"beneficiary": error(message, "unknown_beneficiary")}}
    if request["currency"] != found.currency:
        return {
            "currency": error(f"This beneficiary is paid in {found.currency} only.", "unsupported_currency")
        }
    return {}


def blocked_accounts(business: Business) -> set[tuple[str, str]]:
    """Return the accounts that the business or staff have blocked: bank codes and account numbers."""
    blocked = Beneficiary.objects.of(business).filter(blocked_at__isnull=False)
    return set(blocked.values_list("bank_code", "account_number"))


def blocked_errors_of(
    request: Mapping[str, Any], named: Mapping[str, Beneficiary], blocked: Collection[tuple[str, str]]
) -> Errors:
    """Return the error of a payout to a blocked account."""
    customer = request["customer"]
    found = named.get(customer.get("beneficiary", ""))
    account = customer if found is None else account_of(found, customer)
    if (account.get("bank_code"), account.get("account_number")) not in blocked:
        return {}
    field = "account_number" if found is None else "beneficiary"
    return {"customer": {field: error(BeneficiaryBlocked.default_detail, "beneficiary_blocked")}}


def account_of(found: Beneficiary, customer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payout's `customer` with the account of a beneficiary."""
    account = {"name": found.name, "account_number": found.account_number, "bank_code": found.bank_code}
    email = {"email": found.email} if found.email else {}
    return account | email | {name: value for name, value in customer.items() if name != "beneficiary"}


def verified_again(found: Beneficiary, *, now: datetime) -> Beneficiary:
    """Verify a beneficiary again if its bank hasn't answered within 30 days. Calls the bank then."""
    if not found.must_be_verified(at=now):
        return found
    try:
        verified = verify(
            business=found.business,
            name=found.name,
            account_number=found.account_number,
            bank_code=found.bank_code,
            now=now,
        )
    except UnknownBeneficiary:
        verified = Verified(Verification.UNVERIFIED, at=now)
    if verified.at is not None:  # without an answer, what was known stays
        save_columns(found, **verified.columns())
    return found


def require_open(business: Business, *, account_number: str, bank_code: str) -> None:
    """Check that no beneficiary with this account is blocked.

    :raises BeneficiaryBlocked: one is
    """
    blocked = Beneficiary.objects.of(business).filter(
        account_number=account_number, bank_code=bank_code, blocked_at__isnull=False
    )
    if blocked.exists():
        raise BeneficiaryBlocked


def _record(action: str, beneficiary: Beneficiary, **recorded: Unpack[Recorded]) -> None:
    audit.record(action=action, business=beneficiary.business, target=beneficiary.reference, **recorded)


_BY_REFERENCE = Lookup(Beneficiary, "business", "reference", joined=("business",))
