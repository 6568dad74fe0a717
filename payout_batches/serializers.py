"""Request serializers and filters of payout batches."""

from typing import Any

from kit.api.fields.field_errors import InvalidFields, error
from kit.api.fields.strict_fields import (
    Amount,
    Choice,
    Currency,
    Flag,
    FreeText,
    Items,
    Metadata,
    Moment,
    NotBlank,
    Reference,
    RequestSerializer,
    StrictField,
)
from kit.api.filters import CreatedFrom, CreatedTo
from payments.api.serializers import PURPOSES, BeneficiarySerializer, PaymentReference, PayoutSerializer
from payout_batches.models import MOST_ITEMS, PayoutBatch

LONGEST_REFERENCE = 90  # so that -r1, -r2 … of retries fit
TOO_LONG = f"This field must have at most {LONGEST_REFERENCE} characters: retries add theirs."


class BatchReference(Reference):
    """A reference of a batch."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if len(value) > LONGEST_REFERENCE:
            self.refuse(TOO_LONG, "invalid_length")
        return value


class ItemReference(PaymentReference):
    """A reference of an item: a payout's."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if len(value) > LONGEST_REFERENCE:
            self.refuse(TOO_LONG, "invalid_length")
        return value


class BatchItemSerializer(RequestSerializer):
    """A payout of a batch."""

    reference = ItemReference(
        help_text="Your unique reference of the payout, up to 90 characters. Taken when the batch is stored.",
        example="wk48-01",
    )
    amount = Amount(help_text="Minor units.", example=24_500_000)
    currency = Currency()
    customer = BeneficiarySerializer(help_text="The beneficiary.")
    narration = FreeText(required=False, min_length=0, help_text="Free text.", example="Indigo, week 48")
    purpose = Choice(PURPOSES, required=False, help_text="What the payout is for.", example="supplier")
    metadata = Metadata(required=False)
    unmet_conditions = PayoutSerializer.unmet_conditions


class PayoutBatchSerializer(RequestSerializer):
    """Create a payout batch."""

    reference = BatchReference(
        help_text="Your unique reference of the batch, up to 90 characters, and its idempotency key.",
        example="suppliers-48",
    )
    title = NotBlank(max_length=80, help_text="What it pays for.", example="Suppliers, week 48")
    payouts = Items(
        BatchItemSerializer(),
        minimum=1,
        maximum=MOST_ITEMS,
        help_text="1 to 1,000 payouts in one currency, paid in this order.",
        example=[
            {
                "reference": "wk48-01",
                "amount": 24_500_000,
                "currency": "NGN",
                "customer": {"name": "Kano Dye Works", "account_number": "0690213447", "bank_code": "044"},
            }
        ],
    )
    run_at = Moment(
        required=False,
        help_text="When it is sent, up to 30 days ahead. Default: once it is approved.",
        example="2030-05-02T08:00:00Z",
    )


class AcceptedItems(StrictField):
    """Reasons by item reference."""

    MEANING = "The reason why an item is paid although the checks found something, by the item's reference."
    EXAMPLE = {"wk48-03": "Registered trading name"}

    _reason = NotBlank(max_length=255)

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict):
            self.refuse("This field must be an object.", "invalid_type")
        values, errors = {}, {}
        for reference, reason in data.items():
            try:
                values[reference] = self._reason.run_validation(reason)
            except Exception as refused:  # noqa: BLE001
                errors[reference] = getattr(refused, "detail", error("Invalid.", "invalid"))
        if errors:
            raise InvalidFields(errors)
        return values

    def json_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": 255},
            "maxProperties": MOST_ITEMS,
        }


class ApproveSerializer(RequestSerializer):
    """Release a batch. Has no required fields."""

    accept = AcceptedItems(required=False)
    as_far_as_balance = Flag(
        required=False,
        help_text="`true` releases a batch that is larger than the balance: items are paid in the order of the file.",
        example=True,
    )


class PayoutBatchFilterSerializer(RequestSerializer):
    """Filters of the list of batches."""

    status = Choice(PayoutBatch.Status.values, required=False, help_text="Only batches in this state.")
    created_from = CreatedFrom()
    created_to = CreatedTo()
