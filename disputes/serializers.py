"""Requests of the disputes API, validated field by field."""

from disputes.services.answers.packet import PARTS
from kit.api.fields.strict_fields import Amount, Choice, FreeText, Items, Moment, Reference, RequestSerializer
from payments.representation.disputes import DISPUTE
from payments.rules.words.dispute_words import LONGEST_TEXT, EvidenceKind, Stage, Status


class DisputeFilterSerializer(RequestSerializer):
    status = Choice(Status.values, required=False, help_text="Only disputes in this status.")
    stage = Choice(Stage.values, required=False, help_text="Only disputes at this stage.")
    due_before = Moment(
        required=False,
        help_text="Only open disputes with a deadline at this time or earlier.",
        example=DISPUTE["respond_by"].example,
    )
    payment = Reference(
        required=False,
        help_text="Only disputes of the payment with this reference.",
        example=DISPUTE["payment_reference"].example,
    )


class EvidenceSerializer(RequestSerializer):
    """A text of your answer."""

    kind = Choice(EvidenceKind.values, help_text="What it shows.", example="delivery")
    text = FreeText(
        max_length=LONGEST_TEXT,
        help_text="What you want the cardholder's bank to read. Card numbers are masked.",
        example="Handed over to Ada Obi on 3 February.",
    )


class FileKindSerializer(RequestSerializer):
    """The query of an upload."""

    kind = Choice(EvidenceKind.values, help_text="What the file shows.", example="receipt")


class SubmitSerializer(RequestSerializer):
    """What of the packet isn't sent with your evidence."""

    leave_out = Items(
        Choice(list(PARTS), help_text="A part of the packet.", example="other_payments"),
        required=False,
        maximum=len(PARTS),
        help_text="Parts of the packet, which we know about the payment, that aren't sent with your evidence.",
        example=["other_payments"],
    )


class AcceptSerializer(RequestSerializer):
    """How much of the dispute you concede."""

    amount = Amount(
        required=False,
        help_text="Minor units that you concede. By default all. The rest comes back to you.",
        example=20_000,
    )
