"""Create, change, deactivate and activate payment links."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database
from rest_framework import status
from rest_framework.exceptions import ValidationError

from kit.api.errors import Problem
from kit.api.fields.field_errors import InvalidFields, error
from kit.api.replays import DuplicateReference, IdempotentResult
from kit.api.request_fingerprints import differing, fingerprint_of
from kit.db.prepared_statements import Lookup, insert_if_absent
from kit.time.time_ordered_ids import new_id
from merchants.businesses.minimum_amounts import below_smallest_payment
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.links.link_rules import (
    DEFAULT_COLLECT,
    DEFAULT_WINDOW,
    EARLIEST_END,
    LATEST_END,
    conditions_between_fields,
)
from payments.models import InvalidState, PaymentLink, new_slug
from payments.representation.payments import PAYMENTS as METHODS
from payments.services.links import link_accounts
from payments.services.rails.required_capabilities import require_transfer_window
from virtual_accounts.models import VirtualAccount

TRIES = 5  # of random slugs


class SlugTaken(Problem):
    """Another link has the slug, or had it. Slugs are unique in the installation."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "slug_taken"
    default_detail = "This slug is taken. Choose another one."


def create(
    *, business: Business, request: dict[str, Any], actor: Actor, now: datetime
) -> IdempotentResult[PaymentLink]:
    """Create a link from a validated request. The same request again returns the link.

    :raises DuplicateReference: the reference belongs to a different request
    :raises ValidationError: the end is out of range, the amount too small, or the account can't receive the payments
    :raises SlugTaken: the chosen slug is taken
    """
    fingerprint = fingerprint_of(request).request
    existing = find_of(business, request["reference"])
    if existing is not None:
        return _replayed(existing, request, fingerprint, now=now)
    _check_end(request.get("expires_at"), now=now)
    _check_minimum(business, request)
    new = PaymentLink(
        id=new_id(now),
        business=business,
        fingerprint=fingerprint,
        created_at=now,
        updated_at=now,
        slug=request.get("slug", ""),
        **_fixed_columns(request),
        **_columns(request, account=_account(business, request, currency=request["currency"])),
    )
    if _write(new, actor=actor, now=now):
        return IdempotentResult(new, is_replay=False)
    existing = find_of(business, new.reference)
    if existing is None:
        raise SlugTaken
    return _replayed(existing, request, fingerprint, now=now)


def _replayed(
    existing: PaymentLink, request: dict[str, Any], fingerprint: str, *, now: datetime
) -> IdempotentResult[PaymentLink]:
    """Return the link if the same request created it.

    :raises DuplicateReference: another request did
    """
    if existing.fingerprint != fingerprint:
        raise DuplicateReference(
            existing={"id": str(existing.pk), "status": str(existing.status_at(now))},
            differs=differing(request, _stored_request(existing, request), fingerprint=existing.fingerprint),
        )
    return IdempotentResult(existing, is_replay=True)


def change(*, link_id: UUID, changes: Mapping[str, Any], actor: Actor, now: datetime) -> PaymentLink:
    """Change fields of a link, by their API names; None removes an optional one.

    Waits for the link's lock, so that a lower limit holds for the next attempt.

    :raises ValidationError: the end is out of range, the account can't receive the payments, or the fields wouldn't
        fit each other
    :raises InvalidState: the limit would be below the uses that are paid or held
    """
    if "expires_at" in changes:
        _check_end(changes["expires_at"], now=now)
    with database.atomic():
        link = lock(link_id)
        before = mutable_fields(link)
        after = {name: value for name, value in {**before, **changes}.items() if value is not None}
        if errors := conditions_between_fields(after | _fixed_fields(link)):
            raise InvalidFields(errors)
        _check_limit(link, after.get("max_uses"))
        account = link.account
        if {"payment_method_id", "payment_methods", "transfer_window"} & changes.keys():
            account = _account(link.business, after, currency=link.currency)
        for name, value in _columns(after, account=account).items():
            setattr(link, name, value)
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        if changed:
            link.updated_at = now
            link.save()
            audit.record(
                action="payment_link.changed",
                actor=actor,
                business=link.business,
                target=link.reference,
                before=_plain({name: before.get(name) for name in sorted(changed)}),
                after=_plain({name: after.get(name) for name in sorted(changed)}),
                now=now,
            )
    return link


def deactivate(*, link_id: UUID, actor: Actor, now: datetime) -> PaymentLink:
    """Switch a link off: payers can no longer begin to pay. Pending payments go on. Repeating it changes nothing."""
    return _switch(link_id, is_off=True, actor=actor, now=now)


def activate(*, link_id: UUID, actor: Actor, now: datetime) -> PaymentLink:
    """Switch a link on again. Repeating it changes nothing.

    :raises InvalidState: the operator has blocked it
    """
    return _switch(link_id, is_off=False, actor=actor, now=now)


@database.atomic
def _switch(link_id: UUID, *, is_off: bool, actor: Actor, now: datetime) -> PaymentLink:
    link = lock(link_id)
    if not is_off and link.blocked_at is not None:
        raise InvalidState(f"The operator has blocked this link: {link.block_reason}")
    if link.is_switched_off != is_off:
        link.is_switched_off, link.updated_at = is_off, now
        link.save(update_fields=["is_switched_off", "updated_at"])
        audit.record(
            action="payment_link.deactivated" if is_off else "payment_link.activated",
            actor=actor,
            business=link.business,
            target=link.reference,
            now=now,
        )
    return link


@database.atomic
def block(link_id: UUID, *, reason: str, actor: Actor, now: datetime) -> PaymentLink:
    """Block a link for the operator. The merchant reads the reason and can't activate it."""
    link = lock(link_id)
    if link.blocked_at is None:
        link.blocked_at, link.block_reason, link.updated_at = now, reason, now
        link.save(update_fields=["blocked_at", "block_reason", "updated_at"])
        audit.record(
            action="payment_link.blocked",
            actor=actor,
            business=link.business,
            target=link.reference,
            after={"reason": link.block_reason},
            now=now,
        )
    return link


@database.atomic
def unblock(link_id: UUID, *, reason: str, actor: Actor, now: datetime) -> PaymentLink:
    """Lift the operator's block."""
    link = lock(link_id)
    if link.blocked_at is not None:
        before = link.block_reason
        link.blocked_at, link.block_reason, link.updated_at = None, "", now
        link.save(update_fields=["blocked_at", "block_reason", "updated_at"])
        audit.record(
            action="payment_link.unblocked",
            actor=actor,
            business=link.business,
            target=link.reference,
            before={"reason": before},
            after={"reason": reason},
            now=now,
        )
    return link


def find_of(business: Business, reference: str) -> PaymentLink | None:
    """Return the business's link with this reference, or None."""
    found = _BY_REFERENCE.find(business.pk, reference)
    if found is not None:
        found.business = business
    return found


def find_by_slug(slug: str) -> PaymentLink | None:
    """Return the link at an address, in any case of its letters, with its business."""
    return _BY_SLUG.find(slug.lower())


def lock(link_id: UUID) -> PaymentLink:
    """Return a link, locked until the database transaction ends."""
    found = _LOCKED.find(link_id)
    if found is None:
        raise PaymentLink.DoesNotExist
    return found


_BY_REFERENCE = Lookup(PaymentLink, "business", "reference")
_BY_SLUG = Lookup(PaymentLink, "slug", joined=("business",))
_LOCKED = Lookup(PaymentLink, "id", joined=("business",), lock=True)


def mutable_fields(link: PaymentLink) -> dict[str, Any]:
    """Return the fields that may change, by their API names, without those that have no value."""
    fields = {
        "title": link.title,
        "description": link.description,
        "payment_methods": link.payment_methods,
        "payment_method_id": str(link.account_id) if link.account_id else None,
        "transfer_window": link.transfer_window,
        "max_uses": link.max_uses,
        "expires_at": link.expires_at,
        "redirect_url": link.redirect_url,
        "collect": link.collect,
        "custom_fields": link.custom_fields,
        "success_message": link.success_message,
        "support_contact": link.support_contact,
    }
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _fixed_fields(link: PaymentLink) -> dict[str, Any]:
    """Return the fixed fields that limit the others. A random slug is none that the merchant chose."""
    fields: dict[str, Any] = {}
    if link.has_chosen_slug:
        fields["slug"] = link.slug
    if link.customer_reference:
        fields["customer"] = {"reference": link.customer_reference}
    return fields


DEFAULTS = {
    "payment_methods": list(METHODS),
    "transfer_window": DEFAULT_WINDOW,
    "collect": DEFAULT_COLLECT,
    "quantity_max": 1,
}


def _stored_request(link: PaymentLink, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored fields of the request that created a link. Defaults count as left out if `request` has none."""
    span = {"min": link.amount_min, "max": link.amount_max, "suggested": link.suggested_amounts}
    customer = {
        "reference": link.customer_reference,
        "email": link.customer_email,
        "name": link.customer_name,
    }
    fields = {
        "amount": link.amount,
        "amount_range": {name: value for name, value in span.items() if value} or None,
        "currency": link.currency,
        "quantity_max": link.quantity_max,
        "slug": link.slug if link.has_chosen_slug else None,
        "customer": {name: value for name, value in customer.items() if value} or None,
        **dict.fromkeys(OPTIONAL),
        **mutable_fields(link),
    }
    return {
        name: value for name, value in fields.items() if name in request or value != DEFAULTS.get(name, ())
    }


OPTIONAL = (
    "description", "payment_method_id", "max_uses", "expires_at", "redirect_url", "custom_fields", "success_message",
    "support_contact",
)  # fmt: skip


def _fixed_columns(request: Mapping[str, Any]) -> dict[str, Any]:
    span, customer = request.get("amount_range", {}), request.get("customer", {})
    return {
        "reference": request["reference"],
        "has_chosen_slug": "slug" in request,
        "amount": request.get("amount"),
        "amount_min": span.get("min"),
        "amount_max": span.get("max"),
        "suggested_amounts": span.get("suggested", []),
        "currency": request["currency"],
        "quantity_max": request.get("quantity_max", 1),
        "customer_reference": customer.get("reference", ""),
        "customer_email": customer.get("email", ""),
        "customer_name": customer.get("name", ""),
    }


def _columns(fields: Mapping[str, Any], *, account: VirtualAccount | None) -> dict[str, Any]:
    """Return the columns of the fields that may change, with their defaults."""
    return {
        "title": fields["title"],
        "description": fields.get("description", ""),
        "payment_methods": fields.get("payment_methods", list(METHODS)),
        "account": account,
        "transfer_window": fields.get("transfer_window", DEFAULT_WINDOW),
        "max_uses": fields.get("max_uses"),
        "expires_at": fields.get("expires_at"),
        "redirect_url": fields.get("redirect_url", ""),
        "collect": DEFAULT_COLLECT | fields.get("collect", {}),
        "custom_fields": fields.get("custom_fields", []),
        "success_message": fields.get("success_message", ""),
        "support_contact": fields.get("support_contact", ""),
    }


def _account(business: Business, fields: Mapping[str, Any], *, currency: str) -> VirtualAccount | None:
    """Return the account that the merchant chose, or None for the business's account for links.

    :raises ValidationError: it can't receive the payments
    :raises NotSupported: the hosting bank never accepts a transfer for so long
    """
    if "virtual_account" in fields.get("payment_methods", METHODS):
        require_transfer_window(fields.get("transfer_window", DEFAULT_WINDOW))
    chosen = fields.get("payment_method_id")
    if chosen is not None:
        return link_accounts.chosen(business, chosen, currency=currency)
    if "virtual_account" in fields.get("payment_methods", METHODS):
        link_accounts.check_default(business, currency=currency)
    return None


def _write(new: PaymentLink, *, actor: Actor, now: datetime) -> bool:
    """Insert the row and its audit entry; return False if its reference or chosen slug exists."""
    for _ in range(TRIES):
        if not new.has_chosen_slug:
            new.slug = new_slug()
        with database.atomic():
            if insert_if_absent(new):
                audit.record(
                    action="payment_link.created",
                    actor=actor,
                    business=new.business,
                    target=new.reference,
                    after={"title": new.title, "slug": new.slug},
                    now=now,
                )
                return True
        if new.has_chosen_slug or find_of(new.business, new.reference) is not None:
            return False
    return False


def _check_end(expires_at: datetime | None, *, now: datetime) -> None:
    if expires_at is not None and not now + EARLIEST_END <= expires_at <= now + LATEST_END:
        message = "This field must be 5 minutes to 5 years ahead."
        raise ValidationError({"expires_at": error(message, "out_of_range")})


def _check_minimum(business: Business, request: Mapping[str, Any]) -> None:
    """Refuse a fixed amount, or a range that begins, below the business's smallest payment."""
    span, currency = request.get("amount_range"), request["currency"]
    if span is None and (wrong := below_smallest_payment(business, request["amount"], currency)):
        raise InvalidFields({"amount": wrong})
    if span is not None and (wrong := below_smallest_payment(business, span["min"], currency)):
        raise InvalidFields({"amount_range": {"min": wrong}})


def _check_limit(link: PaymentLink, max_uses: int | None) -> None:
    taken = link.uses_paid + link.uses_held
    if max_uses is not None and max_uses < taken:
        raise InvalidState(f"{taken} uses are paid or held. `max_uses` can't be lower.")


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, datetime) else value for name, value in fields.items()}
