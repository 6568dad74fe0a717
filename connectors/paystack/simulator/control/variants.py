"""Behaviours that no published source decides. The first of each is the documented one, or our best guess."""

VARIANTS: dict[str, tuple[str, ...]] = {
    "answered_dispute": ("awaiting-bank-feedback", "pending"),  # its status until the bank decides
    "charge_of_initialized": (
        "refused",
        "continued",
    ),  # /charge with the reference of /transaction/initialize
    "charge_repeated": (
        "charge_repeated",
        "transaction_repeated",
    ),  # refusal of a used reference: see `tables.py`
    "charge_codes": ("everywhere", "not_in_charge", "nowhere"),  # gateway_response_code and response_code
    "declined_amount": ("kept", "replaced"),  # refund_amount, once a merchant has said `declined` and 0
    "declined_dispute": ("bank_decides", "resolved"),  # what a merchant's `declined` leads to
    "dispute_file": ("required", "optional"),  # uploaded_filename, when a dispute is resolved
    "event_fees": ("given", "null"),
    "expired_session": ("abandoned", "failed"),  # verify, after a one-time account has expired
    "failed_transfer_fee": ("returned", "kept"),
    "failure_events": ("none", "charge.failed"),
    "ids": ("small", "large"),  # large: above 2^53
    "needs_attention": ("needs-attention", "needs_attention"),  # spelling in answers; events have a hyphen
    "nip_member": ("nip_sort_code", "nip_code"),  # in /bank with include_nip_sort_code
    "open_refund": ("allows_another", "refuses_another"),
    "open_url_return": ("close", "callback"),  # where the payer lands after the bank's page
    "partial_refund": ("reversed", "success"),  # the transaction's status after a part was refunded
    "pending_refund": ("success", "reversal-pending"),  # its status while a refund is open
    "recipient_name": ("kept", "replaced"),  # name of a recipient that is created again
    "rejected_amount": ("sent", "expected"),  # amount of bank.transfer.rejected
    "rejected_session": ("failed", "ongoing"),  # verify, after an amount was rejected
    "resolve_limit": ("429", "400"),
    "second_account": ("same", "refused"),  # POST /dedicated_account again for a customer
    "session_numbers": ("fresh", "reused"),  # account numbers of ended sessions
    "settles_to": ("bank", "balance"),
    "transfer_repeated": ("400", "404", "without_code"),  # status of a duplicate reference; M2, M5, D6
    "unknown_transaction": ("404", "400"),  # status of verify
    "wrong_code": ("again", "failed"),  # a wrong PIN or OTP
}

SWITCHES = {
    "accounts_refused": "no dedicated accounts for this business (403)",
    "identification_required": "dedicated accounts only for identified customers",
    "ip_refused": "our address is not on the list of allowed addresses (403)",
    "is_down": "every connection is closed",
    "on_hold": "payouts are on hold",
    "otp": "transfers ask for a one-time password",
    "starter": "a business that may not pay out",
    "unlimited": "no limit of rates",
}


class UnknownChoice(ValueError):
    """There is no such variant, or no such value of it."""


def chosen(choices: dict[str, str]) -> dict[str, str]:
    """Return a value for each variant.

    :raises UnknownChoice: a name or a value is unknown
    """
    for name, value in choices.items():
        if value not in VARIANTS.get(name, ()):
            raise UnknownChoice(
                f"{name}={value} is unknown; {name} can be {', '.join(VARIANTS.get(name, ()))}"
            )
    return {name: values[0] for name, values in VARIANTS.items()} | choices
