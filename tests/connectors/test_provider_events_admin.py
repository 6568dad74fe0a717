"""The administration's page of providers' events: what each led to, and processing one again."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from connectors.models import ProviderEvent
from merchants.models import AuditEntry
from payments.models import Transaction
from tests import orders
from tests.connectors.provider_webhooks import (
    CHECKOUT,
    about,
    process,
    send,
)
from tests.dashboard.people import signed_in
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("providers")]


@pytest.fixture
def staff(db):
    return staff_with("view_providerevent", "change_providerevent", "view_transaction")


def staff_with(*codenames):
    person = UserFactory(email="staff@example.com", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return signed_in(person, client=Client())


def page(end="changelist", *args):
    return reverse(f"admin:connectors_providerevent_{end}", args=args)


def words(answer):
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def event(api, client):
    """Return a processed event about a payment."""
    api.post("/api/payments", orders.card_payment(reference="order-1"))
    send(client, CHECKOUT, about(Transaction.objects.get()))
    for _ in range(2):
        process()
        ProviderEvent.objects.exclude(next_attempt_at=None).update(next_attempt_at="2026-01-01T00:00Z")
    return ProviderEvent.objects.get(result="queried")


class TestList:
    def test_shows_what_each_event_changed(self, staff, event):
        said = words(staff.get(page()))

        for text in ("payment_approved", "order-1", "Provider queried", "status: pending → success"):
            assert text in said

    @pytest.mark.parametrize(
        ("query", "is_found"),
        [
            ("provider=checkout", True),
            ("provider=paystack", False),
            ("result__exact=queried", True),
            ("result__exact=kept", False),
            ("q=order-1", True),
            ("q=order-2", False),
        ],
    )
    def test_can_be_narrowed(self, staff, event, query, is_found):
        assert ("payment_approved" in words(staff.get(f"{page()}?{query}"))) is is_found

    def test_is_found_by_its_transaction(self, staff, event):
        assert "payment_approved" in words(staff.get(page(), {"q": str(event.transaction_id)}))


class TestProcessingAgain:
    FORM = {"reason": "The provider said so by phone."}

    def test_is_queued_and_audited(self, staff, event):
        said = words(staff.post(page("process_again", event.pk), self.FORM, follow=True))

        assert "Queued 1 event to process." in said
        entry = AuditEntry.objects.get(action="provider_event.processed_again")
        assert (entry.actor, entry.target, entry.after) == ("staff@example.com", str(event.pk), self.FORM)
        assert entry.business == event.transaction.business
        assert process() == 1
        event.refresh_from_db()
        assert event.result == "nothing_open"

    def test_is_queued_from_the_list(self, staff, event):
        form = {"action": "process_chosen_again", "_selected_action": [str(event.pk)], **self.FORM}

        assert "Queued 1 event to process." in words(staff.post(page(), form, follow=True))

    def test_event_that_waits_is_left_as_it_is(self, staff, event):
        for said in ("Queued 1 event to process.", "1 event not queued: already waiting to be processed."):
            assert said in words(staff.post(page("process_again", event.pk), self.FORM, follow=True))

        assert AuditEntry.objects.filter(action="provider_event.processed_again").count() == 1

    @pytest.mark.parametrize("reason", ["", "x" * 256])
    def test_needs_a_reason(self, staff, event, reason):
        said = words(staff.post(page("process_again", event.pk), {"reason": reason}, follow=True))

        assert "Nothing was processed" in said
        assert process() == 0

    def test_needs_the_permission(self, event):
        viewer = staff_with("view_providerevent")

        assert "Process event again" not in words(viewer.get(page("change", event.pk)))
        assert viewer.post(page("process_again", event.pk), self.FORM).status_code == 403
        assert process() == 0
