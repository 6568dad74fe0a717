"""What Paystack publishes as tables: errors, test cards, gateway responses, fees, limits, banks.

A card's behaviour is a line of steps that the payer is asked for, and a result: a gateway response, `timeout`, or
`error`. A step may name the only right answer (`otp=123456`), and `pending` its seconds.
"""

from dataclasses import dataclass
from http import HTTPStatus

from kit import banks

BAD, NOT_FOUND, UNPROCESSABLE = HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY
FORBIDDEN, TOO_MANY = HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS
LOW_BALANCE = "Your balance is not enough to fulfil this request"
RESOLVES = (
    "Test mode daily limit of 3 live bank resolves exceeded. Use test bank codes 001 or upgrade to live mode."
)
REPEATED = "Please provide a unique reference. Reference already exists on a transfer"
REFUND_STATE = 'Invalid Refund state, refund status should be "needs-attention"'


@dataclass(frozen=True, slots=True)
class Error:
    """An answer that refuses a request. Without a code, it has only `status` and `message`, as older endpoints do."""

    status: int
    message: str
    code: str = ""


ERRORS = {  # wordings with [?] are ours
    "account_details": Error(BAD, "Account details are invalid", "invalid_account_details"),
    "account_limit": Error(BAD, "Maximum number of dedicated accounts reached"),  # [?]
    "account_missing": Error(NOT_FOUND, "Dedicated account not found"),  # [?]
    "account_repeated": Error(BAD, "Customer already has a dedicated account"),  # [?]
    "accounts_refused": Error(FORBIDDEN, "Dedicated NUBAN is not available for your business"),
    "amount": Error(BAD, "Invalid Amount Sent", "invalid_amount"),
    "amount_zero": Error(BAD, "You must specify a valid amount", "invalid_amount"),
    "bank": Error(BAD, "Bank is invalid", "invalid_bank_code"),
    "bvn": Error(BAD, "Invalid BVN"),
    "charge_missing": Error(BAD, "Transaction reference is invalid"),
    "charge_repeated": Error(BAD, "Duplicate charge request for reference", "duplicate_reference"),
    "currency": Error(BAD, "Currency not supported by merchant", "unsupported_currency"),  # [?]
    "customer_incomplete": Error(BAD, "Customer first name, last name and phone are required"),  # [?]
    "customer_missing": Error(NOT_FOUND, "Customer email is invalid for your live domain."),
    "customer_unidentified": Error(BAD, "Customer has not been identified"),  # [?]
    "date": Error(BAD, "Invalid date", "invalid_params"),  # [?]
    "dispute_amount": Error(BAD, "Refund amount cannot be greater than initial amount"),
    "dispute_missing": Error(NOT_FOUND, "Dispute not found"),
    "dispute_over": Error(BAD, "Dispute has been resolved"),  # [?]
    "email": Error(BAD, "Email Address is required", "missing_params"),
    "email_of_card": Error(BAD, "Email address is required for association with card"),
    "gateway": Error(HTTPStatus.INTERNAL_SERVER_ERROR, "An error occurred", "unknown"),
    "ip": Error(FORBIDDEN, "Your IP address is not allowed to make this call"),
    "key": Error(HTTPStatus.UNAUTHORIZED, "Invalid key", "invalid_Key"),
    "missing": Error(BAD, "Provide all required params", "missing_params"),
    "on_hold": Error(BAD, "Payouts are on hold for your business"),  # [?]
    "rate": Error(TOO_MANY, "Rate limit exceeded", "rate_limited"),
    "recipient": Error(BAD, "Recipient specified is invalid", "invalid_transfer_recipient"),
    "reference": Error(BAD, "Your reference contains illegal special characters", "invalid_params"),
    "refund_amount": Error(BAD, "Refund amount cannot be more than transaction amount"),  # [?]
    "refund_balance": Error(BAD, LOW_BALANCE, "insufficient_balance"),
    "refund_missing": Error(NOT_FOUND, "Refund not found"),
    "refund_open": Error(BAD, "Refund already exist for this transaction"),
    "refund_state": Error(UNPROCESSABLE, REFUND_STATE, "invalid_params"),
    "requery": Error(TOO_MANY, "You can only requery once every ten minutes"),  # [?]
    "resolve": Error(UNPROCESSABLE, "Could not resolve account name. Check parameters or try again."),
    "resolve_limit": Error(TOO_MANY, RESOLVES),
    "reversed": Error(BAD, "Transaction has been fully reversed", "transaction_reversed"),
    "route": Error(NOT_FOUND, "Cannot find the requested resource"),  # [?]
    "settlement_missing": Error(NOT_FOUND, "Settlement not found"),  # [?]
    "starter": Error(BAD, "You cannot initiate third party payouts as a starter business"),
    "transaction_id": Error(BAD, "Transaction ID should be numeric"),
    "transaction_missing": Error(NOT_FOUND, "Transaction reference not found.", "transaction_not_found"),
    "transaction_repeated": Error(BAD, "Duplicate Transaction Reference", "duplicate_reference"),
    "transfer_amount": Error(BAD, "Invalid amount passed", "invalid_amount"),
    "transfer_balance": Error(BAD, LOW_BALANCE, "insufficient_balance"),
    "transfer_missing": Error(NOT_FOUND, "Transfer not found", "transfer_not_found"),
    "transfer_repeated": Error(BAD, REPEATED, "duplicate_transfer_reference"),
}

TEST_CARDS = {  # number: CVV and behaviour [D1]; the last two from older lists
    "4084084084084081": ("408", "approved"),
    "507850785078507812": ("081", "pin=1111 approved"),
    "5060666666666666666": ("123", "pin=1234 otp=123456 approved"),
    "507850785078507804": ("884", "pin=0000 phone otp=123456 approved"),
    "4084080000000409": ("000", "open_url approved"),
    "4084080000005408": ("001", "declined"),
    "507850785078507853": ("082", "pin=0000 token_not_generated"),
    "4084080000670037": ("787", "insufficient_funds"),
    "5060660000000064": ("606", "timeout"),
    "506066506066506067": ("060", "error"),
}
REAL_CARD = {"test": "declined", "live": "approved"}  # test mode refuses real cards [M9]

GATEWAY = {  # gateway_response_code: gateway_response and response_code [D3, D10]
    "approved": ("Approved", "00"),
    "authentication_failed": ("Authentication failed", None),
    "bank_unavailable": ("Bank unavailable", "912"),
    "declined": ("Declined", "100"),
    "do_not_honor": ("Do not honour", "05"),
    "expired_card": ("Expired card", "54"),
    "format_error": ("Format error", "30"),
    "identification_required": ("Identification required", "46"),
    "insufficient_funds": ("Insufficient Funds", "51"),
    "invalid_cvv": ("Invalid CVV", "122"),
    "invalid_pin": ("Incorrect PIN", "55"),
    "issuer_or_switch_inoperative": ("Issuer or switch inoperative", "91"),
    "pickup_card": ("Pickup card", "04"),
    "pickup_lost_card": ("Pickup card (lost card)", "41"),
    "pickup_stolen_card": ("Pickup card (stolen card)", "43"),
    "pin_tries_exceeded": ("PIN tries exceeded", "75"),
    "processing": ("Processing", "09"),
    "restricted_card": ("Restricted card", "62"),
    "security_violation": ("Security violation", "63"),
    "suspected_fraud": ("Denied by fraud system", "59"),
    "token_not_generated": ("Token Not Generated", None),
    "transaction_timeout": ("Transaction timeout", "97"),
    "unknown": ("Unable to process transaction", None),
}
UNLISTED = {
    "authentication_failed",
    "session_timeout",
    "token_not_generated",
}  # have a text, and the code `unknown`

ASKS = {  # step: the charge's status, and the text shown to the payer (samples)
    "pin": ("send_pin", ""),
    "otp": ("send_otp", "Please send OTP"),
    "phone": ("send_phone", "Please send phone"),
    "birthday": ("send_birthday", "Please send your birthday"),
    "address": ("send_address", "Please send details for address verification"),
    "open_url": ("open_url", ""),
    "pending": ("pending", ""),
}
VERIFIED_AS = {  # a charge's status: the status that verify shows [D1]
    "initialized": "abandoned",
    "timeout": "failed",
    "pending_bank_transfer": "ongoing",
} | {status: "ongoing" for status, _ in ASKS.values() if status != "pending"}

MINIMUM, MINIMUM_BY_TRANSFER, MAXIMUM = 5_000, 10_000, 1_000_000_000  # kobo [D10]
MINIMUM_PAYOUT = 10_000  # kobo [help page, old]
RATES = {
    "test": {"": 100},
    "live": {"": 600, "/transaction/verify/{reference}": 3_000, "/transaction/initialize": 1_200},
}
RATE_WINDOW = 60  # seconds [M3]
TEST_RESOLVES = 3  # a day [measured]
TEST_BANK = "001"  # resolves without limit, and is not in /bank [measured]
ACCOUNT_LIMIT = 1_000  # [D9]
SESSION_SECONDS = (15 * 60, 8 * 3600)  # shortest and longest life of a one-time account [D1]
DISPUTE_SECONDS, REMINDER_SECONDS = 16 * 3600, 4 * 3600  # [H 360014290660]
# Triggers of the simulator only: a card payment of such an amount is disputed, and a line of the answer decides.
DISPUTED_ENDING, SMALLEST_DISPUTED = 77, 10_000
DISPUTED_AFTER, DECIDED_AFTER = 10.0, 60.0  # seconds
DECISIONS = {"win": "declined", "lose": "auto-accepted"}
OTP_SECONDS = 30 * 60  # until a transfer that waits for a one-time password is abandoned [D6]
REQUERY_SECONDS = 600  # [D9]
TRIES = 3  # wrong codes until a charge fails [?]

RETRIES = {  # seconds between deliveries of an event [D1, D12]
    "live": (180, 180, 180) + 72 * (3_600,),
    "test": 10 * (3_600,),
}

# Dedicated accounts: slug, name and id of the banks [O, D9].
HOSTS = {
    "test": {"test-bank": ("Test Bank", 24)},
    "live": {
        "wema-bank": ("Wema Bank", 20),
        "titan-paystack": ("Paystack-Titan", 629),
        "access-bank": ("Access Bank", 1),
    },
}
PEOPLE = ("Ada Obi", "Bola Ade", "Chidi Eze", "Dayo Bello", "Efe Okoro", "Funmi Ojo", "Gozie Udeh")

# Codes that are no number, have a leading zero, or repeat a name [M2: 284 codes, 10 not numeric].
UNUSUAL_BANKS = (
    ("MFB50094", "Astrapolaris MFB", True),
    ("035A", "ALAT by WEMA", True),
    ("D53", "Dot Microfinance Bank", True),
    ("09", "Gulf Bank of Lagos", True),
    ("801", "Abbey Mortgage Bank", True),
    ("99058", "Guaranty Trust Bank", False),  # inactive, with the name of an active one
)


@dataclass(frozen=True, slots=True)
class ListedBank:
    id: int
    name: str
    code: str
    nip_code: str
    is_active: bool


def _listed() -> dict[str, ListedBank]:
    rows = [(bank.code, bank.name, bank.nip_code, True) for bank in banks.all_banks()]
    known = {row[0] for row in rows}
    rows += [(code, name, "", active) for code, name, active in UNUSUAL_BANKS if code not in known]
    return {
        code: ListedBank(number, name, code, nip_code, is_active)
        for number, (code, name, nip_code, is_active) in enumerate(rows, start=1)
    }


BANKS = _listed()


def card_fee(amount: int) -> int:
    """Return 1.5 % and NGN 100, the latter from NGN 2,500 on, at most NGN 2,000, in kobo (public price list).

    >>> card_fee(25_000), card_fee(1_000_000), card_fee(100_000_000)
    (375, 25000, 200000)
    """
    return min(_rounded_up(amount * 15, 1_000) + (10_000 if amount >= 250_000 else 0), 200_000)  # noqa: PLR2004


def account_fee(amount: int) -> int:
    """Return 1 %, at most NGN 300, in kobo: the fee of money into a dedicated account [?, price list]."""
    return min(_rounded_up(amount, 100), 30_000)


def payout_fee(amount: int) -> int:
    """Return NGN 10 up to NGN 5,000, NGN 25 up to NGN 50,000, then NGN 50, in kobo [?, price list]."""
    return next(
        fee for limit, fee in ((500_000, 1_000), (5_000_000, 2_500), (amount, 5_000)) if amount <= limit
    )


def _rounded_up(value: int, divisor: int) -> int:
    return -(-value // divisor)
