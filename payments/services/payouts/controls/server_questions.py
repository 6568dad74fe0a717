"""Ask the business's own server before payouts are sent: the strongest protection against a stolen key.

Only 200 with `{"decision": "approve"}` lets them go, and `{"decision": "deny"}` fails them at once. Anything else is asked
again, three times over 15 minutes. A set of payouts is asked about once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction as database
from django.db.models import Q, QuerySet

from kit.api.json.strict_json import MalformedJSON, load_object
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from payments.models import PayoutControls, PayoutServerQuestion, Transaction
from webhooks.models import Endpoint
from webhooks.sending.request_headers import USER_AGENT
from webhooks.signing import sign

if TYPE_CHECKING:
    from webhooks.sending.sender import Exchange, Sender

log = structlog.get_logger("sluice.payouts")

State = PayoutServerQuestion.State
TIMEOUT = 10.0  # seconds for one attempt
INTERVAL = timedelta(minutes=5)  # between attempts
ATTEMPTS = 4  # the first one, and three more over 15 minutes
FROZEN_INTERVAL = timedelta(minutes=1)
LEASE = timedelta(seconds=30)  # exceeds an attempt
AT_ONCE = 20


class Decision(StrEnum):
    APPROVE = "approve"
    DENY = "deny"
    NONE = "none"  # asked again


class Question(NamedTuple):
    """A leased question with what is sent."""

    id: UUID
    url: str
    hash_key: str
    body: bytes
    subject: str  # our id of what is asked about
    attempt: int


class Answer(NamedTuple):
    question_id: UUID
    decision: Decision
    text: str  # for members, in our words


def open_question(
    *, business: Business, now: datetime, payout: Transaction | None = None
) -> PayoutServerQuestion:
    """Ask the server of a business as soon as possible. `payout` is the payout itself where it is a single one."""
    return PayoutServerQuestion.objects.create(
        id=new_id(now), business=business, transaction=payout, next_attempt_at=now, created_at=now
    )


@database.atomic
def lease_due(
    *, now: datetime, questions: QuerySet[PayoutServerQuestion] | None = None
) -> list[PayoutServerQuestion]:
    """Lease the due questions about single payouts, or among `questions`. Those of frozen businesses wait."""
    among = PayoutServerQuestion.objects.filter(transaction__isnull=False) if questions is None else questions
    unleased = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    frozen = PayoutControls.objects.filter(frozen_at__isnull=False).values("business")
    due = among.filter(unleased, state=State.ASKING, next_attempt_at__lte=now).exclude(business__in=frozen)
    locked = due.select_for_update(skip_locked=True, of=("self",)).order_by("next_attempt_at")[:AT_ONCE]
    leased = list(locked)
    PayoutServerQuestion.objects.filter(pk__in=[each.pk for each in leased]).update(leased_until=now + LEASE)
    return leased


def question_of(leased: PayoutServerQuestion, data: dict[str, Any], *, subject: UUID) -> Question | None:
    """Return what is sent. None if the business doesn't ask its server any more."""
    controls = PayoutControls.objects.filter(business=leased.business_id).first()
    endpoint = Endpoint.objects.first_of(leased.business_id).first()
    if controls is None or not controls.server_url:
        return None
    return Question(
        id=leased.pk,
        url=controls.server_url,
        hash_key=endpoint.hash_key if endpoint else "",
        body=json.dumps(data, separators=(",", ":"), ensure_ascii=True).encode(),
        subject=str(subject),
        attempt=leased.attempts + 1,
    )


def ask(questions: Sequence[Question]) -> list[Answer]:
    """Ask concurrently. Call it outside a database transaction. Failures of a server never raise."""
    return asyncio.run(_ask(questions)) if questions else []


async def _ask(questions: Sequence[Question]) -> list[Answer]:
    from webhooks.sending.sender import Sender  # noqa: PLC0415  (a tenth of what web loads, and only the worker asks)

    allowed = [ip_network(network) for network in settings.WEBHOOK_ALLOW_CIDRS]
    async with Sender(timeout=TIMEOUT, allowed=allowed) as sender:
        return await asyncio.gather(*(_ask_one(sender, question) for question in questions))


async def _ask_one(sender: Sender, question: Question) -> Answer:
    if not question.hash_key:
        return Answer(
            question.id, Decision.NONE, "There is no webhook signing key to sign the question with."
        )
    headers = {
        "User-Agent": USER_AGENT,
        "Content-Type": "application/json",
        "X-Service-Signature": sign(question.hash_key, question.body),
        "X-Service-Idempotency-Key": question.subject,
        "X-Service-Attempt": str(question.attempt),
    }
    exchange = await sender.ask(question.url, body=question.body, headers=headers)
    return _read(question, exchange)


def _read(question: Question, exchange: Exchange) -> Answer:
    if exchange.status != HTTPStatus.OK:
        log.info("payout question unanswered", id=str(question.id), error=exchange.error)
        text = exchange.explanation or f"The server answered {exchange.status}."
        return Answer(question.id, Decision.NONE, text[:100])
    try:
        said = load_object(exchange.excerpt)
    except MalformedJSON:
        return Answer(question.id, Decision.NONE, "The answer is not a JSON object.")
    if said == {"decision": "approve"}:
        return Answer(question.id, Decision.APPROVE, "Approved.")
    if said.get("decision") == "deny":
        return Answer(question.id, Decision.DENY, "Denied.")
    return Answer(question.id, Decision.NONE, "The answer has no decision.")


def lock(question_id: UUID) -> PayoutServerQuestion:
    return (
        PayoutServerQuestion.objects.select_for_update(of=("self",))
        .select_related("business")
        .get(pk=question_id)
    )


def record(question: PayoutServerQuestion, answer: Answer, *, is_frozen: bool, now: datetime) -> None:
    """Store an answer in a locked question: a decision, the next attempt, or the end of all attempts."""
    if question.state != State.ASKING:
        return  # another process was first
    question.last_answer, question.leased_until = answer.text, None
    question.attempts += 1
    if answer.decision is Decision.DENY:
        question.state = State.DENIED
    elif answer.decision is Decision.APPROVE and is_frozen:
        question.attempts -= 1  # it is asked again when the freeze is lifted
        question.next_attempt_at = now + FROZEN_INTERVAL
    elif answer.decision is Decision.APPROVE:
        question.state = State.APPROVED
    elif question.attempts >= ATTEMPTS:
        question.state = State.UNANSWERED
    else:
        question.next_attempt_at = now + INTERVAL
    question.decided_at = None if question.state == State.ASKING else now
    question.save(
        update_fields=["state", "last_answer", "attempts", "next_attempt_at", "leased_until", "decided_at"]
    )


def cancel(question_id: UUID, *, now: datetime) -> None:
    """End the question about what is cancelled, if it wasn't decided."""
    asking = PayoutServerQuestion.objects.filter(pk=question_id, state=State.ASKING)
    asking.update(state=State.CANCELLED, decided_at=now)
