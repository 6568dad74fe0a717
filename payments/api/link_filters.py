"""Filters of the API's lists of payment links and checkouts."""

from datetime import datetime

from django.db.models import QuerySet
from django.http import QueryDict

from kit.api.fields.strict_fields import UUID, Choice, Currency, RequestSerializer
from kit.api.filters import CREATED, CreatedFrom, CreatedTo, narrowed, read_query
from payments.link_representation import PAYMENT_LINK
from payments.models import Checkout, PaymentLink, PaymentLinkQuerySet

LOOKUPS = {"currency": "currency", "id": "id", **CREATED}


class LinkFilterSerializer(RequestSerializer):
    status = Choice(PaymentLink.Status.values, required=False, help_text="Only links in this status.")
    currency = Currency(required=False, help_text="Only links in this currency.")
    created_from = CreatedFrom(required=False)
    created_to = CreatedTo(required=False)
    id = UUID(required=False, help_text="The link with this id.", example=PAYMENT_LINK["id"].example)


class CheckoutFilterSerializer(RequestSerializer):
    created_from = CreatedFrom(required=False)
    created_to = CreatedTo(required=False)


_LINKS, _CHECKOUTS = LinkFilterSerializer(), CheckoutFilterSerializer()


def filtered_links(links: PaymentLinkQuerySet, query: QueryDict, *, now: datetime) -> PaymentLinkQuerySet:
    """Filter links by the query string. Their status is derived, so it depends on the time.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    wanted = dict(read_query(query, serializer=_LINKS))
    if "status" in wanted:
        links = links.in_status(wanted.pop("status"), at=now)
    return links.filter(**{LOOKUPS[name]: value for name, value in wanted.items()})


def filtered_checkouts(checkouts: QuerySet[Checkout], query: QueryDict) -> QuerySet[Checkout]:
    """Filter checkouts by the query string.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    return narrowed(checkouts, query, serializer=_CHECKOUTS, lookups=CREATED)
