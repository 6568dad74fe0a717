"""Filters of the request log, validated as strictly as a request body."""

from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet
from django.http import QueryDict

from kit.api.fields.strict_fields import Choice, Moment, RequestSerializer
from kit.api.filters import read_query
from kit.time.timestamps import whole_millisecond
from merchants.models import ApiRequest, Business
from merchants.numbered_rows import in_period

# Processes store their calls in batches, every second. This is far longer than the ids can be out of order.
DISORDER = timedelta(minutes=1)
EARLIEST = datetime.min.replace(tzinfo=UTC) + DISORDER

STATUS_CLASS = 100  # statuses in a class such as 4xx
FIRST_ERROR = 400


class RequestFilterSerializer(RequestSerializer):
    status_class = Choice(
        ("2", "4", "5"),
        required=False,
        help_text="Only responses with a status of this class, such as 404 of `4`.",
    )
    since = Moment(
        required=False,
        help_text="Answered at this time or later, to the millisecond.",
        example="2026-01-31T08:00:00Z",
    )


def filtered_requests(business: Business, query: QueryDict) -> QuerySet[ApiRequest]:
    """Return the logged requests of a business, filtered by the query string.

    :raises ValidationError: an unknown or repeated parameter, or an invalid value
    """
    wanted = read_query(query, RequestFilterSerializer)
    calls = ApiRequest.objects.filter(business=business)
    if "status_class" in wanted:
        first = int(wanted["status_class"]) * STATUS_CLASS
        calls = calls.filter(status__gte=first, status__lt=first + STATUS_CLASS)
        if first >= FIRST_ERROR:  # the condition of the partial index
            calls = calls.filter(status__gte=FIRST_ERROR)
    if "since" in wanted:
        since = whole_millisecond(wanted["since"])
        # There is no index by time, but the ids are nearly in its order.
        calls = in_period(calls, business, begin=max(since, EARLIEST) - DISORDER, end=None)
        calls = calls.filter(at__gte=since)
    return calls
