"""Filters of the API's lists, validated as strictly as a request body."""

from django.db.models import QuerySet
from django.http import QueryDict

from kit.api.fields.strict_fields import UUID, Choice, Currency, Moment, Reference, RequestSerializer
from kit.api.filters import CreatedFrom, CreatedTo, narrowed, read_query
from kit.time.timestamps import until_inclusive, whole_millisecond
from merchants.models import Business
from payments.api.serializers import PAYMENT_METHODS
from payments.models import Transaction
from payments.representation.events import EVENT_STATES
from payments.representation.payments import PAYMENT
from payments.services.events.event_subjects import outcomes_with_reference
from virtual_accounts.models import UnappliedMoney
from webhooks.models import Delivery, Endpoint, Event


class FilterSerializer(RequestSerializer):
    status = Choice(Transaction.Status.values, required=False, help_text="Only transactions in this status.")
    request_type = Choice(
        Transaction.RequestType.values, required=False, help_text="Only transactions of this kind."
    )
    payment_method = Choice(
        PAYMENT_METHODS,
        source="method",
        required=False,
        help_text="Only payments paid this way; never card checks.",
    )
    settle_status = Choice(
        Transaction.SettleStatus.values,
        required=False,
        help_text="Only payments with this settlement status.",
    )
    created_from = CreatedFrom()
    created_to = CreatedTo()
    id = UUID(required=False, help_text="The transaction with this id.", example=PAYMENT["id"].example)
    payment_link_id = UUID(
        source="payment_link",
        required=False,
        help_text="Only payments of this payment link.",
        example=PAYMENT["payment_link_id"].example,
    )


def filtered(transactions: QuerySet[Transaction], query: QueryDict) -> QuerySet[Transaction]:
    """Filter transactions by the query string.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    if "payment_method" in query:  # a card check has a card but isn't a payment
        transactions = transactions.filter(request_type=Transaction.RequestType.PAYMENT)
    return narrowed(transactions, query, FilterSerializer)


class SettlementFilterSerializer(RequestSerializer):
    status = Choice(
        Transaction.SettleStatus.values,
        source="state",
        required=False,
        help_text="Only batches in this status.",
    )
    currency = Currency(required=False, help_text="Only batches of this currency.")
    created_from = CreatedFrom()
    created_to = CreatedTo()


class UnappliedFilterSerializer(RequestSerializer):
    state = Choice(UnappliedMoney.State.values, required=False, help_text="Only transfers in this state.")
    created_from = CreatedFrom(help_text="Received at this time or later, to the millisecond.")
    created_to = CreatedTo(help_text="Received at this time or earlier, to the millisecond.")


class MovementFilterSerializer(RequestSerializer):
    currency = Currency(
        required=False,
        help_text="Only movements of the balance in this currency. Adds the balances of the period.",
    )
    created_from = Moment(
        required=False, help_text="Booked at this time or later.", example=CreatedFrom.EXAMPLE
    )
    created_to = Moment(
        required=False, help_text="Booked at this time or earlier.", example=CreatedTo.EXAMPLE
    )


class EventFilterSerializer(RequestSerializer):
    state = Choice(tuple(EVENT_STATES.values()), required=False, help_text="Only events in this state.")
    event = Choice(Event.labels, required=False, help_text="Only events of this type.")
    reference = Reference(
        required=False,
        help_text="Only events about the payment, payout or refund with this reference.",
        example="order-1042",
    )
    endpoint_id = UUID(
        required=False,
        help_text="Only deliveries to this webhook endpoint, which may have been deleted.",
        example="7a1f2b7e-0c5c-5d0a-9f5e-2d9b6b1d6c11",
    )
    created_from = Moment(required=False, help_text=CreatedFrom.MEANING, example=CreatedFrom.EXAMPLE)
    created_to = Moment(required=False, help_text=CreatedTo.MEANING, example=CreatedTo.EXAMPLE)


_STORED_STATES = {name: stored for stored, name in EVENT_STATES.items()}
_STORED_EVENTS = {event.label: event.value for event in Event}


def filtered_events(events: QuerySet[Delivery], business: Business, query: QueryDict) -> QuerySet[Delivery]:
    """Filter a business's events by the query string. Each filter, alone or with a period, has an index.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    wanted = read_query(query, EventFilterSerializer)
    if "state" in wanted:
        events = events.filter(state=_STORED_STATES[wanted["state"]])
    if "event" in wanted:
        events = events.filter(event=_STORED_EVENTS[wanted["event"]])
    if "reference" in wanted:
        events = events.filter(subject__in=outcomes_with_reference(business, wanted["reference"]))
    if "endpoint_id" in wanted:
        own = Endpoint.objects.filter(business=business)
        numbers = [each.number for each in own if str(each.public_id) == str(wanted["endpoint_id"])]
        events = events.filter(endpoint_number__in=numbers)
    if "created_from" in wanted:
        events = events.filter(created_at__gte=whole_millisecond(wanted["created_from"]))
    if "created_to" in wanted:
        events = events.filter(created_at__lt=until_inclusive(wanted["created_to"]))
    return events
