"""Rows with counted ids, by time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.models import AuditEntry
from merchants.numbered_rows import in_period
from tests.factories import BusinessFactory

pytestmark = pytest.mark.django_db

SPAN = 13


@pytest.fixture
def now():
    return timezone.now()


@pytest.fixture
def entries(ada, now):
    """One entry a minute, with those of another business between them."""
    other = BusinessFactory()
    for minute in range(SPAN):
        for business in (ada.business, other, other):
            AuditEntry.objects.create(
                business=business, actor="a", action="x.y", at=now + timedelta(minutes=minute)
            )
    return AuditEntry.objects.filter(business=ada.business, action="x.y")


def test_finds_the_rows_of_any_period(subtests, ada, now, entries):
    for begin in [None, -1, 0, 1, 6, 6.5, 12, 13]:
        for end in [None, -1, 0, 1, 6.5, 7, 12, 13]:
            with subtests.test(begin=begin, end=end):
                bounds = {
                    name: None if minutes is None else now + timedelta(minutes=minutes)
                    for name, minutes in (("begin", begin), ("end", end))
                }

                found = in_period(entries, ada.business, **bounds)

                expected = [
                    minute
                    for minute in range(SPAN)
                    if (begin is None or minute >= begin) and (end is None or minute < end)
                ]
                assert [(each.at - now).total_seconds() / 60 for each in found.order_by("pk")] == expected


def test_reads_each_bound_in_two_statements(ada, now, entries, django_assert_num_queries):
    with django_assert_num_queries(4):
        in_period(entries, ada.business, begin=now, end=now)


def test_of_a_business_without_rows(bisi, now):
    assert not in_period(AuditEntry.objects.filter(business=bisi.business), bisi.business, begin=now, end=now)
