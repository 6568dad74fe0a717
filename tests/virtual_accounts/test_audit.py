"""A user's change of an account and its audit entry are committed together."""

import pytest
from django.utils import timezone

from merchants.models import AuditEntry
from merchants.people import audit
from merchants.people.audit import Actor
from payments.services.transfers import account_deactivation
from tests import orders
from virtual_accounts.models import VirtualAccount
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts

ADA = Actor(name="ada@example.com")


class AuditFailed(Exception):
    pass


@pytest.fixture
def audit_fails(monkeypatch):
    """Return a function after which no audit entry can be written."""

    def fail(**_):
        raise AuditFailed

    return lambda: monkeypatch.setattr(audit, "record", fail)


def create(business):
    wanted = read_account(orders.dynamic_account(), business=business)
    return accounts.create(business=business, request=wanted, now=timezone.now(), actor=ADA).resource


def trail():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "actor", "target"))


@pytest.mark.django_db
def test_each_change_has_one_entry(ada):
    account = create(ada.business)
    for _ in range(2):
        account_deactivation.deactivate(account.pk, actor=ADA, now=timezone.now())
    for _ in range(2):
        account_deactivation.activate(account.pk, actor=ADA, now=timezone.now())

    assert [entry for entry in trail() if entry[0].startswith("virtual_account.")] == [
        (f"virtual_account.{change}", ADA.name, account.reference)
        for change in ("created", "deactivated", "activated")
    ]


@pytest.mark.django_db(transaction=True)
def test_change_is_rolled_back_without_its_entry(ada, audit_fails):
    inactive, active = create(ada.business), create(ada.business)
    account_deactivation.deactivate(inactive.pk, now=timezone.now())
    audit_fails()

    changes = (
        lambda: create(ada.business),
        lambda: account_deactivation.deactivate(active.pk, actor=ADA, now=timezone.now()),
        lambda: account_deactivation.activate(inactive.pk, actor=ADA, now=timezone.now()),
    )
    for change in changes:
        with pytest.raises(AuditFailed):
            change()

    assert dict(VirtualAccount.objects.values_list("pk", "status")) == {
        inactive.pk: "inactive",
        active.pk: "active",
    }
