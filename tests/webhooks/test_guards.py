"""Database triggers, which keep the rows that others refer to without a foreign key."""

import pytest
from django.db import IntegrityError, connection, transaction

from tests.webhooks.rows import DELIVERED, acquire, make_delivery, make_endpoint, record
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db


def run(sql):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


class TestDelivery:
    @pytest.mark.parametrize(
        "sql",
        [
            "DELETE FROM webhooks_delivery",
            "UPDATE webhooks_delivery SET id = '00000000000040008000000000000000'",
        ],
    )
    def test_keeps_the_row_that_attempts_refer_to(self, sql):
        delivery = make_delivery(make_endpoint())
        record(acquire(), DELIVERED)

        with pytest.raises(IntegrityError, match="webhooks_delivery keeps"):
            run(sql)

        assert Attempt.objects.get().delivery == Delivery.objects.get() == delivery
