"""Tables of the sandbox's outcomes for the guides and the dashboard, built from `sandbox_triggers`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings

from kit.durations import in_words
from payments import outcomes
from payments.models import Challenge, Transaction
from payments.outcomes import Outcome
from payments.sandbox_triggers import (
    CAPTURE_AMOUNTS,
    CARD_AMOUNTS,
    LOST_ANSWER_ACCOUNT,
    ONE_TIME_CODE,
    PAYOUT_AMOUNTS,
    REFUND_AMOUNTS,
    RETURNED_ACCOUNT,
    SMALLEST_TRIGGERING_AMOUNT,
    TEST_CARDS,
    Special,
)

Status = Transaction.Status


@dataclass(frozen=True, slots=True)
class Row:
    """A trigger and its result."""

    trigger: str
    status: str
    code: str
    result: str
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
    rows = [_row(card.number, card.result) for card in TEST_CARDS]
    rows.append(_row("a card that has expired", outcomes.EXPIRED_CARD))
    rows.append(replace(_success("any other card"), result="Unless the amount says otherwise."))
    return Table(
        "cards",
        "Test cards",
        "Card number",
        tuple(rows),
        "Any name and any CVV are accepted. A test card takes precedence over the amount.",
    )


def card_amounts() -> Table:
    rows = [*_by_ending(CARD_AMOUNTS), _success("any other amount")]
    return Table("amounts", "Card amounts", "Amount ends in", tuple(rows), _from_smallest())


def three_d_secure() -> Table:
    asked, decide = "`3ds.enabled` is true", "the card and the amount decide."
    completed = outcomes.COMPLETED.code
    challenge = "A challenge: send the payer to `redirect_link`."
    refused = outcomes.AUTHENTICATION_FAILED
    rows = (
        Row(asked, Status.PENDING, outcomes.PROCESSING.code, challenge),
        Row(f"{asked}, with `no_challenge`", Status.SUCCESS, completed, f"No challenge; {decide}"),
        Row(f"code {ONE_TIME_CODE}", Status.SUCCESS, completed, f"Recognised; {decide}"),
        _row(f"{Challenge.WRONG_CODES_ALLOWED} wrong codes", refused),
        _row("Decline", refused),
        _row(
            f"{in_words(timedelta(seconds=settings.CHALLENGE_LIFETIME), parts=2)} without an answer", refused
        ),
    )
    return Table("3ds", "3-D Secure", "Request, or what the payer does", rows)


def captures() -> Table:
    rows = (*_by_ending(CAPTURE_AMOUNTS), _success("any other amount"))
    return Table("captures", "Captures", "Amount ends in", rows, _from_smallest())


def refunds() -> Table:
    rows = (*_by_ending(REFUND_AMOUNTS), _success("any other amount"))
    note = f"{_from_smallest()} Refunds of transfer payments follow the table of payouts."
    return Table("refunds", "Refunds", "Amount ends in", rows, note)


def payouts() -> Table:
    rows = (
        *(_with_gateway_code(row) for row in _by_ending(PAYOUT_AMOUNTS)),
        _row(f"account {LOST_ANSWER_ACCOUNT}", Special.LOST_ANSWER),
        replace(
            _success(f"account {RETURNED_ACCOUNT}"),
            result="Success; `POST /api/sandbox/advance` returns it.",
        ),
        _success("any other amount"),
    )
    return Table("payouts", "Payouts", "Amount ends in", rows, _from_smallest())


def _with_gateway_code(row: Row) -> Row:
    return replace(row, result=f"{row.result}, with `gateway_code` {row.trigger}")


def _by_ending(results: Mapping[str, Outcome] | Mapping[str, Outcome | Special]) -> Iterable[Row]:
    for ending, result in results.items():
        yield _row(ending, result, example=str(SMALLEST_TRIGGERING_AMOUNT + int(ending)))


def _row(trigger: str, result: Outcome | Special, *, example: str = "") -> Row:
    if isinstance(result, Outcome):
        return Row(trigger, Status.FAILED, result.code, result.summary, example)
    if result is Special.FRICTIONLESS:
        return Row(trigger, Status.SUCCESS, outcomes.COMPLETED.code, _sentence(result.value), example)
    return Row(trigger, Status.PENDING, outcomes.PROCESSING.code, _sentence(result.value), example)


def _success(trigger: str) -> Row:
    return Row(trigger, Status.SUCCESS, outcomes.COMPLETED.code, outcomes.COMPLETED.summary)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _from_smallest() -> str:
    return f"Amounts are minor units. Those below {SMALLEST_TRIGGERING_AMOUNT} always succeed."
