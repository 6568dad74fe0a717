"""Request serializers, one for each kind of request."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from kit import banks
from kit.api.field_errors import Errors, error
from kit.api.strict_fields import (
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
from kit.masking import LENGTHS as CARD_NUMBER_LENGTHS
from kit.masking import mask_card_numbers, passes_luhn
from payments.cards import Card, CardSecret, brand_of
from payments.rails.protocol import ThreeDSecure

# The fields of all kinds of requests. Each serializer rejects fields of other kinds with their own error.
EVERY_FIELD = frozenset(
    {
        "request_type", "reference", "amount", "currency", "payment_method", "payment_method_id",
        "expiry_duration", "source", "customer", "3ds", "redirect_url", "narration", "payment_ip",
        "authorization_type", "capture", "metadata",
    }
)  # fmt: skip
SESSION_AT_MOST = 365 * 24 * 3600  # seconds
REQUEST_TYPES = ("payment", "payout", "card_check")
PAYMENT_METHODS = ("card", "virtual_account")
CHALLENGE_PREFERENCES = ("challenge_mandated", "challenge_preferred", "no_preference", "no_challenge")


class CardNumber(Text):
    """A card number: 12 to 19 digits with a valid Luhn check digit. Spaces are removed."""

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

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=10, **options)

    def to_internal_value(self, data: Any) -> str:
        bank = banks.find(super().to_internal_value(data))
        if bank is None:
            self.refuse("This field must be a code listed by GET /api/banks.", "unknown_bank")
        return bank.code


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
    address_line1 = Text(required=False, min_length=0)
    address_line2 = Text(required=False, min_length=0)
    city = Text(required=False, min_length=0, max_length=100)
    state = Text(required=False, min_length=0, max_length=100)
    postal_code = Text(required=False, min_length=0, max_length=20)
    country = Country(required=False)


class SourceSerializer(RequestSerializer):
    """A card. The value is a `Card`, which protects the number from logs and storage."""

    type = Choice(["card"])
    pan = CardNumber()
    name = Name(max_length=100)
    expiry_month = Text(pattern=r"0[1-9]|1[0-2]", says="This field must be 01 to 12.")
    expiry_year = Text(pattern=r"[0-9]{4}", says="This field must have four digits.")
    cvv = Text(pattern=r"[0-9]{3,4}", says="This field must have 3 or 4 digits.")
    billing_address = BillingAddressSerializer(required=False)

    def to_internal_value(self, data: Any) -> Card:
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
    """A card to check. Its type is case-insensitive, and it has no billing address."""

    type = Choice(["card"], any_case=True)
    billing_address = None  # type: ignore[assignment]
    elsewhere = frozenset({"billing_address"})


class PayerSerializer(RequestSerializer):
    """The customer of a payment."""

    reference = NotBlank(required=False, max_length=100)
    name = Name(required=False)
    email = Email(required=False)
    elsewhere = frozenset({"account_number", "bank_code"})

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        return required_together(data, "reference", "email", when=("reference", "email", "name"))


class BeneficiarySerializer(RequestSerializer):
    """The customer of a payout."""

    name = Name()
    account_number = AccountNumber()
    bank_code = BankCode()
    reference = NotBlank(required=False, max_length=100)
    email = Email(required=False)


class ThreeDSecureSerializer(RequestSerializer):
    enabled = Flag(required=False)
    challenge_preference = Choice(CHALLENGE_PREFERENCES, required=False)

    def to_internal_value(self, data: Any) -> ThreeDSecure:
        return ThreeDSecure(**super().to_internal_value(data))


class PaymentReference(Reference):
    """A reference of a payment, payout or card check. Prefixes of generated references are reserved."""

    RESERVED_PREFIXES = ("va_", "chk_", "pl_", "return_")

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

    reference = PaymentReference()
    amount = Amount()
    currency = Currency()
    narration = FreeText(required=False, min_length=0)
    payment_ip = IPAddress(required=False)
    authorization_type = Choice(["regular"], required=False)
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
    request_type = Choice(["payment"])
    payment_method = Choice(["card"])
    source = SourceSerializer()  # type: ignore[assignment]
    customer = PayerSerializer(required=False)
    three_ds = ThreeDSecureSerializer(required=False)
    redirect_url = RedirectAddress()
    capture = Flag(default=True)
    elsewhere = EVERY_FIELD

    def get_fields(self) -> Any:
        fields = super().get_fields()
        # "3ds" is not a valid Python name.
        fields["3ds"] = fields.pop("three_ds")
        fields["3ds"].source = "three_ds"
        return fields


class VirtualAccountPaymentSerializer(OrderSerializer):
    request_type = Choice(["payment"])
    payment_method = Choice(["virtual_account"])
    payment_method_id = Text(max_length=100)
    expiry_duration = WholeNumber(minimum=60, maximum=SESSION_AT_MOST)
    customer = PayerSerializer(required=False)
    elsewhere = EVERY_FIELD


class PayoutSerializer(OrderSerializer):
    request_type = Choice(["payout"])
    customer = BeneficiarySerializer()
    elsewhere = EVERY_FIELD

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        """Reject a currency that the beneficiary's bank doesn't accept."""
        customer, currency = data.get("customer"), data.get("currency")
        code = customer.get("bank_code") if isinstance(customer, Mapping) else None
        bank = banks.find(code) if isinstance(code, str) else None
        if bank is None or not isinstance(currency, str) or currency == bank.currency:
            return {}
        return {
            "currency": error(f"This bank takes payouts in {bank.currency} only.", "unsupported_currency")
        }


class CardCheckSerializer(RequestSerializer):
    request_type = Choice(["card_check"])
    reference = PaymentReference(required=False)
    amount = WholeNumber(default=0, minimum=0, maximum=0)
    currency = Currency()
    source = CheckedSourceSerializer()  # type: ignore[assignment]
    metadata = Metadata(required=False)
    elsewhere = EVERY_FIELD


class CaptureSerializer(RequestSerializer):
    amount = Amount(required=False)


class VoidSerializer(RequestSerializer):
    """A void has no fields."""


class CancelSerializer(RequestSerializer):
    """A cancellation has no fields."""


class DestinationSerializer(RequestSerializer):
    """The bank account to return money to."""

    name = Name()
    account_number = AccountNumber()
    bank_code = BankCode()


class RefundSerializer(RequestSerializer):
    reference = Reference()
    amount = Amount(required=False)
    reason = FreeText(required=False, min_length=0)
    destination = DestinationSerializer(required=False)


class DecisionReason(FreeText):
    """The reason of a decision. Must not be blank."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not value.strip():
            self.refuse("This field may not be blank.")
        return value


class CreditUnappliedSerializer(RequestSerializer):
    reason = DecisionReason()


class ReturnUnappliedSerializer(RequestSerializer):
    reason = DecisionReason()
    destination = DestinationSerializer(required=False)


class ResolveBeneficiarySerializer(RequestSerializer):
    """The account of a name enquiry."""

    account_number = AccountNumber()
    bank_code = BankCode()


class AdvanceSerializer(RequestSerializer):
    """The transaction to advance in the sandbox."""

    payment = Reference()


class DeactivateSerializer(RequestSerializer):
    """A deactivation has no fields."""


class SimulateSerializer(RequestSerializer):
    account_number = AccountNumber()
    amount = Amount()
    sender_name = SenderName(required=False)
    sender_account_number = AccountNumber(required=False)
    sender_bank_code = SenderBankCode(required=False)

    def unmet_conditions(self, data: Mapping[str, Any]) -> Errors:
        names = ("sender_account_number", "sender_bank_code")
        return required_together(data, *names, when=names)
