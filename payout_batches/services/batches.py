"""Payout batches: create, decide and release, cancel, retry. `checks` and `sending` do the rest in the background.

Lock order: batch, then its items, then what a payout locks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Unpack
from uuid import UUID

from django.conf import settings
from django.db import transaction as database

from kit.api.fields.field_errors import Errors, InvalidFields, error
from kit.api.replays import DuplicateReference, IdempotentResult
from kit.api.request_fingerprints import differing, fingerprint_of
from kit.db.prepared_statements import insert_if_absent
from kit.money.money import money
from kit.time.time_ordered_ids import new_id
from kit.time.timestamps import timestamp
from merchants.models import Business, MemberQuerySet, User
from merchants.people import audit
from merchants.people.audit import Actor, Recorded
from payments.models import (
    Beneficiary,
    InvalidState,
    PayoutApproval,
    PayoutControls,
    ReservedReference,
    Transaction,
)
from payments.rules.outcomes import PAYOUT_REJECTED
from payments.services.fee_rules import NoPrice
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls import approvals, server_questions
from payments.services.payouts.controls.approvals import (
    EXPIRY,
    ApprovalChanged,
    MayNotApprove,
    Needed,
    PayoutItem,
)
from payments.services.payouts.controls.makers import Maker
from payments.services.rails.rail_choices import configured_bank_for
from payments.services.refunds.refund_cover import InsufficientFunds
from payout_batches import summaries
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.services import duplicates, events, notices

Status, State = PayoutBatch.Status, PayoutBatchItem.State
LATEST_RUN = timedelta(days=30)
ASKS_SERVER = "Your server is asked about this batch."


def create(
    *, business: Business, request: Mapping[str, Any], maker: Maker, actor: Actor, now: datetime
) -> IdempotentResult[PayoutBatch]:
    """Store a batch whose accounts are then checked. The same request again returns it.

    :raises DuplicateReference: the reference belongs to a different request
    :raises ValidationError: some items are invalid; all errors are reported, and nothing was stored
    :raises RailUnavailable: no bank is configured
    """
    fingerprint = fingerprint_of(request).request
    existing = find_of(business, request["reference"])
    if existing is not None:
        return _replayed(existing, request, fingerprint)
    _check_run_at(request.get("run_at"), now=now)
    named = beneficiaries.named_in(business, request["payouts"])
    if errors := item_errors(business, request["payouts"], named):
        raise InvalidFields({"payouts": errors})
    new = NewBatch(
        reference=request["reference"],
        title=request["title"],
        items=[_item(each, named) for each in request["payouts"]],
        run_at=request.get("run_at"),
        fingerprint=fingerprint,
    )
    stored = store(new, business=business, maker=maker, actor=actor, now=now)
    if stored is not None:
        return IdempotentResult(stored, is_replay=False)
    existing = find_of(business, request["reference"])
    if existing is None:  # another request has just taken the reference of an item
        raise InvalidFields({"payouts": item_errors(business, request["payouts"], named)})
    return _replayed(existing, request, fingerprint)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """A batch to be stored. Its items are columns of `PayoutBatchItem`."""

    reference: str
    title: str
    items: Sequence[Mapping[str, Any]]
    run_at: datetime | None = None
    fingerprint: str = ""
    retry_of: PayoutBatch | None = None


def store(
    new: NewBatch, *, business: Business, maker: Maker, actor: Actor, now: datetime
) -> PayoutBatch | None:
    """Store a batch, its items and their references. Return None if a reference is taken."""
    amounts = [item["amount"] for item in new.items]
    currency = new.items[0]["currency"]
    charge = summaries.charge_of(
        business, currency, [(item["amount"], item.get("purpose", "")) for item in new.items]
    )
    batch = PayoutBatch(
        id=new_id(now),
        business=business,
        reference=new.reference,
        root_reference=new.retry_of.root_reference if new.retry_of else new.reference,
        retry_of=new.retry_of,
        fingerprint=new.fingerprint,
        title=new.title,
        currency=currency,
        item_count=len(amounts),
        amount=sum(amounts),
        fees=charge.fee,
        taxes=charge.taxes,
        run_at=new.run_at,
        created_by=actor.name,
        maker_id=maker.user_id,
        key_id=maker.key_id,
        created_at=now,
    )
    items = [
        PayoutBatchItem(
            id=new_id(now),
            batch=batch,
            business=business,
            position=position,
            **{"root_reference": item["reference"]} | dict(item),
        )
        for position, item in enumerate(new.items)
    ]
    with database.atomic():
        if not insert_if_absent(batch):
            return None
        if not ReservedReference.objects.reserve(business, [item.reference for item in items]):
            database.set_rollback(True)
            return None
        PayoutBatchItem.objects.bulk_create(items)
        after = {
            "title": batch.title,
            "items": batch.item_count,
            "amount": batch.amount,
            "currency": currency,
        }
        record("payout_batch.created", batch, after=after, actor=actor, now=now)
    return batch


def _item(request: Mapping[str, Any], named: Mapping[str, Beneficiary]) -> dict[str, Any]:
    """Return the columns of an item."""
    customer = request["customer"]
    beneficiary = named.get(customer.get("beneficiary", ""))
    if beneficiary is not None:
        customer = beneficiaries.account_of(beneficiary, customer)
    return {
        "reference": request["reference"],
        "amount": request["amount"],
        "currency": request["currency"],
        "name": customer["name"],
        "account_number": customer["account_number"],
        "bank_code": customer["bank_code"],
        "email": customer.get("email", ""),
        "customer_reference": customer.get("reference", ""),
        "beneficiary": beneficiary,
        "narration": request.get("narration", ""),
        "purpose": request.get("purpose", ""),
        "metadata": request.get("metadata"),
    }


def item_errors(
    business: Business, requests: Sequence[Mapping[str, Any]], named: Mapping[str, Beneficiary]
) -> Errors:
    """Return the errors of items that only show beside the others, or beside what is stored, by their place."""
    can = configured_bank_for(business).capabilities
    times = Counter(each["reference"] for each in requests)
    taken = ReservedReference.objects.taken(business, times)
    blocked = beneficiaries.blocked_accounts(business)
    errors: Errors = {}
    for place, each in enumerate(requests):
        found = beneficiaries.errors_of(each, named)
        found |= beneficiaries.blocked_errors_of(each, named, blocked)
        if times[each["reference"]] > 1:
            found["reference"] = error("Another payout of the batch has this reference.", "duplicate")
        elif each["reference"] in taken:
            found["reference"] = error("This reference was already used.", "duplicate")
        if each["currency"] != requests[0]["currency"]:
            found["currency"] = error("All payouts of a batch are in one currency.", "unsupported_currency")
        elif each["currency"] not in business.currencies:
            found["currency"] = error(
                "This currency is not enabled for your business.", "unsupported_currency"
            )
        for name, reason in can.unsupported(each["currency"], each["amount"]).items():
            found.setdefault(name, error(reason, "not_supported"))
        if found:
            errors[str(place)] = found
    return errors


def _check_run_at(run_at: datetime | None, *, now: datetime) -> None:
    if run_at is not None and not now <= run_at <= now + LATEST_RUN:
        message = "This field must be at most 30 days ahead, and not in the past."
        raise InvalidFields({"run_at": error(message, "out_of_range")})


def _replayed(
    existing: PayoutBatch, request: Mapping[str, Any], fingerprint: str
) -> IdempotentResult[PayoutBatch]:
    if existing.fingerprint != fingerprint:
        stored = {"title": existing.title, "run_at": existing.run_at}
        differs = differing(request, stored, fingerprint=existing.fingerprint)
        raise DuplicateReference.of(existing, differs=differs)
    return IdempotentResult(existing, is_replay=True)


def approve(
    batch_id: UUID,
    *,
    actor: Actor,
    now: datetime,
    accept: Mapping[str, str] | None = None,
    as_far_as_balance: bool = False,
) -> IdempotentResult[PayoutBatch]:
    """Release a checked batch, or ask the members of the business for approval. Repeating it changes nothing.

    `accept` has the reasons to pay items that the checks have something against, by their references.

    :raises InvalidState: it is being checked or was cancelled, or an item needs a decision
    :raises InvalidFields: `accept` names what needs no decision
    :raises InsufficientFunds: the balance is too low, and it may not be paid as far as that goes
    """
    _find_duplicates(batch_id, now=now)  # committed for itself: they stay found if the approval is refused
    return _approve(batch_id, accept=accept or {}, as_far_as_balance=as_far_as_balance, actor=actor, now=now)


@database.atomic
def _find_duplicates(batch_id: UUID, *, now: datetime) -> None:
    """Find what was paid since the checks: another batch may have had the same rows."""
    batch = lock(batch_id)
    if batch.status != Status.READY:
        return
    marked = duplicates.mark(batch, list(batch.items.unsent().order_by("position")), now=now)
    PayoutBatchItem.objects.bulk_update(marked, ["state", "duplicate_of", "problem"])
    for status in (Status.CHECKING, Status.NEEDS_CORRECTION) if marked else ():  # only checks lead there
        batch.status = status
        batch.save(update_fields=["status"])


@database.atomic
def _approve(
    batch_id: UUID, *, accept: Mapping[str, str], as_far_as_balance: bool, actor: Actor, now: datetime
) -> IdempotentResult[PayoutBatch]:
    batch = lock(batch_id)
    if batch.status in {Status.AWAITING_APPROVAL, Status.SCHEDULED, Status.PROCESSING, Status.COMPLETED}:
        return IdempotentResult(batch, is_replay=True)
    if batch.status not in {Status.READY, Status.NEEDS_CORRECTION}:
        raise InvalidState(f"Only a checked batch can be approved. This one is {batch.status}.")
    accept_items(batch, accept, actor=actor, now=now)
    undecided = list(batch.items.undecided().order_by("position").values_list("reference", flat=True)[:20])
    if undecided:
        raise InvalidState(f"These payouts need a decision: {', '.join(undecided)}.")
    _check_balance(batch, as_far_as_balance=as_far_as_balance)
    batch.as_far_as_balance = as_far_as_balance
    batch.status = Status.READY
    batch.save(update_fields=["status", "as_far_as_balance"])
    controls = PayoutControls.objects.filter(business=batch.business_id).first()
    needed = needed_approval(batch, batch.items.all(), controls)
    if needed.approvals:
        ask_for_approval(batch, needed, actor=actor, now=now)
    else:
        release(batch, actor=actor, now=now)
    return IdempotentResult(batch, is_replay=False)


def ask_for_approval(batch: PayoutBatch, needed: Needed, *, actor: Actor, now: datetime) -> None:
    """Let a locked batch wait for approval by other members."""
    batch.status = Status.AWAITING_APPROVAL
    batch.approval = approvals.open_approval(
        business=batch.business, items=payout_items(batch), maker=maker_of(batch), needed=needed, now=now
    )
    batch.save(update_fields=["status", "approval"])
    record("payout_batch.approval_requested", batch, actor=actor, now=now)


def needed_approval(
    batch: PayoutBatch, items: Iterable[PayoutBatchItem], controls: PayoutControls | None
) -> Needed:
    """Return how many other members of the business must approve a batch with these items, and why.

    A member who changed an account is a maker too. So what exempts keys doesn't hold for a key's batch any more.
    """
    kept = [item for item in items if item.state not in {State.CANCELLED, State.FAILED}]
    asked = [payout_item(item) for item in kept]
    corrector = next((item.corrected_by_id for item in kept if item.corrected_by_id is not None), None)
    maker = maker_of(batch) if corrector is None else Maker(user_id=corrector)
    needed = approvals.needed(controls, asked, maker=maker)
    if needed.approvals or controls is None or not controls.ask_instead:
        return needed
    sums = Counter({batch.currency: sum(item.amount for item in kept)})
    is_over = any(item.state == State.OVER_LIMIT for item in kept)
    return Needed(approvals.approvals_for(controls, sums), "Over a limit") if is_over else needed


def maker_of(batch: PayoutBatch) -> Maker:
    return Maker(user_id=batch.maker_id, key_id=batch.key_id)


def payout_items(batch: PayoutBatch) -> list[PayoutItem]:
    """Return what is approved of a batch: its items in their order, without those that were taken out."""
    items = batch.items.kept().order_by("position")
    return [payout_item(item) for item in items]


def payout_item(item: PayoutBatchItem) -> PayoutItem:
    return PayoutItem(
        reference=item.reference,
        amount=item.amount,
        currency=item.currency,
        account_number=item.account_number,
        bank_code=item.bank_code,
        name=item.name,
        narration=item.narration,
        purpose=item.purpose,
    )


@database.atomic
def schedule(batch_id: UUID, run_at: datetime | None, *, actor: Actor, now: datetime) -> None:
    """Set when a checked batch is sent once it is approved. None: at once.

    :raises InvalidState: it isn't ready, or approval was asked for
    :raises InvalidFields: the time is past, or more than 30 days ahead
    """
    batch = lock(batch_id)
    if batch.status != Status.READY:
        raise InvalidState(f"Only a ready batch can be scheduled. This one is {batch.status}.")
    _check_run_at(run_at, now=now)
    if run_at != batch.run_at:
        batch.run_at = run_at
        batch.save(update_fields=["run_at"])
        after = {"run_at": timestamp(run_at)} if run_at else {"run_at": "at once"}
        record("payout_batch.scheduled", batch, after=after, actor=actor, now=now)


def approvers(batch: PayoutBatch) -> MemberQuerySet:
    """Return the members who may approve a batch: none of them made it or changed an account of it."""
    correctors = batch.items.kept().filter(corrected_by__isnull=False).values("corrected_by")
    members = approvals.members_who_may(batch.business).exclude(user__in=correctors)
    return members.exclude(user=batch.maker_id).select_related("user").order_by("pk")


@database.atomic
def approve_as_member(batch_id: UUID, *, user: User, actor: Actor, now: datetime) -> PayoutBatch:
    """Approve a batch as another member than its maker. The last approval that is needed releases it.

    :raises InvalidState: it doesn't wait for approval, has changed, or the member has approved it before
    :raises MayNotApprove: the member made it or changed an account of it, or may not make payouts
    :raises PayoutsFrozen: staff have frozen the payouts of the business
    """
    batch = lock(batch_id)
    approval = _waiting_approval(batch)
    if refusal := why_not(batch, user):
        raise MayNotApprove(refusal)
    decided = approvals.approve(approval.pk, items=payout_items(batch), user=user, now=now)
    record("payout_batch.approved_by_member", batch, actor=actor, now=now)
    if decided.state == PayoutApproval.State.APPROVED:
        approvals.require_unchanged(decided, payout_items(batch))
        release(batch, actor=actor, now=now)
    return batch


def why_not(batch: PayoutBatch, user: User) -> str:
    """Return why a member may not approve a batch that waits for it, or an empty string."""
    if batch.approval is None:
        return ""
    if batch.items.kept().filter(corrected_by=user).exists():
        return "You changed an account of this batch. Another member with the role owner or finance must approve it."
    return approvals.why_not(batch.approval, user, what="this batch")


@database.atomic
def reject(batch_id: UUID, *, reason: str, user: User | None, actor: Actor, now: datetime) -> PayoutBatch:
    """Reject a batch that waits for approval. Its items fail. None: the sandbox rejects it.

    :raises InvalidState: it doesn't wait for approval
    """
    batch = lock(batch_id)
    approval = _waiting_approval(batch)
    approvals.close(approval.pk, PayoutApproval.State.REJECTED, user=user, reason=reason, now=now)
    fail_unsent(batch, f"{PAYOUT_REJECTED.code} {PAYOUT_REJECTED.summary}: {reason}")
    _end_cancelled(batch, actor=actor, now=now)
    record("payout_batch.rejected", batch, after={"reason": reason}, actor=actor, now=now)
    return batch


@database.atomic
def expire(batch_id: UUID, *, now: datetime) -> bool:
    """Cancel a batch that was not approved within 72 hours. Returns False if it was decided meanwhile."""
    batch = lock(batch_id)
    if batch.status != Status.AWAITING_APPROVAL or batch.approval is None or batch.approval.expires_at > now:
        return False
    approvals.close(batch.approval.pk, PayoutApproval.State.EXPIRED, now=now)
    batch.items.unsent().update(state=State.CANCELLED)
    reprice(batch)
    _end_cancelled(batch, actor=EXPIRY, now=now)
    record("payout_batch.expired", batch, actor=EXPIRY, now=now)
    database.on_commit(partial(notices.mail_expired, batch))
    return True


@database.atomic
def stop_if_changed(batch_id: UUID, *, now: datetime) -> bool:
    """Before the first payout is sent: compare a batch with what members approved, and cancel it if it differs."""
    batch = lock(batch_id)
    if batch.approval is None or batch.cancelled_at or batch.items.filter(state=State.SENT).exists():
        return False
    try:
        approvals.require_unchanged(batch.approval, payout_items(batch))
    except ApprovalChanged as refusal:
        fail_unsent(batch, f"{PAYOUT_REJECTED.code} {refusal.detail}")
        actor = Actor(name="Changed after its approval")
        _end_cancelled(batch, actor=actor, now=now)
        record("payout_batch.changed_after_approval", batch, actor=actor, now=now)
        return True
    return False


def reprice(batch: PayoutBatch) -> None:
    """Store what the payouts of a locked batch cost, after some were cancelled. One cancelled as a whole keeps all.

    Those that were sent cost what they were charged then, whatever the terms are now.
    """
    rows = batch.items.kept() if batch.items.kept().exists() else batch.items.all()
    sent = summaries.charge_of_sent(rows.filter(payout__isnull=False))
    waiting = rows.filter(payout=None).values_list("amount", "purpose")
    with suppress(NoPrice):  # nothing may keep an item from being cancelled
        charge = summaries.charge_of(batch.business, batch.currency, waiting)
        batch.fees, batch.taxes = sent.fee + charge.fee, sent.taxes + charge.taxes
        batch.save(update_fields=["fees", "taxes"])


def fail_unsent(batch: PayoutBatch, problem: str) -> None:
    batch.items.unsent().update(state=State.FAILED, problem=problem[:255])


def _end_cancelled(batch: PayoutBatch, *, actor: Actor, now: datetime) -> None:
    batch.cancelled_by, batch.cancelled_at = actor.name, now
    batch.save(update_fields=["cancelled_by", "cancelled_at"])
    end_if_final(batch, now=now)


def _waiting_approval(batch: PayoutBatch) -> PayoutApproval:
    if batch.status != Status.AWAITING_APPROVAL or batch.approval is None:
        raise InvalidState(f"This batch does not wait for approval: it is {batch.status}.")
    return batch.approval


def release(batch: PayoutBatch, *, actor: Actor, now: datetime) -> None:
    """Let a locked batch be sent, at once or at its time. The business's server is asked first, if it wants that."""
    is_later = batch.run_at is not None and batch.run_at > now
    batch.status = Status.SCHEDULED if is_later else Status.PROCESSING
    batch.released_by, batch.released_at = actor.name, now
    batch.next_attempt_at = batch.run_at if is_later else now
    batch.started_at = None if is_later else now
    if PayoutControls.objects.filter(business=batch.business_id).exclude(server_url="").exists():
        batch.server_question = server_questions.open_question(business=batch.business, now=now)
        batch.waits_for = ASKS_SERVER
    batch.save()
    items = payout_items(batch)
    after = {
        "items": len(items),
        "amount": sum(item.amount for item in items),
        "currency": batch.currency,
    }
    record("payout_batch.approved", batch, after=after, actor=actor, now=now)


def accept_items(batch: PayoutBatch, reasons: Mapping[str, str], *, actor: Actor, now: datetime) -> None:
    """Store why items are paid although the checks have something against them.

    :raises InvalidFields: an item needs no decision, or doesn't exist
    """
    if not reasons:
        return
    open_items = {item.reference: item for item in batch.items.filter(reference__in=list(reasons))}
    ended = {*PayoutBatchItem.ENDED, State.CHECKING, State.OK}
    wrong = [each for each in reasons if each not in open_items or open_items[each].state in ended]
    if wrong:
        message = "The batch has no payout with this reference that needs a decision."
        raise InvalidFields({"accept": {each: error(message, "invalid") for each in wrong}})
    for reference, item in open_items.items():
        item.accepted_reason, item.accepted_by, item.accepted_at = reasons[reference], actor.name, now
    fields = ["accepted_reason", "accepted_by", "accepted_at"]
    PayoutBatchItem.objects.bulk_update(open_items.values(), fields)
    record("payout_batch.items_accepted", batch, after=dict(reasons), actor=actor, now=now)


def _check_balance(batch: PayoutBatch, *, as_far_as_balance: bool) -> None:
    if as_far_as_balance or not settings.PAYOUT_REQUIRES_BALANCE:
        return
    missing = summaries.shown(batch).missing
    if missing:
        raise InsufficientFunds(
            f"Your balance lacks {money(missing, batch.currency)} for this batch. Wait for money, or approve it with "
            "`as_far_as_balance`: payouts are then sent in the order of the file, and the rest waits for money."
        )


@database.atomic
def cancel(batch_id: UUID, *, actor: Actor, now: datetime) -> IdempotentResult[PayoutBatch]:
    """Cancel what is not sent yet. The batch ends once the payouts that were sent are final.

    :raises InvalidState: it is completed
    """
    batch = lock(batch_id)
    if batch.cancelled_at is not None:
        return IdempotentResult(batch, is_replay=True)
    if batch.status == Status.COMPLETED:
        raise InvalidState("This batch is completed. Nothing of it can be cancelled.")
    if batch.status == Status.AWAITING_APPROVAL and batch.approval is not None:
        approvals.close(batch.approval.pk, PayoutApproval.State.CANCELLED, now=now)
    if batch.server_question_id is not None:
        server_questions.cancel(batch.server_question_id, now=now)
    unsent = batch.items.unsent()
    after = {"items": unsent.count()}
    unsent.update(state=State.CANCELLED)
    reprice(batch)
    batch.cancelled_by, batch.cancelled_at = actor.name, now
    batch.save(update_fields=["cancelled_by", "cancelled_at"])
    record("payout_batch.cancelled", batch, after=after, actor=actor, now=now)
    end_if_final(batch, now=now)
    return IdempotentResult(batch, is_replay=False)


def end_if_final(batch: PayoutBatch, *, now: datetime) -> bool:
    """End a locked batch if each item is final. Event and state commit together."""
    is_cancelled = batch.cancelled_at is not None
    if batch.finished_at is not None or not (batch.status == Status.PROCESSING or is_cancelled):
        return False
    of_payouts = batch.items.filter(payout__status=Transaction.Status.PENDING)
    if batch.items.unsent().exists() or of_payouts.exists():
        return False
    batch.status = Status.CANCELLED if is_cancelled else Status.COMPLETED
    batch.finished_at, batch.waits_for, batch.next_attempt_at = now, "", None
    batch.save(update_fields=["status", "finished_at", "waits_for", "next_attempt_at"])
    if not is_cancelled:
        events.publish_completed(batch, now=now)
    return True


def retry(batch_id: UUID, *, maker: Maker, actor: Actor, now: datetime) -> IdempotentResult[PayoutBatch]:
    """Make a new batch of the failed items that no batch repeats yet. The same retry again returns the batch it made.

    :raises InvalidState: no item has failed
    """
    with database.atomic():
        batch = lock(batch_id)
        failed = list(batch.items.failed().filter(retried_as__isnull=True).order_by("position"))
        if not failed:
            made = batch.retries.order_by("-id").first()
            if made is None:
                raise InvalidState("No payout of this batch has failed. Pending ones may still succeed.")
            return IdempotentResult(made, is_replay=True)
        number = family_of(batch).exclude(retry_of=None).count() + 1
        new = NewBatch(
            reference=f"{batch.root_reference}-r{number}",
            title=batch.title,
            items=[_repeated(item, number) for item in failed],
            retry_of=batch,
        )
        made = store(new, business=batch.business, maker=maker, actor=actor, now=now)
        if made is None:
            raise InvalidState(f"The reference {new.reference}, or one of its payouts', is taken.")
        by_root = {item.root_reference: item for item in made.items.all()}
        for item in failed:
            item.retried_as = by_root[item.root_reference]
        PayoutBatchItem.objects.bulk_update(failed, ["retried_as"])
    return IdempotentResult(made, is_replay=False)


def family_of(batch: PayoutBatch) -> Any:
    """Return a batch, those it repeats and those that repeat it."""
    return PayoutBatch.objects.of(batch.business).filter(root_reference=batch.root_reference)


_REPEATED = (
    "root_reference", "amount", "currency", "name", "account_number", "bank_code", "email", "customer_reference",
    "beneficiary_id", "narration", "purpose", "metadata", "corrected_by_id", "former_account_number",
)  # fmt: skip


def _repeated(item: PayoutBatchItem, number: int) -> dict[str, Any]:
    columns = {name: getattr(item, name) for name in _REPEATED}
    return columns | {"reference": f"{item.root_reference}-r{number}"}


def find_of(business: Business, reference: str) -> PayoutBatch | None:
    """Return the business's batch with this reference, or None."""
    own = PayoutBatch.objects.of(business).select_related("business", "retry_of")
    return own.filter(reference=reference).first()


def lock(batch_id: UUID) -> PayoutBatch:
    """Return a batch, locked until the database transaction ends."""
    related = ("business", "retry_of", "approval")
    rows = PayoutBatch.objects.select_for_update(of=("self",)).select_related(*related)
    return rows.get(pk=batch_id)


def items_of(batch: PayoutBatch) -> Any:
    """Return the items with what their answers show."""
    payout = ("payout__session", "payout__challenge", "beneficiary")
    related = ("payout__returns", "payout__operations", "payout__payment_link")
    return batch.items.select_related("payout", *payout).prefetch_related(*related)


def record(action: str, batch: PayoutBatch, **recorded: Unpack[Recorded]) -> None:
    audit.record(action=action, business=batch.business, target=batch.reference, **recorded)
