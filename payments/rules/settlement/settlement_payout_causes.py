"""Why a settlement payout failed or came back, and whether another attempt can succeed.

>>> is_terminal("07", ""), is_terminal("91", ""), is_terminal("", "Account closed")
(True, False, True)
>>> described("08"), described("")
('the bank has another name for the account', 'the bank refused it')
"""

import re

from payments.rules.outcomes import DO_NOT_RETRY, payout_failure

# NIP response codes.
_DESCRIBED = {
    "06": "the account is dormant",
    "07": "the account is invalid or closed",
    "08": "the bank has another name for the account",
    "16": "the bank is unknown",
    "34": "the bank suspects fraud",
    "51": "our account at the bank has too little money",
    "57": "the account may not receive it",
    "61": "the amount is over the bank's limit",
    "91": "the bank is unavailable",
}
# Of returns, banks send words instead of a code.
_TERMINAL_WORDS = re.compile(
    r"clos|dormant|inactive|invalid|unknown|mismatch|wrong|no such|not exist|not found|differ", re.IGNORECASE
)


def is_terminal(gateway_code: str, words: str) -> bool:
    """Return whether the account must be changed or repaired first."""
    if gateway_code:
        return payout_failure(gateway_code).advice == DO_NOT_RETRY
    return bool(_TERMINAL_WORDS.search(words))


def described(gateway_code: str) -> str:
    """Return the cause of a failure in words that follow a colon."""
    return _DESCRIBED.get(gateway_code, "the bank refused it")
