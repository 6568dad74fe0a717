"""Request serializers, one for each kind of request."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

from django.conf import settings

from kit import banks
from kit.api.fields.field_errors import Errors, error
from kit.api.fields.strict_fields import (
    REQUIRED,
    UUID,
    AccountNumber,
    Amount,
    Choice,
    Country,
    Currency,
    Email,
    Flag,
    FreeText,
    Ignored,
    IPAddress,
    Metadata,
    Name,
    NotBlank,
    Reference,
    RequestSerializer,
    Text,
    WebAddress,
    WholeNumber,
    required_together,
)
from kit.text.masking import LENGTHS as CARD_NUMBER_LENGTHS
from kit.text.masking import mask_card_numbers, passes_luhn
from payments.models import Transaction
from payments.rails.protocol import ThreeDSecure
from payments.rules.cards import Card, CardSecret, brand_of
from virtual_accounts.representation import VIRTUAL_ACCOUNT

# The fields of all kinds of requests. Each serializer rejects fields of other kinds with their own error.
EVERY_FIELD = frozenset(
    {
        "request_type", "reference", "amount", "currency", "payment_method", "payment_method_id",
        "expiry_duration", "source", "customer", "3ds", "redirect_url", "narration", "payment_ip",
        "authorization_type", "capture", "metadata", "purpose",
    }
)  # fmt: skip
SESSION_AT_LEAST = 60  # seconds
SESSION_AT_MOST = 365 * 24 * 3600  # seconds
REQUEST_TYPES = ("payment", "payout", "card_check")
PAYMENT_METHODS = ("card", "virtual_account")
REQUEST_TYPE = "The kind of request. Determines which fields the request has."
PAYMENT_METHOD = "How the payer pays."
HOLDER = "Full name of the account's holder."
PURPOSES = tuple(Transaction.Purpose.values)
CHALLENGE_PREFERENCES = ("challenge_mandated", "challenge_preferred", "no_preference", "no_challenge")


class CardNumber(Text):
    """A card number: 12 to 19 digits with a valid Luhn check digit. Spaces are removed."""

    MEANING = "Card number: 12 to 19 digits that pass the Luhn check. Spaces are ignored."
    EXAMPLE = "4084084084084081"
    SCHEMA: ClassVar[Any] = {"pattern": "^ *([0-9] *){12,19}$"}

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=40, **options)

    def to_internal_value(self, data: Any) -> str:
        number: str = super().to_internal_value(data).replace(" ", "")
        digits = number.isascii() and number.isdecimal()
        if not digits or len(number) not in CARD_NUMBER_LENGTHS or not passes_luhn(number):
            self.refuse("This field must be a card number.", "invalid_card_number")
        return number


class RedirectAddress(WebAddress):
    """The URL that the payer is redirected to. The sandbox also allows http."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not settings.SANDBOX and not value.startswith("https:"):
            self.refuse("This field must be an absolute https address.")
        return value


class SenderName(Name):
    """The sender of a simulated transfer, truncated to the column."""

    KEPT = 100

    def to_internal_value(self, data: Any) -> str:
        # Mask before truncating, because part of a card number isn't recognised.
        return mask_card_numbers(" ".join(super().to_internal_value(data).split()))[: self.KEPT]


class BankCode(Text):
    """The code or NIP code of a listed bank. The value is the bank's `code`."""

    MEANING, EXAMPLE = "`code` or `nip_code` of a bank listed by GET /api/banks.", "058"

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=10, **options)

    def to_internal_value(self, data: Any) -> str:
        bank = banks.find(super().to_internal_value(data))
        if bank is None:
            self.refuse("This field must be a code listed by GET /api/banks.", "unknown_bank")
        return bank.code

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[0-9]{3,6}$", "maxLength": 6}  # as every listed code


class SenderBankCode(Text):
    """The bank code of a transfer's sender: the code of a listed bank, or any other code."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            pattern="[0-9A-Za-z]{1,10}", says="This field must have 1 to 10 digits or letters.", **options
        )

    def to_internal_value(self, data: Any) -> str:
        code: str = super().to_internal_value(data)
        bank = banks.find(code)
        return bank.code if bank else code


class BillingAddressSerializer(RequestSerializer):
    """The cardholder's billing address."""

    address_line1 = Text(required=False, min_length=0, help_text="Street and number.", example="12 Marina")
    address_line2 = Text(required=False, min_length=0, help_text="Flat, floor, building.", example="Flat 3")
    city = Text(required=False, min_length=0, max_length=100, help_text="City.", example="Lagos")
    state = Text(required=False, min_length=0, max_length=100, help_text="State or region.", example="Lagos")
    postal_code = Text(
        required=False, min_length=0, max_length=20, help_text="Postal code.", example="101241"
    )
    country = Country(required=False)


class SourceSerializer(RequestSerializer):
    """Responses never contain its number or CVV."""

    type = Choice(["card"], help_text="Always `card`.", example="card")
    pan = CardNumber()
    name = Name(max_length=100, help_text="Cardholder's name.", example="Ada Obi")
    expiry_month = Text(
        pattern=r"0[1-9]|1[0-2]",
        says="This field must be 01 to 12.",
        help_text="Two digits, 01 to 12.",
        example="12",
    )
    expiry_year = Text(
        pattern=r"[0-9]{4}",
        says="This field must have four digits.",
        help_text="Four digits. An expired card is declined with 20054, not rejected as invalid.",
        example="2035",
    )
    cvv = Text(
        pattern=r"[0-9]{3,4}",
        says="This field must have 3 or 4 digits.",
        help_text="3 or 4 digits. Used once, never stored.",
        example="408",
    )
    billing_address = BillingAddressSerializer(required=False, help_text="The cardholder's address.")

    def to_internal_value(self, data: Any) -> Card:
        """Return a `Card`, which protects the number from logs and storage."""
        values = super().to_internal_value(data)
        number = values["pan"]
        return Card(
            secret=CardSecret(number=number, cvv=values["cvv"]),
            brand=brand_of(number),
            bin=number[:6],
            last4=number[-4:],
            name=values["name"],
            expiry_month=values["expiry_month"],
            expiry_year=values["expiry_year"],
            billing_address=values.get("billing_address", {}),
        )


class CheckedSourceSerializer(SourceSerializer):
    """Responses never contain its number or CVV."""

    type = Choice(["card"], any_case=True, help_text="Always `card`, in any case.", example="CARD")
    billing_address = None  # type: ignore[assignment]
    elsewhere = frozenset({"billing_address"})


class PayerSerializer(RequestSerializer):
    """If you send any of these fields, `reference` and `email` are required."""

    reference = NotBlank(
        required=False,
        max_length=100,
        help_text="Your reference of the customer. Required with `name` or `email`.",
        example="customer-7",
    )
    name = Name(required=False, help_text="Full name.", example="Ada Obi")
    email = Email(required=False, help_text="Required with `reference` or `name`.")
    elsewhere = frozenset({"account_number", "bank_code"})
    conditions: ClassVar[Any] = {
        "dependentRequired": {"reference": ["email"], "email": ["reference"], "name": ["reference", "email"]}
    }

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        return required_together(data, "reference", "email", when=("reference", "email", "name"))


ACCOUNT_FIELDS = ("name", "account_number", "bank_code")


class BeneficiarySerializer(RequestSerializer):
    """The recipient of the payout: an account with the name of its holder, or a saved beneficiary."""

    name = Name(required=False, help_text=f"{HOLDER} Required without `beneficiary`.", example="Ada Obi")
    account_number = AccountNumber(
        required=False, help_text="Exactly 10 digits. Required without `beneficiary`."
    )
    bank_code = BankCode(
        required=False,
        help_text="`code` or `nip_code` of a bank listed by GET /api/banks. Required without `beneficiary`.",
    )
    beneficiary = Reference(
        required=False,
        help_text="The reference of a saved beneficiary, instead of its name, account number and bank code.",
        example="kano-dye-works",
    )
    reference = NotBlank(
        required=False, max_length=100, help_text="Your reference of the customer.", example="customer-7"
    )
    email = Email(required=False)
    conditions: ClassVar[Any] = {
        "if": {"required": ["beneficiary"]},
        "then": {"properties": dict.fromkeys(ACCOUNT_FIELDS, False)},
        "else": {"required": list(ACCOUNT_FIELDS)},
    }

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        if "beneficiary" in data:
            message = "This field is not allowed beside beneficiary."
            return {name: error(message, "not_allowed_here") for name in ACCOUNT_FIELDS if name in data}
        return {name: error(REQUIRED, "required") for name in ACCOUNT_FIELDS if name not in data}


class ThreeDSecureSerializer(RequestSerializer):
    """Options for 3-D Secure."""

    enabled = Flag(required=False, help_text="`true` requests 3-D Secure. Default `false`.", example=True)
    challenge_preference = Choice(
        CHALLENGE_PREFERENCES,
        required=False,
        help_text="`no_challenge` requests the frictionless flow; every other value challenges the payer.",
        example="challenge_mandated",
    )

    def to_internal_value(self, data: Any) -> ThreeDSecure:
        return ThreeDSecure(**super().to_internal_value(data))


class PaymentReference(Reference):
    """A reference of a payment, payout or card check. Prefixes of generated references are reserved."""

    RESERVED_PREFIXES = ("va_", "chk_", "pl_", "return_", "settlement_")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.pattern = f"(?!{'|'.join(self.RESERVED_PREFIXES)}){self.pattern}"

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if value.startswith(self.RESERVED_PREFIXES):
            *others, last = self.RESERVED_PREFIXES
            self.refuse(f"This field may not begin with {', '.join(others)} or {last}", "reserved_reference")
        return value


class OrderSerializer(RequestSerializer):
    """The common fields of payments and payouts."""

    reference = PaymentReference(
        help_text="Your unique reference of the transaction, and its idempotency key.", example="order-1042"
    )
    amount = Amount(
        help_text='Minor units. A whole number: `1000` and `1000.0`, not `10.5` or `"1000"`.', example=50_000
    )
    currency = Currency()
    narration = FreeText(required=False, min_length=0, help_text="Free text.", example="Two books")
    payment_ip = IPAddress(
        required=False,
        help_text="The payer's IPv4 or IPv6 address, for fraud scoring.",
        example="203.0.113.7",
    )
    authorization_type = Choice(
        ["regular"], required=False, help_text="Reserved for future use.", example="regular"
    )
    metadata = Metadata(required=False)


class UnknownKindSerializer(OrderSerializer):
    """A request with a missing or unknown request_type. Only the common fields are validated."""

    request_type = Choice(REQUEST_TYPES)
    elsewhere = EVERY_FIELD

    def get_fields(self) -> Any:
        fields = super().get_fields()
        return fields | {name: Ignored() for name in sorted(EVERY_FIELD - fields.keys())}


class UnknownMethodSerializer(UnknownKindSerializer):
    """A payment with a missing or unknown payment_method."""

    payment_method = Choice(PAYMENT_METHODS)
    customer = PayerSerializer(required=False)


class CardPaymentSerializer(OrderSerializer):
    """Take a payment from a card."""

    request_type = Choice(["payment"], help_text=REQUEST_TYPE)
    payment_method = Choice(["card"], help_text=PAYMENT_METHOD, example="card")
    source = SourceSerializer(help_text="The card.")  # type: ignore[assignment]
    customer = PayerSerializer(required=False, help_text="The payer.")
    three_ds = ThreeDSecureSerializer(required=False, help_text="Options for 3-D Secure.")
    redirect_url = RedirectAddress(
        help_text="The page that the payer returns to. Absolute, without credentials; https in production.",
        example="https://shop.example/back",
    )
    capture = Flag(
        default=True, help_text="`false` authorises without capturing. Default `true`.", example=True
    )
    elsewhere = EVERY_FIELD

    def get_fields(self) -> Any:
        fields = super().get_fields()
        # "3ds" is not a valid Python name.
        fields["3ds"] = fields.pop("three_ds")
        fields["3ds"].source = "three_ds"
        return fields


class VirtualAccountPaymentSerializer(OrderSerializer):
    """Take a payment by bank transfer."""

    request_type = Choice(["payment"], help_text=REQUEST_TYPE)
    payment_method = Choice(["virtual_account"], help_text=PAYMENT_METHOD, example="virtual_account")
    payment_method_id = Text(
        max_length=100,
        help_text="The `id` of one of your active virtual accounts.",
        example=VIRTUAL_ACCOUNT["id"].example,
    )
    expiry_duration = WholeNumber(
        minimum=SESSION_AT_LEAST,
        maximum=SESSION_AT_MOST,
        help_text="Seconds that the account number accepts the transfer.",
        example=900,
    )
    customer = PayerSerializer(required=False, help_text="The payer.")
    elsewhere = EVERY_FIELD


class PayoutSerializer(OrderSerializer):
    """Pay out to a bank account."""

    request_type = Choice(["payout"], help_text=REQUEST_TYPE)
    customer = BeneficiarySerializer(help_text="The beneficiary.")
    purpose = Choice(PURPOSES, required=False, help_text="What the payout is for.", example="salary")
    elsewhere = EVERY_FIELD

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        """Reject a currency that the beneficiary's bank doesn't accept."""
        customer = data.get("customer")
        code = customer.get("bank_code") if isinstance(customer, Mapping) else None
        return wrong_payout_currency(code, data.get("currency"))


def wrong_payout_currency(bank_code: Any, currency: Any) -> Errors:
    """Return the error of a currency that a bank isn't paid in. Values of the wrong type have errors of their own."""
    bank = banks.find(bank_code) if isinstance(bank_code, str) else None
    if bank is None or not isinstance(currency, str) or currency == bank.currency:
        return {}
    return {"currency": error(f"This bank takes payouts in {bank.currency} only.", "unsupported_currency")}


class CardCheckSerializer(RequestSerializer):
    """Check whether a card is valid. No money moves."""

    request_type = Choice(["card_check"], help_text=REQUEST_TYPE)
    reference = PaymentReference(
        required=False,
        help_text="Your unique reference of the check. Default: a generated one, `chk_…`.",
        example="check-77",
    )
    amount = WholeNumber(
        default=0, minimum=0, maximum=0, help_text="Omit it or send 0: no money moves.", example=0
    )
    currency = Currency()
    source = CheckedSourceSerializer(help_text="The card to check.")  # type: ignore[assignment]
    redirect_url = RedirectAddress(
        required=False,
        help_text="The page that the cardholder returns to if the issuer requires 3-D Secure. Without it, such a "
        "check fails.",
        example="https://shop.example/back",
    )
    metadata = Metadata(required=False)
    elsewhere = EVERY_FIELD


class CaptureSerializer(RequestSerializer):
    """Capture the authorised amount or part of it. The rest is released."""

    amount = Amount(
        required=False,
        help_text="Minor units, up to the authorised amount. Default: the full amount.",
        example=50_000,
    )


class VoidSerializer(RequestSerializer):
    """Has no fields: send an empty object or no body."""


class CancelSerializer(RequestSerializer):
    """Has no fields."""


class DestinationSerializer(RequestSerializer):
    """The bank account that money is returned to."""

    name = Name(help_text=HOLDER, example="Bisi Ojo")
    account_number = AccountNumber()
    bank_code = BankCode()


class RefundSerializer(RequestSerializer):
    """Refund a payment or part of it."""

    reference = Reference(
        help_text="Your unique reference of the refund, and its idempotency key.", example="refund-9"
    )
    amount = Amount(
        required=False,
        help_text="Minor units, up to the amount left. Default: everything left.",
        example=20_000,
    )
    reason = FreeText(required=False, min_length=0, help_text="Free text.", example="One book came back")
    destination = DestinationSerializer(
        required=False, help_text="Only for transfer payments whose sender's account is unknown."
    )


class DecisionReason(FreeText):
    """The reason of a decision. Must not be blank."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not value.strip():
            self.refuse("This field may not be blank.")
        return value


class CreditUnappliedSerializer(RequestSerializer):
    """Credit an unapplied transfer to your balance."""

    reason = DecisionReason(help_text="The reason. Stored with the decision.", example="Paid twice")


class ReturnUnappliedSerializer(RequestSerializer):
    """Return an unapplied transfer to its sender."""

    reason = DecisionReason(
        help_text="The reason. Stored with the decision and sent to the bank as the narration.",
        example="Paid twice",
    )
    destination = DestinationSerializer(
        required=False,
        help_text="The account to return it to. Required if the bank didn't name an account of the sender that "
        "payouts can reach; otherwise not allowed.",
    )


class ResolveBeneficiarySerializer(RequestSerializer):
    """The account to look up."""

    account_number = AccountNumber()
    bank_code = BankCode()


DAY_STATES = ("pending", "approved", "released", "rejected")
WATCH, REJECTED = "watch", "rejected"  # of a payment, and of a payout batch


class AdvancePaymentSerializer(RequestSerializer):
    """The payment to advance."""

    payment = Reference(
        help_text="Your reference of the payment, payout or card check, our id of it, or the id or case number of one of its disputes.",
        example="order-1047",
    )
    until = Choice(
        (WATCH,),
        required=False,
        help_text="`watch`: a card payment that its acquirer doesn't know fails now, and is watched. Repeat the call to look again.",
        example="watch",
    )


class AdvancePayoutBatchSerializer(RequestSerializer):
    """The payout batch to advance."""

    payout_batch = Reference(help_text="Your reference of the payout batch.", example="suppliers-48")
    until = Choice(
        (REJECTED,),
        required=False,
        help_text="`rejected`: another member rejects a batch that waits for approval, or a ready one, whose approval is then asked for first.",
        example="rejected",
    )


class AdvanceEventSerializer(RequestSerializer):
    """The event to advance."""

    event = UUID(
        help_text="The `event_id` of a waiting event.", example="5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11"
    )


class FirstSettlementAccountSerializer(RequestSerializer):
    """The account that becomes your settlement account at once, if you have none."""

    account_number = AccountNumber()
    bank_code = BankCode()


class AdvanceDaySerializer(RequestSerializer):
    """The state that your settlement batches of this day are moved to."""

    day = Choice(
        DAY_STATES,
        help_text="`released` credits your balance; payments of `rejected` batches join the next one.",
        example="released",
    )
    settlement_account = FirstSettlementAccountSerializer(
        required=False,
        help_text="With `released` only: your balance is paid out to your settlement account. If you have none, this one becomes it.",
    )


class AdvanceReserveSerializer(RequestSerializer):
    """The settlement whose reserve is returned."""

    reserve = UUID(
        help_text="The `id` of a released settlement with `reserved`.",
        example="01980a5e-9440-7c00-8000-000000000004",
    )


class AdvanceSerializer(RequestSerializer):
    """What to advance: exactly one of payment, payout_batch, event, day and reserve."""

    payment = Reference(required=False)
    payout_batch = Reference(required=False)
    until = Choice((WATCH, REJECTED), required=False)
    event = UUID(required=False)
    day = Choice(DAY_STATES, required=False)
    settlement_account = FirstSettlementAccountSerializer(required=False)
    reserve = UUID(required=False)

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        advances = {WATCH: "payment", REJECTED: "payout_batch"}
        if any(data.get("until") == until and name not in data for until, name in advances.items()):
            message = "A payment can be advanced until watch, and a payout batch until rejected."
            return {"until": error(message, "invalid")}
        if "settlement_account" in data and data.get("day") != "released":
            message = "Only released settlements are paid out to a settlement account."
            return {"settlement_account": error(message, "invalid")}
        names = ("payment", "payout_batch", "event", "day", "reserve")
        sent = [name for name in names if name in data]
        message = "Send exactly one of payment, payout_batch, event, day and reserve."
        if not sent:
            return {name: error(message, "required") for name in names}
        return {name: error(message, "invalid") for name in sent} if len(sent) > 1 else {}


class ResendTo(StrEnum):
    """Where an event is sent again."""

    ENDPOINT = "endpoint"
    LISTENERS = "listeners"  # of the sandbox
    BOTH = "both"


class ResendTarget(Choice):
    """One of `ResendTo`; in production, the endpoint only."""

    def __init__(self, **options: Any) -> None:
        super().__init__([each.value for each in ResendTo], **options)

    def to_internal_value(self, data: Any) -> ResendTo:
        target = ResendTo(super().to_internal_value(data))
        if not settings.SANDBOX and target is not ResendTo.ENDPOINT:
            self.refuse("This field must be endpoint: only the sandbox has listeners.", "invalid_choice")
        return target


class ResendSerializer(RequestSerializer):
    """Where to resend the event. Has no required fields."""

    to = ResendTarget(
        required=False,
        help_text="`endpoint`, your listeners, or both. In production only `endpoint`, which is also the default "
        "there; in the sandbox the default is `both`.",
        example="endpoint",
    )


class DeactivateSerializer(RequestSerializer):
    """Has no fields: send an empty object or no body."""


class SimulateSerializer(RequestSerializer):
    """The transfer that the bank would report."""

    account_number = AccountNumber(
        help_text="Of `virtual_account_details`, or of a static account.", example="1000000014"
    )
    amount = Amount(help_text="Minor units.", example=50_000)
    sender_name = SenderName(
        required=False, help_text="The sender's name. Default: a sandbox sender.", example="Ada Obi"
    )
    sender_account_number = AccountNumber(
        required=False,
        help_text="The sender's account, 10 digits, with `sender_bank_code`. Default: unknown.",
    )
    sender_bank_code = SenderBankCode(
        required=False,
        help_text="The sender's bank. A code that GET /api/banks doesn't list makes the sender unknown.",
        example="058",
    )
    conditions: ClassVar[Any] = {
        "dependentRequired": {
            "sender_account_number": ["sender_bank_code"],
            "sender_bank_code": ["sender_account_number"],
        }
    }

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        names = ("sender_account_number", "sender_bank_code")
        return required_together(data, *names, when=names)
