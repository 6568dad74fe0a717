"""Serializers of requests, one for each kind of account."""

from collections.abc import Mapping
from typing import Any

from kit.api.fields.strict_fields import (
    Choice,
    Country,
    Currency,
    Email,
    FreeText,
    Ignored,
    Metadata,
    Name,
    NotBlank,
    PastDate,
    Reference,
    RequestSerializer,
    Text,
    read_request,
)
from merchants.models import Business
from virtual_accounts.models import VirtualAccount

Type, AccountType = VirtualAccount.Type, VirtualAccount.AccountType

# All fields of any kind of account. A kind reports the fields of other kinds with a specific error.
EVERY_FIELD = frozenset(
    {
        "type", "first_name", "last_name", "email", "currency", "account_type", "business_name", "reference",
        "address", "middle_name", "phone_number", "dob", "bvn", "gender", "metadata",
    }
)  # fmt: skip


class AddressSerializer(RequestSerializer):
    """The address where the holder lives or is registered."""

    address_line1 = FreeText(help_text="Street and number.", example="12 Marina")
    address_line2 = FreeText(
        required=False, min_length=0, help_text="Flat, floor, building.", example="Flat 3"
    )
    city = NotBlank(max_length=100, help_text="City.", example="Lagos")
    state = NotBlank(max_length=100, help_text="State or region.", example="Lagos")
    postal_code = NotBlank(max_length=20, help_text="Postal code.", example="101241")
    country = Country()


class BankVerificationNumber(Text):
    """Eleven digits."""

    MEANING = "Bank Verification Number: 11 digits. Stored encrypted and never returned."
    EXAMPLE = "22212345678"

    def __init__(self, **options: Any) -> None:
        super().__init__(pattern=r"[0-9]{11}", says="This field must have exactly 11 digits.", **options)


TYPE = "`static` or `dynamic`."
ACCOUNT_TYPE = "`individual` (the default) or `business`."


class AccountSerializer(RequestSerializer):
    """Fields of all kinds of account."""

    type = Choice(Type.values, help_text=TYPE)
    account_type = Choice(AccountType.values, default=AccountType.INDIVIDUAL, help_text=ACCOUNT_TYPE)
    reference = Reference(
        help_text="Your unique reference of the account, and its idempotency key.", example="customer-7"
    )
    email = Email()
    currency = Currency()
    address = AddressSerializer(required=False, help_text="Address. Optional for a dynamic account.")
    metadata = Metadata(required=False)
    elsewhere = EVERY_FIELD


def _individual() -> Choice:
    return Choice(
        [AccountType.INDIVIDUAL], default=AccountType.INDIVIDUAL, help_text=ACCOUNT_TYPE, example="individual"
    )


class DynamicAccountSerializer(AccountSerializer):
    """An account with a new number for each payment."""

    type = Choice([Type.DYNAMIC], help_text=TYPE, example="dynamic")
    account_type = _individual()
    first_name = Name(max_length=100, help_text="First name.", example="Ada")
    last_name = Name(max_length=100, help_text="Last name.", example="Obi")
    # Only static accounts need these.
    middle_name = Ignored()
    phone_number = Ignored()
    dob = Ignored()
    gender = Ignored()
    bvn = Ignored()


class StaticAccountSerializer(AccountSerializer):
    """An account with a permanent number for one customer."""

    type = Choice([Type.STATIC], help_text=TYPE, example="static")
    account_type = _individual()
    first_name = Name(max_length=100, help_text="First name.", example="Ada")
    middle_name = Name(max_length=100, help_text="Middle name.", example="Ngozi")
    last_name = Name(max_length=100, help_text="Last name.", example="Obi")
    phone_number = NotBlank(max_length=11, help_text="1 to 11 characters.", example="08012345678")
    dob = PastDate(help_text="Date of birth, YYYY-MM-DD; in the past.", example="1990-12-31")
    gender = Choice(["male", "female"], help_text="`male` or `female`.", example="female")
    bvn = BankVerificationNumber()
    address = AddressSerializer(help_text="Address.")


class BusinessAccountSerializer(AccountSerializer):
    """A business's static account."""

    type = Choice([Type.STATIC], help_text=TYPE, example="static")
    account_type = Choice([AccountType.BUSINESS], help_text=ACCOUNT_TYPE, example="business")
    business_name = Name(max_length=200, help_text="Approved name of the business.", example="Ada Books Ltd")
    phone_number = Text(
        pattern=r"[0-9]{1,11}",
        says="This field must have 1 to 11 digits.",
        help_text="At most 11 digits.",
        example="08012345678",
    )
    bvn = BankVerificationNumber()
    address = AddressSerializer(help_text="Address.")
    first_name = Ignored()
    middle_name = Ignored()
    last_name = Ignored()
    dob = Ignored()
    gender = Ignored()


class UnknownKindSerializer(AccountSerializer):
    """A request with an invalid type. Rules that depend on the type are not checked."""

    def get_fields(self) -> Any:
        fields = super().get_fields()
        return fields | {name: Ignored() for name in sorted(EVERY_FIELD - fields.keys())}


FORMS: dict[tuple[Any, Any], RequestSerializer] = {
    (Type.STATIC, AccountType.INDIVIDUAL): StaticAccountSerializer(),
    (Type.DYNAMIC, AccountType.INDIVIDUAL): DynamicAccountSerializer(),
    (Type.STATIC, AccountType.BUSINESS): BusinessAccountSerializer(),
    # No such account: the form says that a business's must be static.
    (Type.DYNAMIC, AccountType.BUSINESS): BusinessAccountSerializer(),
}
OF_NO_KIND = UnknownKindSerializer()


def read_account(data: Mapping[str, Any], *, business: Business) -> dict[str, Any]:
    """Validate a request for a new account with the serializer of its kind.

    :raises ValidationError: the request is invalid
    """
    kind = (data.get("type"), data.get("account_type", AccountType.INDIVIDUAL))
    is_known = all(isinstance(part, str) for part in kind)
    return read_request(
        FORMS.get(kind, OF_NO_KIND) if is_known else OF_NO_KIND, data, currencies=business.currencies
    )
