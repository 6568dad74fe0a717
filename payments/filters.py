"""The filters of the list of transactions, read as strictly as a body."""

from django.db.models import QuerySet
from django.http import QueryDict

from merchants.list_filters import narrowed
from merchants.strict_fields import UUID, Choice, Moment, RequestSerializer
from payments.models import Transaction

LOOKUPS = {
    "status": "status",
    "request_type": "request_type",
    "payment_method": "method",
    "created_from": "created_at__gte",
    "created_to": "created_at__lte",
    "id": "id",
}


class FilterSerializer(RequestSerializer):
    status = Choice(Transaction.Status.values, required=False)
    request_type = Choice(Transaction.RequestType.values, required=False)
    payment_method = Choice(["card", "virtual_account"], required=False)
    created_from = Moment(required=False)
    created_to = Moment(required=False)
    id = UUID(required=False)


_SERIALIZER = FilterSerializer()


def filtered(transactions: QuerySet[Transaction], query: QueryDict) -> QuerySet[Transaction]:
    """Narrow a list down as the query says.

    :raises ValidationError: an unknown parameter, one given twice, or a value that is none
    """
    return narrowed(transactions, query, serializer=_SERIALIZER, lookups=LOOKUPS)
