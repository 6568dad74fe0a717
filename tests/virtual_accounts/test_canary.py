"""A BVN sent to every endpoint that accepts one is never in the log or the database as plain text."""

import logging

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connection

from tests import orders
from tests.dashboard.people import signed_in
from virtual_accounts.models import VirtualAccount

pytestmark = pytest.mark.django_db

ACCOUNTS = "/api/virtual-accounts"
BVN = "22980736154"


def every_text_of_the_database():
    with connection.cursor() as cursor:
        for model in apps.get_models():
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(model._meta.db_table)}")  # noqa: S608
            for row in cursor.fetchall():
                yield from (str(value) for value in row)


def test_bvn_is_in_no_log_response_or_row(api, client, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    order = orders.static_account(bvn=BVN)
    answers = [
        api.post(ACCOUNTS, order),
        api.post(ACCOUNTS, order),
        api.post(ACCOUNTS, order | {"email": "x@shop.example"}),
        api.post(ACCOUNTS, orders.business_account(bvn=BVN)),
        api.post(ACCOUNTS, orders.static_account(bvn=BVN + "0")),
        api.post(ACCOUNTS, orders.static_account(bvn=int(BVN))),
        api.post(ACCOUNTS, orders.dynamic_account(bvn=BVN)),
        api.get(f"{ACCOUNTS}/{order['reference']}"),
        api.get(ACCOUNTS),
        api.post(f"{ACCOUNTS}/{order['reference']}/deactivate"),
    ]
    staff = get_user_model().objects.create_superuser(email="staff@sluice.example", password="x" * 20)
    signed_in(staff, client=client)
    account = VirtualAccount.objects.get(reference=order["reference"])
    answers.append(client.get(f"/admin/virtual_accounts/virtualaccount/{account.pk}/change/"))

    assert [answer.status_code for answer in answers[:8]] == [201, 200, 409, 201, 400, 400, 201, 200]
    assert account.bvn == BVN
    assert not [answer for answer in answers if BVN in answer.content.decode()]
    assert BVN not in caplog.text + "".join(capfd.readouterr())
    assert not [text for text in every_text_of_the_database() if BVN in text]
