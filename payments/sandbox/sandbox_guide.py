"""Tables of the sandbox's outcomes for the guides, built from `sandbox_triggers`. Each row names its scenario.

>>> [row.scenario for row in captures().rows]
['payment.captured.lost_answer', 'payment.captured.all']
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings

from kit.time.durations import in_words
from payments.models import Challenge, Transaction
from payments.rules import outcomes
from payments.rules.outcomes import Outcome
from payments.rules.sandbox_triggers import (
    CAPTURE_AMOUNTS,
    CARD_AMOUNTS,
    DISPUTED_ENDING,
    LOST_ANSWER_ACCOUNT,
    ONE_TIME_CODE,
    PAYOUT_AMOUNTS,
    REFUND_AMOUNTS,
    RETURNED_ACCOUNT,
    SMALLEST_TRIGGERING_AMOUNT,
    TEST_CARDS,
    Special,
)
from payments.sandbox.scenario_steps import Json
from payments.sandbox.scenarios import EXPIRED_YEAR, find, scenarios

Status = Transaction.Status


@dataclass(frozen=True, slots=True)
class Row:
    """A trigger and its result."""

    trigger: str
    status: str
    code: str
    result: str
    scenario: str  # the name of the one that plays it
    example: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    name: str  # its anchor on the page
    title: str
    trigger_heading: str
    rows: tuple[Row, ...]
    note: str = ""


def tables() -> tuple[Table, ...]:
    """Return all tables, in the order of the payment lifecycle."""
    return (cards(), card_amounts(), three_d_secure(), captures(), refunds(), payouts())


def payer_test_cards() -> tuple[tuple[str, str], ...]:
    """Return the test cards with what they do, for the card page of a payment link."""
    return tuple((row.trigger, row.result) for row in cards().rows if row.trigger.isdecimal())


def cards() -> Table:
    rows = [_row(card.number, card.result, _played("pay", _with_card(card.number))) for card in TEST_CARDS]
    expired = _played("pay", lambda body: body["source"]["expiry_year"] == EXPIRED_YEAR)
    rows.append(_row("a card that has expired", outcomes.EXPIRED_CARD, expired))
    rows.append(
        replace(_success("any other card", "payment.success"), result="Unless the amount says otherwise.")
    )
    return Table(
        "cards",
        "Test cards",
        "Card number",
        tuple(rows),
        "Any name and any CVV are accepted. A test card takes precedence over the amount.",
    )


def card_amounts() -> Table:
    disputed = replace(
        _success(DISPUTED_ENDING, "dispute.opened"),
        result="Success; `POST /api/sandbox/advance` has the payment disputed.",
        example=str(SMALLEST_TRIGGERING_AMOUNT + int(DISPUTED_ENDING)),
    )
    rows = [
        *_by_ending(CARD_AMOUNTS, step="pay"),
        disputed,
        _success("any other amount", "payment.success"),
    ]
    return Table("amounts", "Card amounts", "Amount ends in", tuple(rows), _from_smallest())


def three_d_secure() -> Table:
    asked, decide = "`3ds.enabled` is true", "the card and the amount decide."
    completed = outcomes.COMPLETED.code
    challenge = "A challenge: send the payer to `redirect_link`."
    refused = outcomes.AUTHENTICATION_FAILED
    approved, unasked = _named("payment.3ds.approved"), _named("payment.3ds.no_challenge")
    unanswered = in_words(timedelta(seconds=settings.CHALLENGE_LIFETIME), parts=2)
    rows = (
        Row(asked, Status.PENDING, outcomes.PROCESSING.code, challenge, approved),
        Row(f"{asked}, with `no_challenge`", Status.SUCCESS, completed, f"No challenge; {decide}", unasked),
        Row(f"code {ONE_TIME_CODE}", Status.SUCCESS, completed, f"Recognised; {decide}", approved),
        _row(f"{Challenge.WRONG_CODES_ALLOWED} wrong codes", refused, _named("payment.3ds.wrong_code")),
        _row("Decline", refused, _named("payment.3ds.declined")),
        _row(f"{unanswered} without an answer", refused, _named("payment.3ds.expired")),
    )
    return Table("3ds", "3-D Secure", "Request, or what the payer does", rows)


def captures() -> Table:
    rows = (
        *_by_ending(CAPTURE_AMOUNTS, step="capture"),
        _success("any other amount", "payment.captured.all"),
    )
    return Table("captures", "Captures", "Amount ends in", rows, _from_smallest())


def refunds() -> Table:
    rows = (*_by_ending(REFUND_AMOUNTS, step="refund"), _success("any other amount", "refund.all"))
    note = f"{_from_smallest()} Refunds of transfer payments follow the table of payouts."
    return Table("refunds", "Refunds", "Amount ends in", rows, note)


def payouts() -> Table:
    lost, returned = (
        _played("payout", _to_account(number)) for number in (LOST_ANSWER_ACCOUNT, RETURNED_ACCOUNT)
    )
    rows = (
        *(_with_gateway_code(row) for row in _by_ending(PAYOUT_AMOUNTS, step="payout")),
        _row(f"account {LOST_ANSWER_ACCOUNT}", Special.LOST_ANSWER, lost),
        replace(
            _success(f"account {RETURNED_ACCOUNT}", returned),
            result="Success; `POST /api/sandbox/advance` returns it.",
        ),
        _success("any other amount", "payout.success"),
    )
    return Table("payouts", "Payouts", "Amount ends in", rows, _from_smallest())


def _with_gateway_code(row: Row) -> Row:
    return replace(row, result=f"{row.result}, with `gateway_code` {row.trigger}")


def _by_ending(
    results: Mapping[str, Outcome] | Mapping[str, Outcome | Special], *, step: str
) -> Iterable[Row]:
    for ending, result in results.items():
        amount = SMALLEST_TRIGGERING_AMOUNT + int(ending)
        yield _row(ending, result, _played(step, _with_amount(amount)), example=str(amount))


def _row(trigger: str, result: Outcome | Special, scenario: str, *, example: str = "") -> Row:
    if isinstance(result, Outcome):
        return Row(trigger, Status.FAILED, result.code, result.summary, scenario, example)
    is_success = result is Special.FRICTIONLESS
    status = Status.SUCCESS if is_success else Status.PENDING
    code = outcomes.COMPLETED.code if is_success else outcomes.PROCESSING.code
    return Row(trigger, status, code, _sentence(result.value), scenario, example)


def _success(trigger: str, scenario: str) -> Row:
    completed = outcomes.COMPLETED
    return Row(trigger, Status.SUCCESS, completed.code, completed.summary, _named(scenario))


def _named(scenario: str) -> str:
    """Return the name of an existing scenario.

    :raises KeyError: there is none
    """
    return find(scenario).name


def _played(step: str, fits: Callable[[Json], bool]) -> str:
    """Return the first scenario with a step whose body fits."""
    return next(
        scenario.name
        for scenario in scenarios()
        for each in scenario.steps
        if each.id == step and each.body and fits(each.body)
    )


def _with_card(number: str) -> Callable[[Json], bool]:
    return lambda body: bool(body.get("source", {}).get("pan") == number)


def _with_amount(amount: int) -> Callable[[Json], bool]:
    return lambda body: bool(body.get("amount") == amount)


def _to_account(number: str) -> Callable[[Json], bool]:
    return lambda body: bool(body["customer"]["account_number"] == number)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _from_smallest() -> str:
    return f"Amounts are minor units. Those below {SMALLEST_TRIGGERING_AMOUNT} always succeed."
