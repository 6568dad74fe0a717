"""Serializers of requests, one for each kind of account."""

from collections.abc import Mapping
from typing import Any

from kit.api.strict_fields import (
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
    address_line1 = FreeText()
    address_line2 = FreeText(required=False, min_length=0)
    city = NotBlank(max_length=100)
    state = NotBlank(max_length=100)
    postal_code = NotBlank(max_length=20)
    country = Country()


class BankVerificationNumber(Text):
    """Eleven digits."""

    def __init__(self, **options: Any) -> None:
        super().__init__(pattern=r"[0-9]{11}", says="This field must have exactly 11 digits.", **options)


class AccountSerializer(RequestSerializer):
    """Fields of all kinds of account."""

    type = Choice(Type.values)
    account_type = Choice(AccountType.values, default=AccountType.INDIVIDUAL)
    reference = Reference()
    email = Email()
    currency = Currency()
    address = AddressSerializer()
    metadata = Metadata(required=False)
    elsewhere = EVERY_FIELD


class DynamicAccountSerializer(AccountSerializer):
    """A dynamic account. Fields that only static accounts need are accepted and ignored."""

    type = Choice([Type.DYNAMIC])
    account_type = Choice([AccountType.INDIVIDUAL], default=AccountType.INDIVIDUAL)
    first_name = Name(max_length=100)
    last_name = Name(max_length=100)
    middle_name = Ignored()
    phone_number = Ignored()
    dob = Ignored()
    gender = Ignored()
    bvn = Ignored()


class StaticAccountSerializer(AccountSerializer):
    type = Choice([Type.STATIC])
    account_type = Choice([AccountType.INDIVIDUAL], default=AccountType.INDIVIDUAL)
    first_name = Name(max_length=100)
    middle_name = Name(max_length=100)
    last_name = Name(max_length=100)
    phone_number = NotBlank(max_length=11)
    dob = PastDate()
    gender = Choice(["male", "female"])
    bvn = BankVerificationNumber()


class BusinessAccountSerializer(AccountSerializer):
    type = Choice([Type.STATIC])
    account_type = Choice([AccountType.BUSINESS])
    business_name = Name(max_length=200)
    phone_number = Text(pattern=r"[0-9]{1,11}", says="This field must have 1 to 11 digits.")
    bvn = BankVerificationNumber()
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
