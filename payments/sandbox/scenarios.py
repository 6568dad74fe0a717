"""What can be made to happen in the sandbox, as sequences of API calls: the one list for pages, clients and tests.

Outcomes come from `sandbox_triggers`. In paths and bodies, `{{new}}` is a reference that is new in each step, and
`{{step.path}}` a value of an earlier answer. There are no other expressions.

>>> scenario = find("payment.failed.20051")
>>> scenario.steps[0].body["amount"], scenario.ends.outcome.summary
(10051, 'Declined - Not sufficient funds')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from payments.models import Challenge
from payments.rules import outcomes
from payments.rules.outcomes import Outcome
from payments.rules.sandbox_triggers import (
    CAPTURE_AMOUNTS,
    CARD_AMOUNTS,
    DISPUTED_ENDING,
    LOST_ANSWER_ACCOUNT,
    OTHER_NAME_ACCOUNT,
    PAYOUT_AMOUNTS,
    REFUND_AMOUNTS,
    RETURNED_ACCOUNT,
    SMALLEST_TRIGGERING_AMOUNT,
    TEST_CARDS,
    Special,
)
from payments.rules.words.status_names import outcome_name
from payments.sandbox.scenario_steps import (
    ADVANCE,
    AMOUNT,
    APPROVED,
    BATCHES,
    CURRENCY,
    DECLINED,
    FAILED,
    GOOD_CARD,
    NEW,
    PAYMENTS,
    PENDING,
    SENDER,
    SUCCESS,
    WRONG_CODE,
    Expected,
    Json,
    Step,
    advance,
    advance_batch,
    arrive,
    await_transfer,
    batch_step,
    check_card,
    dispute_step,
    get,
    make_batch,
    make_two,
    open_dynamic_account,
    open_static_account,
    operate,
    pay,
    pay_out,
    payer,
    post,
    reject_batch,
    result,
)
from webhooks.models import Event

EXPIRED_YEAR = "2020"
PART = 100_000  # minor units

# What may be changed where the outcome does not depend on it, and the JSON type.
PAYMENT_FIELDS = {
    "narration": "string",
    "metadata": "object",
    "customer.reference": "string",
    "customer.email": "string",
    "customer.name": "string",
}
PAYOUT_FIELDS = {"narration": "string", "metadata": "object", "customer.name": "string"}
AMOUNT_FIELD = {"amount": "integer"}


@dataclass(frozen=True, slots=True)
class End:
    """The outcome, as the answer to `step` shows it."""

    step: str
    status: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A sequence of steps with a known end. `event` is the last event that it causes."""

    name: str
    title: str
    flow: str
    steps: tuple[Step, ...]
    ends: End
    event: Event | None = None
    changes: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=1)
def scenarios() -> tuple[Scenario, ...]:
    """Return all scenarios, the most usual one of each event first."""
    return (
        *_card_payments(),
        *_authorisations(),
        *_three_d_secure(),
        *_transfers(),
        *_refunds(),
        *_payouts(),
        *_payout_batches(),
        *_card_checks(),
        *_disputes(),
    )


def find(name: str) -> Scenario:
    """Return a scenario by its name.

    :raises KeyError: there is none
    """
    return {scenario.name: scenario for scenario in scenarios()}[name]


def _payment(
    name: str,
    title: str,
    *steps: Step,
    status: str,
    outcome: Outcome,
    flow: str = "card",
    changes: Mapping[str, str] | None = None,
) -> Scenario:
    """Return the scenario of a payment whose last answer shows its outcome."""
    events = {SUCCESS: Event.PAYMENT_SUCCESS, FAILED: Event.PAYMENT_FAILED, PENDING: None}
    return Scenario(
        name=f"payment.{name}",
        title=title,
        flow=flow,
        steps=steps,
        ends=End(steps[-1].id, status, outcome),
        event=events[status],
        changes=_changes("pay", PAYMENT_FIELDS if changes is None else changes),
    )


# Card payments ----------------------------------------------------------------------------------------


def _card_payments() -> Iterator[Scenario]:
    yield _paid("success", "Card payment succeeds", changes=PAYMENT_FIELDS | AMOUNT_FIELD)
    for ending, outcome in CARD_AMOUNTS.items():
        if isinstance(outcome, Outcome):
            amount = SMALLEST_TRIGGERING_AMOUNT + int(ending)
            yield _declined(outcome.code, f"Card payment: {_reason(outcome)}", outcome, amount=amount)
    expired = outcomes.EXPIRED_CARD
    yield _declined(expired.code, f"Card payment: {_reason(expired)}", expired, expiry_year=EXPIRED_YEAR)
    for card in TEST_CARDS:
        if isinstance(card.result, Outcome):
            title = f"Card ending in {card.number[-4:]}: {_reason(card.result)}"
            yield _declined(f"{card.result.code}.card", title, card.result, pan=card.number)
    yield _payment(
        "pending.lost_answer",
        "The acquirer's answer is lost; a query finds that the payment succeeded",
        pay(PENDING, amount=_triggering(CARD_AMOUNTS, Special.LOST_ANSWER)),
        advance(SUCCESS, outcomes.COMPLETED),
        status=SUCCESS,
        outcome=outcomes.COMPLETED,
    )


def _paid(name: str, title: str, *, changes: Mapping[str, str] | None = None, **card: Any) -> Scenario:
    step = pay(SUCCESS, **card)
    return _payment(name, title, step, status=SUCCESS, outcome=outcomes.COMPLETED, changes=changes)


def _declined(name: str, title: str, outcome: Outcome, **card: Any) -> Scenario:
    return _payment(f"failed.{name}", title, pay(FAILED, outcome, **card), status=FAILED, outcome=outcome)


def _authorisations() -> Iterator[Scenario]:
    """Yield payments that are authorised first, then captured, voided or left to expire."""
    authorised = pay(PENDING, capture=False)
    approved = Outcome(outcomes.PROCESSING.code, outcomes.PROCESSING.summary, outcomes.COMPLETED.gateway_code)
    title = "Card payment is authorised, to be captured later"
    yield _payment("authorised", title, authorised, status=PENDING, outcome=approved)
    completed = Expected(200, SUCCESS, outcomes.COMPLETED.code)
    for name, words, body in (("all", "whole", {}), ("part", "part", {"amount": PART})):
        yield _payment(
            f"captured.{name}",
            f"Authorised card payment is captured in {words}",
            authorised,
            operate("capture", body, completed),
            status=SUCCESS,
            outcome=outcomes.COMPLETED,
        )
    amount = _triggering(CAPTURE_AMOUNTS, Special.LOST_ANSWER)
    yield _payment(
        "captured.lost_answer",
        "The answer to a capture is lost; a query finds that it succeeded",
        authorised,
        operate("capture", {"amount": amount}, Expected(200, PENDING, outcomes.PROCESSING.code)),
        advance(SUCCESS, outcomes.COMPLETED),
        status=SUCCESS,
        outcome=outcomes.COMPLETED,
    )
    yield _payment(
        "failed.voided",
        "Authorised card payment is voided",
        authorised,
        operate("void", {}, Expected(200, FAILED, outcomes.VOIDED.code)),
        status=FAILED,
        outcome=outcomes.VOIDED,
    )
    yield _payment(
        "failed.authorisation_expired",
        "Authorised card payment is never captured and expires",
        authorised,
        advance(FAILED, outcomes.AUTHORISATION_EXPIRED),
        status=FAILED,
        outcome=outcomes.AUTHORISATION_EXPIRED,
    )


# 3-D Secure -------------------------------------------------------------------------------------------


def _three_d_secure() -> Iterator[Scenario]:
    approved = (payer("approve", APPROVED), result(SUCCESS, outcomes.COMPLETED))
    refused = result(FAILED, outcomes.AUTHENTICATION_FAILED)
    yield _challenged("approved", "the payer approves", *approved)
    yield _challenged("declined", "the payer declines", payer("decline", DECLINED), refused)
    wrong_codes = [
        payer("approve", WRONG_CODE, step=f"attempt{number}")
        for number in range(1, Challenge.WRONG_CODES_ALLOWED)
    ]
    last = payer("approve", WRONG_CODE, step="last_attempt")
    yield _challenged("wrong_code", "the payer enters wrong codes", *wrong_codes, last, refused)
    expired = advance(FAILED, outcomes.AUTHENTICATION_FAILED)
    yield _challenged("expired", "the payer never answers", expired)
    number = _card_with(Special.CHALLENGE)
    yield _challenged("card", f"a card ending in {number[-4:]} always asks", *approved, pan=number, asks=None)
    unasked = {"enabled": True, "challenge_preference": "no_challenge"}
    yield _paid("3ds.no_challenge", "3-D Secure without a challenge", three_ds=unasked)
    number = _card_with(Special.FRICTIONLESS)
    yield _paid("3ds.frictionless", f"3-D Secure: a card ending in {number[-4:]} never asks", pan=number)


CHALLENGE = {"enabled": True, "challenge_preference": "challenge_mandated"}


def _challenged(
    name: str, title: str, *steps: Step, pan: str = GOOD_CARD, asks: Json | None = CHALLENGE
) -> Scenario:
    status = steps[-1].expect.status
    outcome = outcomes.COMPLETED if status == SUCCESS else outcomes.AUTHENTICATION_FAILED
    first = pay(PENDING, pan=pan, three_ds=asks)
    return _payment(f"3ds.{name}", f"3-D Secure: {title}", first, *steps, status=status, outcome=outcome)


# Payments into virtual accounts -----------------------------------------------------------------------


def _transfers() -> Iterator[Scenario]:
    flow, number = "virtual_account", "{{pay.virtual_account_details.account_number}}"
    received = outcomes.transfer_received(amount=AMOUNT, currency=CURRENCY, sender=SENDER)
    paid = (open_dynamic_account(), await_transfer(), arrive(number, AMOUNT))
    yield _payment(
        "success.transfer",
        "Transfer of the exact amount arrives",
        *paid,
        result(SUCCESS, received),
        status=SUCCESS,
        outcome=received,
        flow=flow,
        changes={},
    )
    yield _mismatch(number)
    waiting = (open_dynamic_account(), await_transfer())
    yield _payment(
        "failed.expired",
        "No transfer arrives, and the payment expires",
        *waiting,
        advance(FAILED, outcomes.TRANSFER_EXPIRED),
        status=FAILED,
        outcome=outcomes.TRANSFER_EXPIRED,
        flow=flow,
        changes=AMOUNT_FIELD,
    )
    yield _payment(
        "failed.cancelled",
        "Payment by transfer is cancelled before money arrives",
        *waiting,
        operate("cancel", {}, Expected(200, FAILED, outcomes.CANCELLED.code)),
        status=FAILED,
        outcome=outcomes.CANCELLED,
        flow=flow,
        changes=AMOUNT_FIELD,
    )
    yield _payment(
        "success.static_account",
        "Transfer into a static account makes a payment of its own",
        open_static_account(),
        arrive("{{account.customer.account_number}}", AMOUNT),
        get("found", f"{PAYMENTS}?limit=1", Expected(200)),
        get("result", f"{PAYMENTS}/{{{{found.data.0.reference}}}}", Expected(200, SUCCESS, received.code)),
        status=SUCCESS,
        outcome=received,
        flow=flow,
        changes={},
    )
    yield Scenario(
        name="transfer.unapplied",
        title="A second transfer arrives for a payment that is paid",
        flow=flow,
        steps=(*paid, arrive(number, AMOUNT, step="again"), result(SUCCESS, received)),
        ends=End("result", SUCCESS, received),
        event=Event.TRANSFER_UNAPPLIED,
    )


def _mismatch(number: str) -> Scenario:
    amount = AMOUNT - 100
    outcome = outcomes.amount_mismatch(expected=AMOUNT, received=amount, currency=CURRENCY)
    steps = (open_dynamic_account(), await_transfer(), arrive(number, amount), result(FAILED, outcome))
    return Scenario(
        name="payment.mismatch",
        title="Transfer of another amount arrives",
        flow="virtual_account",
        steps=steps,
        ends=End("result", FAILED, outcome),
        event=Event.PAYMENT_MISMATCH,
    )


# Refunds ----------------------------------------------------------------------------------------------


def _refunds() -> Iterator[Scenario]:
    yield _refund("part", "Card payment is refunded in part", {"amount": PART}, changes=AMOUNT_FIELD)
    yield _refund("all", "Card payment is refunded in whole", {})
    for ending, outcome in REFUND_AMOUNTS.items():
        if isinstance(outcome, Outcome):
            amount = SMALLEST_TRIGGERING_AMOUNT + int(ending)
            title = f"Refund: {_reason(outcome)}"
            yield _refund(f"failed.{outcome.code}", title, {"amount": amount}, outcome)
    body = {"reference": NEW, "amount": _triggering(REFUND_AMOUNTS, Special.LOST_ANSWER)}
    completed = Expected(200, SUCCESS, outcomes.COMPLETED.code)
    yield Scenario(
        name="refund.pending.lost_answer",
        title="The answer to a refund is lost; a query finds that it succeeded",
        flow="refund",
        steps=(
            pay(SUCCESS),
            operate("refunds", body, Expected(201, PENDING, outcomes.PROCESSING.code)),
            advance(SUCCESS, outcomes.COMPLETED),
            get("result", "/api/refunds/{{refund.reference}}", completed),
        ),
        ends=End("result", SUCCESS, outcomes.COMPLETED),
        event=Event.REFUND_SUCCESS,
    )


def _refund(
    name: str,
    title: str,
    body: Json,
    outcome: Outcome = outcomes.COMPLETED,
    *,
    changes: Mapping[str, str] | None = None,
) -> Scenario:
    status = SUCCESS if outcome.is_success else FAILED
    refund = operate("refunds", {"reference": NEW, **body}, Expected(201, status, outcome.code))
    return Scenario(
        name=f"refund.{name}",
        title=title,
        flow="refund",
        steps=(pay(SUCCESS), refund),
        ends=End("refund", status, outcome),
        event=Event.REFUND_SUCCESS if outcome.is_success else Event.REFUND_FAILED,
        changes=_changes("refund", {"reason": "string"} | dict(changes or {})),
    )


# Payouts and card checks ------------------------------------------------------------------------------


def _payouts() -> Iterator[Scenario]:
    yield _payout("success", "Payout succeeds", outcomes.COMPLETED, changes=PAYOUT_FIELDS | AMOUNT_FIELD)
    for ending, outcome in PAYOUT_AMOUNTS.items():
        title = f"Payout fails with the bank's code {ending}"
        yield _payout(f"failed.{ending}", title, outcome, amount=SMALLEST_TRIGGERING_AMOUNT + int(ending))
    pending = Expected(201, PENDING, outcomes.PROCESSING.code)
    yield _advanced_payout(
        "payout.pending.lost_answer",
        "The bank's answer is lost; a query finds that the payout succeeded",
        pay_out(pending, account_number=LOST_ANSWER_ACCOUNT),
        event=Event.PAYOUT_SUCCESS,
    )
    completed = Expected(201, SUCCESS, outcomes.COMPLETED.code)
    yield _advanced_payout(
        "payout.reversed",
        "Payout succeeds, and the bank returns it",
        pay_out(completed, account_number=RETURNED_ACCOUNT),
        event=Event.PAYOUT_REVERSED,
    )
    yield _settled_payout()


def _settled_payout() -> Scenario:
    """Return the payout of a released settlement, which is the newest one."""
    account = {"account_number": "0123456789", "bank_code": "058"}
    reference = "{{settlements.data.0.payout_reference}}"
    completed = outcomes.COMPLETED
    return Scenario(
        name="payout.of_a_settlement",
        title="A settlement is released and paid out to your settlement account",
        flow="payout",
        steps=(
            pay(SUCCESS, amount=100_000_000),  # more than earlier scenarios may have paid out of the balance
            post("release", ADVANCE, {"day": "released", "settlement_account": account}, Expected(200)),
            get("settlements", "/api/settlements", Expected(200)),
            get("result", f"{PAYMENTS}/{reference}", Expected(200, SUCCESS, completed.code)),
        ),
        ends=End("result", SUCCESS, completed),
        event=Event.PAYOUT_SUCCESS,
    )


def _payout(
    name: str,
    title: str,
    outcome: Outcome,
    *,
    amount: int = AMOUNT,
    changes: Mapping[str, str] = PAYOUT_FIELDS,
) -> Scenario:
    status = SUCCESS if outcome.is_success else FAILED
    return Scenario(
        name=f"payout.{name}",
        title=title,
        flow="payout",
        steps=(pay_out(Expected(201, status, outcome.code), amount=amount),),
        ends=End("payout", status, outcome),
        event=Event.PAYOUT_SUCCESS if outcome.is_success else Event.PAYOUT_FAILED,
        changes=_changes("payout", changes),
    )


def _advanced_payout(name: str, title: str, first: Step, *, event: Event) -> Scenario:
    return Scenario(
        name=name,
        title=title,
        flow="payout",
        steps=(first, advance(SUCCESS, outcomes.COMPLETED, of="payout")),
        ends=End("advance", SUCCESS, outcomes.COMPLETED),
        event=event,
        changes=_changes("payout", PAYOUT_FIELDS),
    )


def _payout_batches() -> Iterator[Scenario]:
    """Yield batches whose payout fails: another one that is paid would be a duplicate of it for a day."""
    ending, outcome = next(iter(PAYOUT_AMOUNTS.items()))
    amount = SMALLEST_TRIGGERING_AMOUNT + int(ending)
    yield _payout_batch(
        "completed",
        "Batch is checked, approved and sent, and its payout fails",
        make_batch(amount=amount),
        outcome=outcome,
    )
    yield _payout_batch(
        "corrected",
        "The bank has another name for an account, so the batch is cancelled and made again",
        make_batch(amount=amount, account_number=OTHER_NAME_ACCOUNT, step="wrong_batch"),
        advance_batch("check_wrong_batch", of="wrong_batch"),
        batch_step("cancel_batch", "cancel", of="wrong_batch"),
        make_batch(amount=amount),
        outcome=outcome,
    )
    yield _payout_batch(
        "rejected",
        "Another member rejects a batch, so it is made again",
        make_batch(amount=amount, step="wrong_batch"),
        advance_batch("check_wrong_batch", of="wrong_batch"),
        reject_batch("another_member_rejects", of="wrong_batch"),
        make_batch(amount=amount),
        outcome=outcome,
    )
    # An account that no other batch has paid within a day
    yield _payout_batch(
        "partly_failed",
        "One of two payouts fails, and a new batch of it is made",
        open_static_account(),
        make_two(failing=amount),
        outcome=outcome,
        then=(batch_step("retry_failed", "retry", status=201),),
    )


def _payout_batch(
    name: str, title: str, *made: Step, outcome: Outcome, then: tuple[Step, ...] = ()
) -> Scenario:
    return Scenario(
        name=f"payout_batch.{name}",
        title=title,
        flow="payout",
        steps=(
            *made,
            advance_batch("check_accounts"),
            batch_step("approve_batch", "approve"),
            advance_batch("send_payouts"),
            *then,
            get("payouts", f"{BATCHES}/{{{{batch.reference}}}}/payouts", Expected(200)),
            get(
                "result", f"{PAYMENTS}/{{{{payouts.data.0.reference}}}}", Expected(200, FAILED, outcome.code)
            ),
        ),
        ends=End("result", FAILED, outcome),
        event=Event.PAYOUT_BATCH_COMPLETED,
    )


def _card_checks() -> Iterator[Scenario]:
    yield _card_check("success", "Card is valid", outcomes.COMPLETED)
    expired = outcomes.EXPIRED_CARD
    yield _card_check(f"failed.{expired.code}", "Card has expired", expired, expiry_year=EXPIRED_YEAR)
    for card in TEST_CARDS:
        if isinstance(card.result, Outcome):
            title = f"Card ending in {card.number[-4:]} is declined"
            yield _card_check(f"failed.{card.result.code}", title, card.result, pan=card.number)


def _card_check(name: str, title: str, outcome: Outcome, **card: str) -> Scenario:
    status = SUCCESS if outcome.is_success else FAILED
    return Scenario(
        name=f"card_check.{name}",
        title=title,
        flow="card_check",
        steps=(check_card(Expected(201, status, outcome.code), **card),),
        ends=End("check", status, outcome),
    )


# Disputes ---------------------------------------------------------------------------------------------


def _disputes() -> Iterator[Scenario]:
    """Yield what becomes of a disputed card payment. The payment itself stays successful."""
    yield _dispute("opened", "Card payment is disputed", event=Event.DISPUTE_OPENED)
    decided = advance(SUCCESS, outcomes.COMPLETED, step="decide")
    answered = {words: _answer_dispute(words) for words in ("win", "lose", "escalate")}
    yield _dispute("answered", "You answer a dispute", *answered["win"], event=Event.DISPUTE_UPDATED)
    yield _dispute("won", "Your answer to a dispute wins", *answered["win"], decided)
    yield _dispute("lost", "Your answer to a dispute loses", *answered["lose"], decided)
    yield _dispute("accepted", "You accept a dispute", dispute_step("accept", "/accept"))
    yield _dispute("expired", "You don't answer a dispute in time", decided)
    title = "Your answer wins, and the cardholder's bank takes the dispute to the next stage"
    yield _dispute("escalated", title, *answered["escalate"], decided, event=Event.DISPUTE_OPENED)


def _answer_dispute(words: str) -> tuple[Step, Step]:
    """Return the steps in which a dispute is answered with the text that decides it."""
    text = {"kind": "other", "text": words}
    return dispute_step("evidence", "/evidence", text, http_status=201), dispute_step("submit", "/submit")


def _dispute(name: str, title: str, *steps: Step, event: Event = Event.DISPUTE_CLOSED) -> Scenario:
    completed = outcomes.COMPLETED
    paid = pay(SUCCESS, amount=SMALLEST_TRIGGERING_AMOUNT + int(DISPUTED_ENDING))
    return Scenario(
        name=f"dispute.{name}",
        title=title,
        flow="dispute",
        steps=(paid, advance(SUCCESS, completed), *steps, result(SUCCESS, completed)),
        ends=End("result", SUCCESS, completed),
        event=event,
    )


def _changes(step: str, fields: Mapping[str, str]) -> dict[str, str]:
    return {f"{step}.{name}": kind for name, kind in fields.items()}


def _reason(outcome: Outcome) -> str:
    return outcome_name(outcome.summary)


def _triggering(table: Mapping[str, Outcome | Special], effect: Special) -> int:
    """Return the smallest amount with this effect."""
    ending = next(ending for ending, found in table.items() if found is effect)
    return SMALLEST_TRIGGERING_AMOUNT + int(ending)


def _card_with(effect: Special) -> str:
    return next(card.number for card in TEST_CARDS if card.result is effect)
