"""What Checkout.com's codes mean for us, as data.

Their response codes look like ours and mean other things: their 20083 is "no accounts", ours suspected fraud. So none is
passed on as ours. Theirs is the gateway code.

Sources: "API response codes" and "Recommendation codes" of Checkout.com's documentation as of July 2026, and the error codes
that integrators have met. Which of ours a code is, is our judgement.

>>> outcome_of("30041").code, outcome_of("30041").gateway_code, outcome_of("30041").advice
('20041', '30041', 'do_not_retry')
>>> outcome_of("20083").code, outcome_of("not listed").code, outcome_of("not listed").gateway_code
('20030', '20030', 'notliste')
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from payments.rules import outcomes
from payments.rules.outcomes import DO_NOT_RETRY, RETRY, Outcome

LONGEST_CODE = 8  # characters of `gateway_code`

# Approved, also with a flag of the risk engine (10100) or a deferred capture (10200). 10010 is a part of the amount.
APPROVED = frozenset({"10000", "10008", "10011", "10076", "10077", "10081", "10100", "10200"})
PARTLY_APPROVED = "10010"

# Declines because of how our account is configured there, which staff must see.
_OUR_ACCOUNT = "20003 20058 20060 20066 20102 20117 20157 200E0 200E2"

# Declines by code. `a-b` is a range of numbers.
_DECLINES: tuple[tuple[Outcome, str, str], ...] = (
    # Refer to the issuer; do not honour; the card isn't activated yet; restricted; contact the acquirer.
    (outcomes.DO_NOT_HONOUR, RETRY, "20001 20002 20005 20046 20016 20072 20078 20062 30035"),
    # Pick up without fraud; PIN; not permitted, blocked, law, policy; the cardholder has stopped such payments.
    (
        outcomes.DO_NOT_HONOUR,
        DO_NOT_RETRY,
        "20004 20067 30004 20038 20055 20075 200O5 30038 20057 20081 20093 2005C 2009G 20182 30036 30044 200R1 200R3",
    ),
    # Funds, and limits of amount or frequency.
    (outcomes.NOT_SUFFICIENT_FUNDS, RETRY, "20051 20061 20065 20121 200P1 200P9 30021 30022"),
    (outcomes.EXPIRED_CARD, DO_NOT_RETRY, "20054 30033"),
    (outcomes.LOST_CARD, DO_NOT_RETRY, "30041"),
    (outcomes.STOLEN_CARD, DO_NOT_RETRY, "30043"),
    # The issuer's suspicion, and what their risk engine or a list of theirs blocks.
    (outcomes.SUSPECTED_FRAUD, DO_NOT_RETRY, "20059 20063 20183 30007 30034 30037 2006P 20105"),
    # 3-D Secure failed, wasn't completed in time, or is required.
    (outcomes.AUTHENTICATION_FAILED, RETRY, "20112 20150-20155 20159 44301"),
    # No such card, account or issuer; closed; type unsupported.
    (
        outcomes.UNSPECIFIED_FAILURE,
        DO_NOT_RETRY,
        "20014 20039 20052 20053 20083 20101 20103 200T3 30015 30046",
    ),
    # CVV or expiry wrong or missing; card replaced; invalid; of payouts.
    (
        outcomes.UNSPECIFIED_FAILURE,
        DO_NOT_RETRY,
        "20087 20082 20100 20124 200N7 20179 20012 30016-30020 30045",
    ),
    # In progress, but declined; the issuer or a switch is down.
    (outcomes.UNSPECIFIED_FAILURE, RETRY, "20009 20118 20022 20068 20090-20092 20096 200E3 200N0"),
    # Technical; data of the request, such as a missing address; unsupported; operations that come too late.
    (
        outcomes.UNSPECIFIED_FAILURE,
        RETRY,
        "20006 20013 20015 20017-20021 20023-20033 20040 20042 20044 20045 20056",
    ),
    (
        outcomes.UNSPECIFIED_FAILURE,
        RETRY,
        "20064 20084-20086 20088 20089 20094 20095 20097-20099 20104 20106-20111",
    ),
    (outcomes.UNSPECIFIED_FAILURE, RETRY, "20113-20116 20119 20120 20122 20123 20156 20158 20193 20197"),
    (outcomes.UNSPECIFIED_FAILURE, RETRY, "200A4-200A6 200S4 200T2 200T5"),
    (outcomes.UNSPECIFIED_FAILURE, RETRY, _OUR_ACCOUNT),
)
# Codes that the table lacks, by their first digit.
_DECLINES_BY_DIGIT = {
    "2": (outcomes.UNSPECIFIED_FAILURE, RETRY),
    "3": (outcomes.UNSPECIFIED_FAILURE, DO_NOT_RETRY),
    "4": (outcomes.SUSPECTED_FRAUD, DO_NOT_RETRY),
    "5": (outcomes.UNSPECIFIED_FAILURE, DO_NOT_RETRY),  # of payouts
}
_ANY_DECLINE = (outcomes.UNSPECIFIED_FAILURE, RETRY)

# `processing.recommendation_code`. 01 is about data that have changed, which no retry of ours has.
_ADVICE = {"02": RETRY, "03": DO_NOT_RETRY}
_NEVER_AGAIN = frozenset({outcomes.LOST_CARD.code, outcomes.STOLEN_CARD.code, outcomes.SUSPECTED_FRAUD.code})

_CODE = re.compile(r"[^0-9A-Za-z]")

# Errors of requests that were refused before they were processed, by `error_codes`.
_INVALID = replace(outcomes.UNSPECIFIED_FAILURE, gateway_code="", advice=DO_NOT_RETRY)
_UNKNOWN_REFUSAL = replace(outcomes.UNSPECIFIED_FAILURE, gateway_code="", advice=RETRY)
_REFUSALS: tuple[tuple[Outcome, str], ...] = (
    (replace(outcomes.EXPIRED_CARD, gateway_code=""), r"card_expired"),
    (
        replace(outcomes.DO_NOT_HONOUR, gateway_code="", advice=DO_NOT_RETRY),
        r"card_disabled|card_authorization_failed|card_not_found",
    ),
    (
        replace(outcomes.AUTHENTICATION_FAILED, gateway_code=""),
        r"3ds_malfunction|3ds_not_enabled_for_card|3ds_payment_required",
    ),
    (_INVALID, r"card_number_.*|card_expiry_.*|expiry_date_format_invalid|cvv_.*|card_holder_invalid"),
    (_INVALID, r"payment_method_not_supported|currency_.*|amount_.*"),
)
# Faults of our account or configuration there, which no other card or payer changes.
_BLOCKING = re.compile(
    r"business_.*|channel_.*|processing_channel_id_.*|success_url_required|3ds_not_configured|3ds_not_supported|3ds_version_.*"
    r"|no_authorization_enabled_processors_available|api_calls_quota_exceeded"
)


def outcome_of(code: str, *, recommendation: str = "") -> Outcome:
    """Return the outcome of a decline, with their code as the gateway code.

    `recommendation` is their recommendation code. Lost, stolen and fraud are never `retry`, whatever it says.
    """
    known = _BY_CODE.get(code) or _DECLINES_BY_DIGIT.get(code[:1], _ANY_DECLINE)
    outcome, advice = known if code else _ANY_DECLINE
    if outcome.code not in _NEVER_AGAIN:
        advice = _ADVICE.get(recommendation, advice)
    return replace(outcome, gateway_code=_CODE.sub("", code)[:LONGEST_CODE], advice=advice)


@lru_cache(maxsize=64)
def approved(code: str) -> Outcome:
    """Return the outcome of an approval, with their code as the gateway code."""
    return replace(outcomes.COMPLETED, gateway_code=_CODE.sub("", code)[:LONGEST_CODE])


def is_misconfiguration(code: str) -> bool:
    """Return whether a decline is about our account there, and not about the card."""
    return code in _OUR_ACCOUNT.split()


def outcome_of_refusal(error_codes: Iterable[str]) -> Outcome:
    """Return the outcome of a request that was refused before it was processed. There is no gateway code.

    >>> outcome_of_refusal(["card_expired"]).code, outcome_of_refusal(["something_new"]).advice
    ('20054', 'retry')
    """
    given = list(error_codes)
    for outcome, pattern in _REFUSALS:
        if any(re.fullmatch(pattern, each) for each in given):
            return outcome
    return _UNKNOWN_REFUSAL


def blocking(error_codes: Iterable[str]) -> list[str]:
    """Return the error codes that are about our account there.

    >>> blocking(["business_not_found", "card_expired"])
    ['business_not_found']
    """
    return [each for each in error_codes if _BLOCKING.fullmatch(each)]


def _expanded(codes: str) -> Iterator[str]:
    """Yield the codes of a line of the table.

    >>> list(_expanded("20001 200A4-200A6"))
    ['20001', '200A4', '200A5', '200A6']
    """
    for word in codes.split():
        first, _, last = word.partition("-")
        if not last:
            yield first
            continue
        stem = first.rstrip("0123456789")
        for number in range(int(first.removeprefix(stem)), int(last.removeprefix(stem)) + 1):
            yield f"{stem}{number}"


_BY_CODE = {code: (outcome, advice) for outcome, advice, codes in _DECLINES for code in _expanded(codes)}
