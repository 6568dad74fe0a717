"""Reading in pages yields every row once, in order, with a statement for each page."""

import pytest
from django.db.models import Q

from kit.db.rows.paged_reading import in_pages
from merchants.models import Business
from tests.factories import BusinessFactory

pytestmark = pytest.mark.django_db

SIZE = 2


@pytest.mark.parametrize(("count", "statements"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_yields_every_row_once_in_order(django_assert_num_queries, count, statements):
    names = [BusinessFactory(name=f"Shop {number}").name for number in range(count)]

    with django_assert_num_queries(statements):
        found = list(
            in_pages(Business.objects.order_by("name"), lambda shop: Q(name__gt=shop.name), size=SIZE)
        )

    assert [shop.name for shop in found] == names
