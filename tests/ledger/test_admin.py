"""Admin pages of the ledger: read-only rows, and top-ups with a reason."""

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from ledger.models import Account, Entry
from ledger.services import book
from merchants.models import AuditEntry, User
from tests.dashboard.people import signed_in

pytestmark = pytest.mark.django_db

ADD = "/admin/ledger/entry/add/"


@pytest.fixture
def staff():
    return signed_in(User.objects.create_superuser("staff@example.com", "a long enough password"))


def filled_in(business, **changes):
    return {
        "business": business.pk,
        "currency": "NGN",
        "amount": "NGN 5.00",
        "note": "Float",
        "cause": uuid4(),
    } | changes


class TestPages:
    @pytest.mark.parametrize("model", ["account", "entry", "posting"])
    def test_show_every_row_read_only(self, staff, booking, model):
        book(booking())

        for row in {"account": Account, "entry": Entry}.get(model, Account).objects.all()[:1]:
            page = reverse(f"admin:ledger_{model}_changelist")
            assert staff.get(page).status_code == 200
            assert staff.get(f"{page}{row.pk}/change/").status_code in {200, 302}
            assert staff.post(f"{page}{row.pk}/change/", {"balance": 1}).status_code == 403
            assert staff.post(f"{page}{row.pk}/delete/", {"post": "yes"}).status_code == 403


class TestTopUp:
    def test_credits_the_wallet_and_is_audited(self, staff, business):
        answer = staff.post(ADD, filled_in(business))

        assert answer.status_code == 302
        assert Account.objects.get(business=business, kind="wallet").balance == 500
        entry = Entry.objects.get()
        assert (entry.kind, entry.note) == ("top_up", "Float")
        audited = AuditEntry.objects.get(action="wallet.topped_up")
        assert (audited.actor, audited.business, audited.target) == (
            "staff@example.com",
            business,
            str(entry.cause),
        )
        assert audited.after == {"currency": "NGN", "amount": 500, "reason": "Float"}

    def test_submitted_twice_credits_the_wallet_once(self, staff, business):
        form = filled_in(business)

        staff.post(ADD, form)
        staff.post(ADD, form)

        assert Account.objects.get(business=business, kind="wallet").balance == 500

    def test_form_names_its_cause_so_that_it_counts_once(self, staff, business):
        shown = staff.get(ADD).content.decode()
        cause = re.search(r'<input type="hidden" name="cause" value="([^"]+)"', shown)

        assert staff.post(ADD, filled_in(business, cause=cause[1])).status_code == 302
        assert str(Entry.objects.get().cause) == cause[1]
        assert "Business:" not in shown

    @pytest.mark.parametrize(
        "change",
        [
            {"note": ""},
            {"amount": 0},
            {"amount": "1.505"},
            {"amount": "USD 5.00"},
            {"amount": ""},
            {"amount": "five"},
            {"currency": "EUR"},
            {"currency": "XAU"},
            {"amount": "10,000,000,000.01"},
        ],
    )
    def test_needs_a_reason_and_a_valid_amount(self, staff, business, change):
        answer = staff.post(ADD, filled_in(business, **change))

        assert answer.status_code == 200
        assert not Entry.objects.exists()

    def test_shows_what_is_wrong_at_the_amount(self, staff, business):
        shown = staff.post(ADD, filled_in(business, amount="5.001"))

        assert shown.context["adminform"].form.errors == {"amount": ["Enter at most 2 decimals for NGN."]}
        assert 'value="5.001"' in shown.content.decode()

    def test_needs_a_permission(self, business):
        client = Client()
        looker = User.objects.create_user("looker@example.com", "a long enough password", is_staff=True)
        signed_in(looker, client=client)

        assert client.post(ADD, filled_in(business)).status_code == 403
        assert not Entry.objects.exists()
