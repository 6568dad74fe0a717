"""Paystack's codes, texts and statuses, and what they mean for a payout. Texts are compared in lower case.

Answers have a code, or only a text if the endpoint is an older one. `type` and `nextStep` decide nothing: "Try again
later" accompanies definite errors too.
"""

# Codes and texts of errors ---------------------------------------------------------------------------

# Definite refusals: the beneficiary's account or the amount is invalid. No transfer was created.
REFUSED_CODES = frozenset(
    {"invalid_transfer_recipient", "invalid_bank_code", "invalid_account_details", "invalid_amount"}
)
REFUSED_TEXTS = (
    "recipient specified is invalid",
    "bank is invalid",
    "bank code is invalid",
    "account details are invalid",
    "account closed",
    "invalid amount",
)

LOW_BALANCE_CODES = frozenset({"insufficient_balance"})
LOW_BALANCE_TEXTS = ("balance is not enough",)

# Faults of the business, which only its owner can repair. Each text with what staff have to do.
BUSINESS_TEXTS = {
    "on hold": "Payouts are on hold at Paystack. Ask Paystack's support why.",
    "third party payouts": "Paystack allows no payouts for this business. Complete the business's registration there.",
}

# The transfer exists already, whatever it looks like: it is queried, and never refused.
DUPLICATE_CODES = frozenset({"duplicate_transfer_reference", "duplicate_reference"})
DUPLICATE_WORDS = ("already", "duplicate", "unique")  # any of them, beside "reference"

MISSING_CODES = frozenset({"transfer_not_found"})
MISSING_TEXTS = ("transfer not found",)

MISSING_TRANSACTION_CODES = frozenset({"transaction_not_found"})
MISSING_TRANSACTION_TEXTS = (
    "transaction reference not found",
    "transaction not found",
    "transaction reference is invalid",
)

INVALID_BANK_CODES = frozenset({"invalid_bank_code"})

# Accounts that Paystack opens ---------------------------------------------------------------------------

TO_ACCOUNT, TO_SESSION = "dedicated_nuban", "bank_transfer"  # channels of transactions
# Statuses of transactions that were paid: a refund follows a success.
PAID = frozenset({"success", "reversed", "reversal-pending"})
NEVER_ARRIVES = frozenset({"failed", "abandoned"})
BANKS_OF_ACCOUNTS = {"access-bank": "044", "wema-bank": "035"}  # CBN codes by slug
ACCOUNT_TEXTS = {
    "identified": "Paystack wants this business to have its customers identified (betting, financial and general services). "
    "Accounts for it aren't supported here.",
    "validated": "Paystack wants this business to have its customers identified (betting, financial and general services). "
    "Accounts for it aren't supported here.",
    "maximum number": "The limit of dedicated accounts is reached. Ask Paystack's support to raise it.",
}

# Statuses of a transfer ------------------------------------------------------------------------------

SUCCESS = "success"
FAILED = frozenset({"failed", "reversed"})
PENDING = frozenset({"pending", "received"})
WAITS_FOR_CODE = "otp"
# It has ended without success because of the business's own settings there.
FAILED_BY_SETTINGS = {
    "abandoned": "A transfer was abandoned, because Paystack asked for a one-time password. Turn off Settings → Preferences → "
    "Confirm transfers before sending.",
    "blocked": "A transfer was blocked, because the approval URL didn't answer. Check Settings → API Keys & Webhooks.",
    "rejected": "A transfer was rejected by the approval URL. Check Settings → API Keys & Webhooks.",
}

# Reasons of a block, for staff -----------------------------------------------------------------------

KEY_REFUSED = "Paystack refuses PAYSTACK_SECRET_KEY. Copy the secret key from Settings → API Keys & Webhooks."
FORBIDDEN = (
    "Paystack refuses calls from this server. Check the IP whitelist in Settings → API Keys & Webhooks."
)
LOW_BALANCE = "The balance at Paystack is too low. Top it up under Transfers."
ONE_TIME_CODES = (
    "Transfers wait for a one-time password. Turn off Settings → Preferences → Confirm transfers before sending, and "
    "confirm or abandon the waiting ones."
)
OTHER_INTEGRATION = "PAYSTACK_SECRET_KEY belongs to another integration than PAYSTACK_INTEGRATION."
OTHER_DOMAIN = (
    "Paystack answers for its other environment, test or live, than PAYSTACK_SECRET_KEY belongs to."
)


def is_refusal(code: str, message: str) -> bool:
    """Return whether an error is a definite refusal of a payout.

    >>> is_refusal("invalid_bank_code", ""), is_refusal("", "Account closed"), is_refusal("unknown", "Try again later")
    (True, True, False)
    """
    return code in REFUSED_CODES or _has_any(message, REFUSED_TEXTS)


def is_low_balance(code: str, message: str) -> bool:
    return code in LOW_BALANCE_CODES or _has_any(message, LOW_BALANCE_TEXTS)


def fault_of_business(message: str) -> str:
    """Return what staff have to do about a fault of the business, or an empty string."""
    return next((advice for text, advice in BUSINESS_TEXTS.items() if text in message.lower()), "")


def is_duplicate(code: str, message: str) -> bool:
    """Return whether an error says that a transfer with this reference exists.

    >>> is_duplicate("", "Please provide a unique reference. Reference already exists on a transfer")
    True
    >>> is_duplicate("invalid_params", "Your reference contains illegal special characters")
    False
    """
    return code in DUPLICATE_CODES or ("reference" in message.lower() and _has_any(message, DUPLICATE_WORDS))


def is_missing(code: str, message: str) -> bool:
    return code in MISSING_CODES or _has_any(message, MISSING_TEXTS)


def is_missing_transaction(code: str, message: str) -> bool:
    """Return whether an error says that there is no transaction with this reference.

    >>> is_missing_transaction("", "Transaction reference not found."), is_missing_transaction("", "Invalid key")
    (True, False)
    """
    return code in MISSING_TRANSACTION_CODES or _has_any(message, MISSING_TRANSACTION_TEXTS)


def is_open_refund(message: str) -> bool:
    """Return whether an error says that another refund of the transaction is open."""
    return "refund already exist" in message.lower()


def account_refusal(message: str) -> str:
    """Return what staff have to do about an account that isn't opened, or what Paystack says.

    >>> account_refusal("Maximum number of dedicated accounts reached")
    "The limit of dedicated accounts is reached. Ask Paystack's support to raise it."
    """
    found = (advice for text, advice in ACCOUNT_TEXTS.items() if text in message.lower())
    return next(found, f"Paystack refuses the account: {message}")


def _has_any(message: str, texts: tuple[str, ...]) -> bool:
    return any(text in message.lower() for text in texts)
