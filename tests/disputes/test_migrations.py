"""Migrations of rows that older releases could write."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from disputes.models import Dispute
from payments.rules.words.dispute_words import STAGES
from tests.disputed import disputed, payment_of

pytestmark = pytest.mark.django_db


def test_stages_of_a_case_that_got_to_several_payments_are_linked(api):
    of_table = " ON disputes_dispute" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER disputes_dispute_keeps_id{of_table}")
        cursor.execute("DROP INDEX one_first_dispute_per_case")
    stages = [disputed(payment_of(api), stage=stage, case_number=stage) for stage in STAGES]
    Dispute.objects.update(case_number="CB-1")

    import_module("disputes.migrations.0007_one_first_dispute_per_case").link_stages(apps, None)

    linked = list(Dispute.objects.order_by("id").values_list("previous", flat=True))
    assert linked == [None, *[stage.pk for stage in stages[:-1]]]
