"""Request serializers of payment links: creation, change, and the rules between their fields."""

from collections.abc import Mapping
from typing import Any, ClassVar

from kit.api.fields.field_errors import Errors, error
from kit.api.fields.strict_fields import (
    Amount,
    Choice,
    Currency,
    Email,
    Flag,
    Items,
    Lines,
    Moment,
    Name,
    NotBlank,
    Reference,
    RequestSerializer,
    Text,
    WholeNumber,
)
from payments.api.serializers import PAYMENT_METHODS, RedirectAddress
from payments.links.link_rules import (
    ASKED,
    MOST_CUSTOM_FIELDS,
    conditions_between_fields,
    conditions_on_amount,
    unique_keys,
)
from virtual_accounts.representation import VIRTUAL_ACCOUNT

FIXED = frozenset({"reference", "amount", "amount_range", "currency", "quantity_max", "customer", "slug"})


class Slug(Text):
    """The end of a link's address as chosen by the merchant."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            min_length=4,
            max_length=40,
            pattern=r"[a-z0-9]+(-[a-z0-9]+)*",
            says="This field must have 4 to 40 characters of a-z 0-9 -, with no hyphen first, last or twice.",
            **options,
        )


class AmountRangeSerializer(RequestSerializer):
    """The amounts that the payer may choose, minor units."""

    min = Amount(help_text="The smallest amount.", example=50_000)
    max = Amount(help_text="The largest amount.", example=5_000_000)
    suggested = Items(
        Amount(),
        required=False,
        maximum=4,
        is_set=True,
        help_text="Up to 4 amounts within the range that the page proposes.",
        example=[100_000, 250_000],
    )

    def _read_fields(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], Errors]:
        values, errors = super()._read_fields(data)
        if not errors and values["max"] < values["min"]:
            errors["max"] = error("This field must be at least `min`.", "too_small")
        elif not errors and not all(
            values["min"] <= one <= values["max"] for one in values.get("suggested", ())
        ):
            errors["suggested"] = error("Each suggested amount must lie within the range.", "invalid")
        return values, errors


class LinkCustomerSerializer(RequestSerializer):
    """The payer of a link with `max_uses: 1`."""

    reference = NotBlank(max_length=100, help_text="Your reference of the customer.", example="customer-7")
    email = Email()
    name = Name(required=False, help_text="Full name.", example="Ada Obi")


class CollectSerializer(RequestSerializer):
    """What payers are asked for: `required`, `optional` or `no`."""

    name = Choice(ASKED, required=False, help_text="Default `required`.", example="required")
    email = Choice(ASKED, required=False, help_text="Default `required`.", example="required")
    phone = Choice(ASKED, required=False, help_text="Default `no`.", example="optional")


class CustomFieldSerializer(RequestSerializer):
    """A question of yours."""

    key = Text(
        max_length=40,
        pattern=r"[a-z0-9_]{1,40}",
        says="This field must have 1 to 40 characters of a-z 0-9 _",
        help_text="The name of the answer. Unique within the link.",
        example="size",
    )
    label = Name(max_length=50, help_text="The question, as payers read it.", example="T-shirt size")  # type: ignore[assignment]
    required = Flag(help_text="Whether payers must answer.", example=True)  # type: ignore[assignment]


class LinkFieldsSerializer(RequestSerializer):
    """The fields that may change later."""

    description = Lines(
        required=False,
        max_length=500,
        help_text="Up to 500 characters. Line breaks are kept.",
        example="Two days in Yaba, material included.",
    )
    payment_methods = Items(
        Choice(PAYMENT_METHODS),
        required=False,
        minimum=1,
        maximum=2,
        is_set=True,
        help_text="`card`, `virtual_account`, in the order of the page. Default: both.",
        example=["card", "virtual_account"],
    )
    payment_method_id = Text(
        required=False,
        max_length=100,
        help_text="The `id` of one of your active dynamic virtual accounts. Default: an account for links, which "
        "is created when it is first needed.",
        example=VIRTUAL_ACCOUNT["id"].example,
    )
    transfer_window = WholeNumber(
        required=False,
        minimum=600,
        maximum=86_400,
        help_text="Seconds that an account number accepts a payer's transfer. Default 1800; at most 3600 with "
        "`max_uses`.",
        example=1_800,
    )
    max_uses = WholeNumber(
        required=False,
        minimum=1,
        maximum=1_000_000,
        help_text="How many payments may succeed. Default: no limit.",
        example=20,
    )
    expires_at = Moment(
        required=False,
        help_text="The last moment at which a payment can be begun: 5 minutes to 5 years ahead. Default: never.",
        example="2030-05-02T08:00:00Z",
    )
    redirect_url = RedirectAddress(
        required=False,
        help_text="The page that the payer is sent to after success. Absolute, without credentials; https in "
        "production.",
        example="https://shop.example/thanks",
    )
    collect = CollectSerializer(required=False, help_text="What payers are asked for.")
    custom_fields = Items(
        CustomFieldSerializer(),
        required=False,
        maximum=MOST_CUSTOM_FIELDS,
        help_text=f"Up to {MOST_CUSTOM_FIELDS} questions of yours. Answers have up to 200 characters.",
        example=[{"key": "size", "label": "T-shirt size", "required": True}],
    )
    success_message = Lines(
        required=False, max_length=300, help_text="Plain text for the receipt.", example="See you in May!"
    )
    support_contact = Name(
        required=False,
        max_length=100,
        help_text="Plain text for every page of the link.",
        example="help@ada.example",
    )


class LinkSerializer(LinkFieldsSerializer):
    """Create a payment link."""

    reference = Reference(
        help_text="Your unique reference of the link, and its idempotency key.", example="workshop-may"
    )
    amount = Amount(
        required=False,
        help_text="Minor units, for one unit. Either this or `amount_range` is required.",
        example=1_500_000,
    )
    amount_range = AmountRangeSerializer(required=False, help_text="The payer chooses the amount.")
    currency = Currency()
    quantity_max = WholeNumber(
        required=False,
        minimum=1,
        maximum=100,
        help_text="The payer chooses 1 to this many units. Only with `amount`. Default 1.",
        example=4,
    )
    customer = LinkCustomerSerializer(
        required=False, help_text="Who pays. Only with `max_uses: 1`; the payer isn't asked for it."
    )
    slug = Slug(
        required=False,
        help_text="The end of the address, unique in the installation. Not with `max_uses: 1`. Default: 12 "
        "random characters.",
        example="bookbinding",
    )
    conditions: ClassVar[Any] = {
        "if": {"not": {"required": ["amount"]}},
        "then": {"required": ["amount_range"]},
        "else": {"properties": {"amount_range": False}},
    }

    def get_fields(self) -> Any:
        # A class attribute `title` would replace the serializer's title.
        fields = {"title": _title_field()}
        return fields | super().get_fields()

    def _read_fields(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], Errors]:
        values, errors = super()._read_fields(data)
        return values, conditions_on_amount(values, given=data) | conditions_between_fields(values) | errors


class LinkChangeSerializer(LinkFieldsSerializer):
    """Change a payment link. `null` removes an optional field."""

    elsewhere = FIXED

    def get_fields(self) -> Any:
        title = _title_field()
        title.required = False
        removable = super().get_fields()
        for field in removable.values():
            field.allow_null = True
        return {"title": title} | removable

    def _read_fields(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], Errors]:
        values, errors = super()._read_fields(data)
        return values, unique_keys(values) | errors


def _title_field() -> Name:
    return Name(
        max_length=80,
        help_text="What is paid for. One line, 1 to 80 characters.",
        example="Bookbinding workshop",
    )
