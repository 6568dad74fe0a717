"""The codes of errors of single fields (`errors[].code`), each with its meaning and advice.

`FieldCode` types every function that raises such an error, so mypy finds a code that the table lacks.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

FieldCode: TypeAlias = Literal[
    "required",
    "null",
    "invalid",
    "invalid_type",
    "invalid_choice",
    "invalid_length",
    "invalid_key",
    "invalid_card_number",
    "invalid_payment_method",
    "too_small",
    "amount_too_small",
    "too_large",
    "too_many_keys",
    "out_of_range",
    "duplicate",
    "repeated",
    "unknown_field",
    "unknown_bank",
    "unknown_beneficiary",
    "beneficiary_blocked",
    "not_allowed_here",
    "destination_required",
    "reserved_reference",
    "card_number_misplaced",
    "unsupported_currency",
    "no_price",
    "not_supported",
]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a code says about a field, and what to do. `message` of the error gives the exact rule."""

    meaning: str
    help: str


FIELD_CODES: dict[FieldCode, Explanation] = {
    "required": Explanation("The field is missing.", "Send it. `message` names the fields it is required with, if only those require it."),
    "null": Explanation("The field is `null`.", "Leave an optional field out instead."),
    "invalid": Explanation("The value has the right type, but breaks the field's rule.", "Compare the value with `message`, which states the rule."),
    "invalid_type": Explanation("The value has the wrong JSON type.", 'Send the type that `message` names: `1000` is a number, `"1000"` is a string.'),
    "invalid_choice": Explanation("The value is not one of those allowed.", "Use a value that `message` lists, in the same spelling."),
    "invalid_length": Explanation("The text is too short or too long, or the array has too few or too many items.", "Keep to the limits in `message`."),
    "invalid_key": Explanation("A key of `metadata` is empty, too long or has a forbidden character.", "Use keys of 1 to 40 characters."),
    "invalid_card_number": Explanation("The value is not a card number.", "Send 12 to 19 digits that pass the Luhn check. Ask the payer to check the number; the sandbox has test cards."),
    "invalid_payment_method": Explanation("The virtual account cannot receive payments.", "Use the `id` of one of your active virtual accounts, in its currency."),
    "too_small": Explanation("The number is below the minimum.", "Send at least the number in `message`. Amounts are in minor units: `250000` is NGN 2,500.00."),
    "amount_too_small": Explanation("The amount is below the business's smallest payment.", "Send at least the amount in `message`. An owner sets it in Settings as `Smallest payment (minimum)`."),
    "too_large": Explanation("The number is above the maximum.", "Send at most the number in `message`. Amounts are in minor units: `250000` is NGN 2,500.00."),
    "too_many_keys": Explanation("`metadata` has too many keys.", "Send at most 20 keys."),
    "out_of_range": Explanation("The time is too near or too far away.", "Choose a time in the range that `message` names."),
    "duplicate": Explanation("A value that must be unique occurs more than once in an array.", "Send each value once."),
    "repeated": Explanation("A query parameter was given more than once.", "Send each parameter once."),
    "unknown_field": Explanation("There is no field or parameter of this name.", "Remove it or correct its spelling. `suggestion` has the closest name, if one is close."),
    "unknown_beneficiary": Explanation("You have no beneficiary with this reference.", "Save it with `POST /api/beneficiaries`, or send the account itself."),
    "beneficiary_blocked": Explanation("The beneficiary is blocked, or another one with this account.", "Leave the payout out, or ask an owner or finance to lift the block in the dashboard."),
    "unknown_bank": Explanation("No listed bank has this code.", "Use the `code` or `nip_code` of a bank from `GET /api/banks`."),
    "not_allowed_here": Explanation("The field belongs to another kind of request.", "Remove it. `message` says what it is allowed with, if that depends on another field."),
    "destination_required": Explanation("The destination of the returned money is missing.", "Add `destination` with name, account_number and bank_code."),
    "reserved_reference": Explanation("The reference has a reserved prefix.", "Choose a reference that does not begin with a prefix that `message` lists."),
    "card_number_misplaced": Explanation("A field other than `source.pan` has a card number.", "Send the card number in `source.pan` only."),
    "unsupported_currency": Explanation("The currency is unknown, or not enabled for this request.", "Use an ISO 4217 code that is enabled for the business. A payout's currency must be the bank's."),
    "no_price": Explanation("There is no price for this currency.", "Use another currency, or ask your operator to agree a price for it."),
    "not_supported": Explanation("The connected acquirer or bank can never do this.", "Change what `message` names. `GET /api/capabilities` lists what can be done in each currency."),
}  # fmt: skip
