"""Admin pages of the ledger: read-only rows, and top-ups with a reason."""

import re
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from ledger.models import Account, Entry
from ledger.services import Kind, book
from merchants.models import AuditEntry, User
from tests.dashboard.people import signed_in
from tests.factories import BusinessFactory

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


class TestAccountsThatAreOwed:
    def test_shows_what_a_business_owes_and_since_when(self, staff, booking):
        def refund(amount, *, day):
            legs = {Kind.PENDING_SETTLEMENT: -amount, Kind.REFUNDS_PAYABLE: amount}
            book(booking(legs, kind="refund", at=datetime(2026, 3, day, 12, tzinfo=UTC)))

        book(booking())  # 985 pending
        book(booking(business_id=BusinessFactory().pk))
        for amount, day in ((1_000, 2), (500, 4)):
            refund(amount, day=day)
        book(booking({Kind.BANK_CLEARING: -600, Kind.PENDING_SETTLEMENT: 600}, kind="virtual_account"))
        for amount, day in ((100, 5), (1, 6)):
            refund(amount, day=day)

        (owed,) = staff.get("/admin/ledger/account/?owed=business").context["cl"].result_list

        assert (owed.kind, owed.balance) == ("pending_settlement", -16)
        assert owed.owed_since == datetime(2026, 3, 5, 12, tzinfo=UTC)

    def test_are_those_of_the_business_alone(self, staff, booking):
        book(booking())  # the acquirer owes us

        assert not staff.get("/admin/ledger/account/?owed=business").context["cl"].result_list


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

    def test_needs_a_reason_and_a_valid_amount(self, subtests, staff, business):
        for change in [
            {"note": ""},
            {"amount": 0},
            {"amount": "1.505"},
            {"amount": "USD 5.00"},
            {"amount": ""},
            {"amount": "five"},
            {"currency": "EUR"},
            {"currency": "XAU"},
            {"amount": "10,000,000,000.01"},
            {"amount": "92233720368547758.07"},  # 2**63 - 1 minor units
        ]:
            with subtests.test(change=change):
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
