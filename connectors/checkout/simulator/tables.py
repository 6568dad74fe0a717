"""Response codes, test cards and test amounts of Checkout.com's sandbox, and the names of its events.

Sources: "API response codes" and "Test cards" of its documentation, as of July 2026.
"""

from typing import NamedTuple

APPROVED, PARTLY_APPROVED, PENDING = "10000", "10010", "20118"
APPROVALS = frozenset({"10000", "10008", "10010", "10011", "10076", "10077", "10081", "10100", "10200"})
NOT_AUTHENTICATED, NOT_COMPLETED, NO_3DS, SOFT_DECLINE = "20151", "20152", "20150", "20154"
WITHOUT_ISSUER = frozenset({NOT_AUTHENTICATED, NOT_COMPLETED, NO_3DS})
EXPIRED_CARD, OPERATION_REFUSED = "20054", "20006"

SUMMARIES = {
    "10000": "Approved",
    "10010": "Partial value approved",
    "20001": "Refer to card issuer",
    "20005": "Declined - Do not honour",
    "20006": "Error / Invalid request parameters",
    "20012": "Invalid transaction",
    "20014": "Invalid account number (no such number)",
    "20020": "Invalid response",
    "20046": "Bank decline",
    "20051": "Insufficient funds",
    "20054": "Expired card",
    "20057": "Transaction not permitted to cardholder",
    "20059": "Suspected fraud",
    "20061": "Activity amount limit exceeded",
    "20062": "Restricted card",
    "20063": "Security violation",
    "20068": "Response received too late / timeout",
    "20087": "Bad track data (invalid CVV and/or expiry date)",
    "20118": "Pending",
    "20150": "Card not 3D Secure (3DS) enabled",
    "20151": "Cardholder failed 3DS authentication",
    "20152": "Initial 3DS transaction not completed within 15 minutes",
    "20154": "3DS authentication required",
    "2005C": "Law violation",
    "2009G": "Blocked by cardholder/contact cardholder",
    "200N7": "Decline for CVV2 failure",
    "200R1": "Issuer initiated a stop payment (revocation order) for this authorization",
    "200R3": "Issuer initiated a stop payment (revocation order) for all authorizations",
    "30015": "No such issuer",
    "30033": "Expired card - Pick up",
    "30041": "Lost card - Pick up",
    "30043": "Stolen card - Pick up",
    "40101": "Risk blocked transaction",
}

CODE_OF_CARD = {
    "4544249167673670": "20051",
    "4111111111111129": "20001",
    "4024007103573027": "20012",
    "4485381577182090": "20014",
    "4151512736305999": "20057",
    "4897453568485113": "20059",
    "4556294593757189": "20061",
    "4818924250131070": "20062",
    "4556253752712245": "20063",
    "4095254802642505": "20068",
    "4000148147058142": "20020",
    "4500622868341387": "20154",
    "4276038578596818": "2005C",
    "4152812521833588": "2009G",
    "4734868958733862": "200N7",
    "4024007162185267": "30015",
    "4941202060999329": "30041",
    "4658620059821613": "30041",
    "4539253655711767": "30043",
    "4745820750643143": "30043",
}
CODE_UNLESS_CHECK = {"4546381219393284": "20051", "4857662623668665": "20062"}
CARDS_WITHOUT_CAPTURE = frozenset({"4273149019799094"})  # capture and void are declined
LOW_ON_FUNDS = ("4242424242424242", 101, "20051")

# What answers say about every card.
SOURCE = {
    "type": "card",
    "card_type": "Credit",
    "card_category": "Consumer",
    "issuer_country": "NG",
    "cvv_check": "Y",
}

# By amount, in currencies of two decimals. The page that lists them is old: a guess.
CODE_OF_AMOUNT = {9998: "20068", 4001: "40101", 2011: "200R1", 2013: "200R3"} | dict.fromkeys(
    range(6510, 6541), SOFT_DECLINE
)
CODE_OF_ENDING = {
    "05": "20005",
    "12": "20012",
    "14": "20014",
    "51": "20051",
    "54": "20087",
    "62": "20062",
    "63": "20063",
    "33": "30033",
}
RECOMMENDING_CARDS = frozenset({"4659105569051157", "5105105105105100"})  # with CVV 100
RECOMMENDATION_OF_AMOUNT = {8105: "01", 8205: "02", 8305: "03"}
CODE_WITH_RECOMMENDATION = "20020"

DISPUTED = ("4242424242424242", "1/2099", "100", 1040, "GBP")  # disputed within five minutes of the capture
DISPUTE_DELAY = 300  # seconds
# A trigger of the simulator only: a payment of such an amount is disputed after its capture.
DISPUTED_ENDING, SMALLEST_DISPUTED, DISPUTED_AFTER = 77, 10_000, 10.0


class Authentication(NamedTuple):
    """How a card behaves in 3-D Secure."""

    has_challenge: bool
    enrolled: str  # Y, N or U
    response: str  # Y authenticated, A attempted, N not authenticated, R rejected


CHALLENGE = Authentication(has_challenge=True, enrolled="Y", response="Y")
NOT_ENROLLED = Authentication(has_challenge=False, enrolled="N", response="")
UNSUPPORTED = Authentication(has_challenge=False, enrolled="U", response="")
AUTHENTICATION_OF_CARD = {
    "4485040371536584": Authentication(has_challenge=False, enrolled="Y", response="Y"),
    "5588686116426417": Authentication(has_challenge=False, enrolled="Y", response="Y"),
    "345678901234564": Authentication(has_challenge=False, enrolled="Y", response="Y"),
    "4539628347117863": Authentication(has_challenge=False, enrolled="Y", response="N"),
    "4275765574319271": Authentication(has_challenge=False, enrolled="Y", response="R"),
    "4152868552773614": Authentication(has_challenge=True, enrolled="Y", response="A"),
    "4150561000000019": Authentication(has_challenge=True, enrolled="Y", response="R"),
    "4243754271700719": Authentication(has_challenge=True, enrolled="Y", response="N"),
    "4484070000035519": NOT_ENROLLED,
    "4532432452900131": UNSUPPORTED,
}  # every other card: CHALLENGE
PASSWORD = "Checkout1!"  # noqa: S105  (of the sandbox's challenge page, published)

ZERO_DECIMALS = frozenset(
    {"BIF", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VUV", "VND", "XAF", "XOF", "XPF"}
)
THREE_DECIMALS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})
LARGEST_AMOUNT = 999_999_999  # minor units: at most nine digits

# The event of an approved and of a declined action, by the action's type.
EVENTS_OF_ACTION = {
    "Authorization": ("payment_approved", "payment_declined"),
    "Card Verification": ("card_verified", "card_verification_declined"),
    "Capture": ("payment_captured", "payment_capture_declined"),
    "Void": ("payment_voided", "payment_void_declined"),
    "Refund": ("payment_refunded", "payment_refund_declined"),
}
EVENT_OF_DISPUTE = {
    "evidence_required": "dispute_evidence_required",
    "evidence_under_review": "dispute_evidence_submitted",
    "resolved": "dispute_resolved",
    "won": "dispute_won",
    "lost": "dispute_lost",
    "canceled": "dispute_canceled",
    "expired": "dispute_expired",
    "accepted": "dispute_accepted",
    "arbitration_under_review": "dispute_arbitration_sent_to_scheme",
    "arbitration_won": "dispute_arbitration_won",
    "arbitration_lost": "dispute_arbitration_lost",
}

# What the scheme, the issuer and Checkout.com charge: the breakdown's type and detail, the fixed part in major units and
# the rate of the amount. The names follow the published samples; the numbers are ours.
FEES = {
    "Authorization": (("Gateway Fee", "Authorization Fixed Fee", "0.05", "0"),),
    "Card Verification": (("Gateway Fee", "Card Verification Fixed Fee", "0.05", "0"),),
    "Capture": (
        ("Interchange Fee", "Interchange", "0", "0.0115"),
        ("Scheme Variable Fee", "Scheme Assessment", "0", "0.00123457"),
        ("Scheme Fixed Fee", "Acquirer Network Fee", "0.01953694", "0"),
    ),
    "Refund": (("Gateway Fee", "Refund Fixed Fee", "0.10", "0"),),
    "Chargeback": (("Chargeback Fee", "Dispute Fee", "15", "0"),),
}


def decimals(currency: str) -> int:
    """Return the decimals that Checkout.com reads an amount with, which differ from ISO 4217 in a few currencies."""
    if currency in ZERO_DECIMALS:
        return 0
    return 3 if currency in THREE_DECIMALS else 2


def scheme(number: str) -> str:
    """Return the card scheme as Checkout.com writes it.

    >>> scheme("4242424242424242"), scheme("5105105105105100"), scheme("345678901234564")
    ('Visa', 'Mastercard', 'American Express')
    """
    if number.startswith("4"):
        return "Visa"
    return "American Express" if number.startswith(("34", "37")) else "Mastercard"


def is_disputed(captured: int) -> bool:
    """Return whether a captured amount asks for a dispute."""
    return captured >= SMALLEST_DISPUTED and captured % 100 == DISPUTED_ENDING
