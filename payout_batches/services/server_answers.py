"""Ask the servers of businesses about whole batches, once each, before the first payout is sent."""

from collections.abc import Callable
from datetime import datetime

from django.db import transaction as database

from payments.models import PayoutControls, PayoutServerQuestion
from payments.rules.outcomes import PAYOUT_REJECTED
from payments.services.payouts.controls import server_questions
from payments.services.payouts.controls.server_questions import Answer, Decision
from payout_batches import summaries
from payout_batches.models import PayoutBatch
from payout_batches.representation import represent_batch
from payout_batches.services.batches import ASKS_SERVER, end_if_final, fail_unsent, lock

State = PayoutServerQuestion.State
REJECTED = f"{PAYOUT_REJECTED.code} {PAYOUT_REJECTED.summary}"


def ask_due(*, clock: Callable[[], datetime]) -> None:
    """Ask the servers that are due, and store what they decide."""
    about_batches = PayoutServerQuestion.objects.filter(batch__isnull=False)
    leased = server_questions.lease_due(now=clock(), questions=about_batches)
    asked, skipped = [], []
    for one in leased:
        batch = PayoutBatch.objects.select_related("business", "retry_of").get(server_question=one)
        shown = represent_batch(summaries.shown(batch))
        question = server_questions.question_of(one, shown, subject=batch.pk)
        if question is None:  # an owner has turned it off since
            skipped.append(Answer(one.pk, Decision.APPROVE, "Not asked any more."))
        else:
            asked.append(question)
    for answer in [*skipped, *server_questions.ask(asked)]:
        _decide(answer, now=clock())


@database.atomic
def _decide(answer: Answer, *, now: datetime) -> None:
    batch = lock(PayoutBatch.objects.get(server_question=answer.question_id).pk)
    question = server_questions.lock(answer.question_id)
    controls = PayoutControls.objects.filter(business=batch.business_id, frozen_at__isnull=False)
    server_questions.record(question, answer, is_frozen=controls.exists(), now=now)
    if question.state in {State.ASKING, State.APPROVED}:
        is_asked = question.state == State.ASKING
        batch.waits_for = f"{ASKS_SERVER} {question.last_answer}" if is_asked else ""
        batch.save(update_fields=["waits_for"])
    elif question.state == State.DENIED:
        _fail(batch, "your server denied it.", now=now)
    elif question.state == State.UNANSWERED:
        _fail(batch, f"your server did not approve it. {question.last_answer}", now=now)


def _fail(batch: PayoutBatch, why: str, *, now: datetime) -> None:
    fail_unsent(batch, f"{REJECTED}: {why}")
    if batch.status == PayoutBatch.Status.SCHEDULED:  # it has nothing to wait for any more
        batch.status, batch.started_at = PayoutBatch.Status.PROCESSING, now
        batch.save(update_fields=["status", "started_at"])
    end_if_final(batch, now=now)
