"""Outcomes of a transaction: the response codes and summaries that merchants see.

The table copies the interface document and contract 7 word for word. Where its codes differ from other
processors' (20083 is suspected fraud here), the document applies.

>>> NOT_SUFFICIENT_FUNDS.code, NOT_SUFFICIENT_FUNDS.summary, NOT_SUFFICIENT_FUNDS.advice
('20051', 'Declined - Not sufficient funds', 'retry')
"""

from dataclasses import dataclass, replace

RETRY = "retry"
DO_NOT_RETRY = "do_not_retry"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of the table: a response code, its summary, and the gateway's code and recommendation."""

    code: str
    summary: str
    gateway_code: str = ""
    advice: str = ""  # the gateway's recommendation: retry or do_not_retry

    @property
    def is_success(self) -> bool:
        return self.code == "10000"

    @property
    def is_pending(self) -> bool:
        return self.code == "10001"

    @property
    def is_failure(self) -> bool:
        return not self.is_success and not self.is_pending


COMPLETED = Outcome("10000", "Payment completed", "00")
PROCESSING = Outcome("10001", "Processing")

DO_NOT_HONOUR = Outcome("20005", "Declined - Do not honour", "05", RETRY)
UNSPECIFIED_FAILURE = Outcome("20030", "Declined - Unspecified failure", "30", RETRY)
LOST_CARD = Outcome("20041", "Declined - Lost Card", "41", DO_NOT_RETRY)
STOLEN_CARD = Outcome("20043", "Declined - Stolen Card, Pick up", "43", DO_NOT_RETRY)
NOT_SUFFICIENT_FUNDS = Outcome("20051", "Declined - Not sufficient funds", "51", RETRY)
EXPIRED_CARD = Outcome("20054", "Declined - Expired card", "54", DO_NOT_RETRY)
SUSPECTED_FRAUD = Outcome("20083", "Declined - Suspected fraud", "83", DO_NOT_RETRY)
# Not sent to the issuer; 63 is ISO 8583's security violation.
AUTHENTICATION_FAILED = Outcome("20151", "Declined - 3DS authentication failed", "63", RETRY)

# The answer was lost and the authorisation reversed; 68 is ISO 8583's "received too late".
REVERSED = replace(UNSPECIFIED_FAILURE, gateway_code="68")

# The acquirer has no record of the payment, or refuses our account. No issuer was asked, so there is no gateway code.
NOTHING_CHARGED = replace(UNSPECIFIED_FAILURE, gateway_code="")

# The issuer approved less than the amount; the authorisation was reversed.
PARTLY_APPROVED = Outcome("20013", "Declined - Approved in part only", "10", RETRY)

AUTHORISATION_EXPIRED = Outcome("20068", "Authorisation expired without capture")
VOIDED = Outcome("20090", "Payment voided")
CANCELLED = Outcome("20091", "Payment cancelled")  # before it was paid
PAYOUT_REJECTED = Outcome("20092", "Payout rejected")  # by the business's second person or server

# The merchant's own wallet, not the payer's account, so there is no gateway code.
WALLET_TOO_LOW = Outcome(NOT_SUFFICIENT_FUNDS.code, "Payment failed")
TRANSFER_EXPIRED = Outcome("20068", "Payment expired without receiving funds")
ACCOUNT_DEACTIVATED = Outcome("20030", UNSPECIFIED_FAILURE.summary)

CARD_DECLINES = (
    DO_NOT_HONOUR,
    UNSPECIFIED_FAILURE,
    LOST_CARD,
    STOLEN_CARD,
    NOT_SUFFICIENT_FUNDS,
    EXPIRED_CARD,
    SUSPECTED_FRAUD,
    AUTHENTICATION_FAILED,
)


MISMATCH_CODE = "20013"


def transfer_received(*, amount: int, currency: str, sender: str) -> Outcome:
    """Return the outcome of a transfer of the expected amount, in minor units.

    >>> transfer_received(amount=50_000, currency="NGN", sender="Ada Obi").summary
    'Payment of 50000 NGN received from Ada Obi'
    """
    return Outcome("10000", f"Payment of {amount} {currency} received from {sender}")


def amount_mismatch(*, expected: int, received: int, currency: str) -> Outcome:
    """Return the outcome of a transfer of an unexpected amount. Amounts are minor units.

    >>> amount_mismatch(expected=50_000, received=40_000, currency="NGN").summary
    'Amount mismatch: expected 50000 NGN but received 40000 NGN'
    """
    return Outcome(
        MISMATCH_CODE, f"Amount mismatch: expected {expected} {currency} but received {received} {currency}"
    )


def another_amount(*, expected: int, currency: str) -> Outcome:
    """Return the outcome of a transfer that the provider sent back, without saying how much it was.

    >>> another_amount(expected=50_000, currency="NGN").summary
    'Amount mismatch: expected 50000 NGN but received another amount'
    """
    return Outcome(
        MISMATCH_CODE, f"Amount mismatch: expected {expected} {currency} but received another amount"
    )


def payout_failure(gateway_code: str) -> Outcome:
    """Return the outcome of a failed payout with the bank's two-digit code.

    Without a code, for example when the bank returned the payout, there is no recommendation.

    >>> payout_failure("91").advice, payout_failure("07").advice, payout_failure("").advice
    ('retry', 'do_not_retry', '')
    """
    advice = _PAYOUT_ADVICE.get(gateway_code, RETRY) if gateway_code else ""
    return replace(_PAYOUT_FAILED, gateway_code=gateway_code, advice=advice)


_PAYOUT_FAILED = Outcome("20030", WALLET_TOO_LOW.summary)
# NIP codes about the beneficiary's account, which a retry won't change.
_PAYOUT_ADVICE = dict.fromkeys(("06", "07", "08", "16", "34", "57"), DO_NOT_RETRY)

_EXPLAINED = (
    COMPLETED,
    PROCESSING,
    *CARD_DECLINES,
    PARTLY_APPROVED,
    payout_failure("51"),
    AUTHORISATION_EXPIRED,
    TRANSFER_EXPIRED,
    amount_mismatch(expected=50_000, received=40_000, currency="NGN"),
    VOIDED,
    CANCELLED,
    PAYOUT_REJECTED,
)


def explained() -> tuple[Outcome, ...]:
    """Return every outcome that an answer or event can have. Some share a code."""
    return _EXPLAINED


def response_codes() -> list[str]:
    """Return the outcome codes. The list may grow."""
    return list(dict.fromkeys(outcome.code for outcome in _EXPLAINED))


def response_code_list() -> str:
    """Return the outcome codes and what they mean, in one sentence."""
    return "; ".join(f"`{outcome.code}` {outcome.summary}" for outcome in _EXPLAINED)
