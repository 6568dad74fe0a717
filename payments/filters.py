"""The filters of the list of transactions, read as strictly as a body."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from merchants.strict_fields import Choice, Errors, Moment, RequestSerializer, Text, error
from payments.models import Transaction

LOOKUPS = {
    "status": "status",
    "request_type": "request_type",
    "payment_method": "method",
    "created_from": "created_at__gte",
    "created_to": "created_at__lte",
    "id": "id",
}
PAGING = frozenset({"limit", "cursor"})


class FilterSerializer(RequestSerializer):
    status = Choice(Transaction.Status.values, required=False)
    request_type = Choice(Transaction.RequestType.values, required=False)
    payment_method = Choice(["card"], required=False)
    created_from = Moment(required=False)
    created_to = Moment(required=False)
    id = Text(
        required=False,
        pattern=r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
        says="This field must be a UUID.",
    )


_SERIALIZER = FilterSerializer()


def filtered(transactions: QuerySet[Transaction], query: QueryDict) -> QuerySet[Transaction]:
    """Narrow a list down as the query says.

    :raises ValidationError: an unknown parameter, one given twice, or a value that is none
    """
    given = {name: values for name, values in query.lists() if name not in PAGING}
    repeated: Errors = {
        name: error("This parameter was given more than once.", "repeated")
        for name, values in given.items()
        if len(values) > 1
    }
    if repeated:
        raise ValidationError(repeated)
    wanted: Mapping[str, Any] = _SERIALIZER.run_validation(
        {name: values[0] for name, values in given.items()}
    )
    return transactions.filter(**{LOOKUPS[name]: value for name, value in wanted.items()})
