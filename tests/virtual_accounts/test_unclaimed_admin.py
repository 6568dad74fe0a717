"""Unclaimed transfers are decided about by staff with the permission, and with a reason (see also `test_suspense`)."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from merchants.models import AuditEntry
from payments.services.transfers.incoming import Notice, receive_notification
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from virtual_accounts.models import UnclaimedTransfer

pytestmark = pytest.mark.django_db


@pytest.fixture
def transfer():
    notice = Notice(
        bank_reference="nip-1", account_number="0123456789", amount=1, currency="NGN", sender_name="Bisi"
    )
    receive_notification(notice)
    return UnclaimedTransfer.objects.get()


@pytest.fixture
def person():
    return UserFactory(email="staff@example.com", is_staff=True, is_superuser=True)


@pytest.fixture
def staff(person):
    return signed_in(person, client=Client())


def write_off(client, transfer, reason="Sent back by the bank"):
    address = f"/admin/virtual_accounts/unclaimedtransfer/{transfer.pk}/write_off/"
    return client.post(address, {"reason": reason}, follow=True)


def test_decision_takes_one_person_without_four_eyes(staff, transfer):
    assert "was performed" in write_off(staff, transfer).content.decode()

    transfer.refresh_from_db()
    assert (transfer.resolution, transfer.resolved_by) == ("Sent back by the bank", "staff@example.com")
    entry = AuditEntry.objects.get(action="unclaimed_transfer.written_off")
    assert (entry.actor, entry.target, entry.business) == ("staff@example.com", str(transfer.pk), None)


def test_decision_needs_a_reason(staff, transfer):
    assert "Nothing was decided" in write_off(staff, transfer, " ").content.decode()

    transfer.refresh_from_db()
    assert transfer.is_open


def test_decision_needs_the_permission(person, staff, transfer):
    type(person).objects.filter(pk=person.pk).update(is_superuser=False)
    person.user_permissions.set(Permission.objects.filter(codename="view_unclaimedtransfer"))

    assert write_off(staff, transfer).status_code == 403

    transfer.refresh_from_db()
    assert transfer.is_open


@pytest.mark.parametrize(("state", "is_listed"), [("open", True), ("resolved", False)])
def test_list_is_filtered_by_state(staff, transfer, state, is_listed):
    listed = staff.get("/admin/virtual_accounts/unclaimedtransfer/", {"state": state}).content.decode()

    assert ("nip-1" in listed) == is_listed
