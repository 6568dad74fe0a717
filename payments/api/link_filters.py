"""Filters of the API's lists of payment links and checkouts."""

from datetime import datetime

from django.http import QueryDict

from kit.api.fields.strict_fields import UUID, Choice, Currency, RequestSerializer
from kit.api.filters import CreatedFrom, CreatedTo, read_query
from payments.models import PaymentLink, PaymentLinkQuerySet
from payments.representation.links import PAYMENT_LINK


class LinkFilterSerializer(RequestSerializer):
    status = Choice(PaymentLink.Status.values, required=False, help_text="Only links in this status.")
    currency = Currency(required=False, help_text="Only links in this currency.")
    created_from = CreatedFrom()
    created_to = CreatedTo()
    id = UUID(required=False, help_text="The link with this id.", example=PAYMENT_LINK["id"].example)


class CheckoutFilterSerializer(RequestSerializer):
    created_from = CreatedFrom()
    created_to = CreatedTo()


def filtered_links(links: PaymentLinkQuerySet, query: QueryDict, *, now: datetime) -> PaymentLinkQuerySet:
    """Filter links by the query string. Their status is derived, so it depends on the time.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    wanted = read_query(query, LinkFilterSerializer)
    if "status" in wanted:
        links = links.in_status(wanted.pop("status"), at=now)
    return links.filter(**wanted)
