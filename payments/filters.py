"""The filters of the API's lists, read as strictly as a body."""

from django.db.models import QuerySet
from django.http import QueryDict

from merchants.list_filters import CREATED, CreatedFrom, CreatedTo, narrowed
from merchants.strict_fields import UUID, Choice, Currency, Moment, RequestSerializer
from payments.models import SettlementBatch, Transaction
from payments.serializers import PAYMENT_METHODS
from virtual_accounts.models import UnappliedMoney

LOOKUPS = {
    "status": "status",
    "request_type": "request_type",
    "payment_method": "method",
    "settle_status": "settle_status",
    **CREATED,
    "id": "id",
}


class FilterSerializer(RequestSerializer):
    status = Choice(Transaction.Status.values, required=False)
    request_type = Choice(Transaction.RequestType.values, required=False)
    payment_method = Choice(PAYMENT_METHODS, required=False)
    settle_status = Choice(Transaction.SettleStatus.values, required=False)
    created_from = CreatedFrom(required=False)
    created_to = CreatedTo(required=False)
    id = UUID(required=False)


_SERIALIZER = FilterSerializer()


def filtered(transactions: QuerySet[Transaction], query: QueryDict) -> QuerySet[Transaction]:
    """Narrow a list down as the query says.

    :raises ValidationError: an unknown parameter, one given twice, or a value that is none
    """
    if "payment_method" in query:  # a card check has a card and is no payment
        transactions = transactions.filter(request_type=Transaction.RequestType.PAYMENT)
    return narrowed(transactions, query, serializer=_SERIALIZER, lookups=LOOKUPS)


SETTLEMENT_LOOKUPS = {
    "status": "state",
    "currency": "currency",
    **CREATED,
}


class SettlementFilterSerializer(RequestSerializer):
    status = Choice(Transaction.SettleStatus.values, required=False)
    currency = Currency(required=False)
    created_from = CreatedFrom(required=False)
    created_to = CreatedTo(required=False)


_SETTLEMENT_SERIALIZER = SettlementFilterSerializer()


def filtered_settlements(batches: QuerySet[SettlementBatch], query: QueryDict) -> QuerySet[SettlementBatch]:
    """Filter settlement batches as the query says.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    return narrowed(batches, query, serializer=_SETTLEMENT_SERIALIZER, lookups=SETTLEMENT_LOOKUPS)


UNAPPLIED_LOOKUPS = {
    "state": "state",
    **CREATED,
}


class UnappliedFilterSerializer(RequestSerializer):
    state = Choice(UnappliedMoney.State.values, required=False)
    created_from = CreatedFrom(required=False)
    created_to = CreatedTo(required=False)


_UNAPPLIED_SERIALIZER = UnappliedFilterSerializer()


def filtered_unapplied(transfers: QuerySet[UnappliedMoney], query: QueryDict) -> QuerySet[UnappliedMoney]:
    """Filter unapplied transfers as the query says.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    return narrowed(transfers, query, serializer=_UNAPPLIED_SERIALIZER, lookups=UNAPPLIED_LOOKUPS)


class MovementFilterSerializer(RequestSerializer):
    currency = Currency(required=False)
    created_from = Moment(required=False)
    created_to = Moment(required=False)
