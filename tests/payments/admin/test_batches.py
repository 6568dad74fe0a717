"""Admin pages of settlement batches."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from merchants.models import AuditEntry
from payments.models import SettlementBatch
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.settling import decide, settle

pytestmark = pytest.mark.django_db


def browser_of(person):
    browser = Client()
    signed_in(person, client=browser)
    return browser


@pytest.fixture
def staff():
    return browser_of(UserFactory(email="staff@example.com", is_staff=True, is_superuser=True))


@pytest.fixture
def view_only():
    person = UserFactory(is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename="view_settlementbatch"))
    return browser_of(person)


@pytest.fixture
def batch(api):
    api.post("/api/payments", orders.card_payment(reference="order-1", amount=50_000))
    (made,) = settle()
    return made


def page(batch, end="change/"):
    return f"/admin/payments/settlementbatch/{batch.pk}/{end}"


def decide_on(page_of, browser, decision, reason="The bank says so."):
    return browser.post(page(page_of, "decide/"), {"decision": decision, "reason": reason}, follow=True)


class TestBatchPage:
    @pytest.mark.parametrize(
        ("made", "offered"),
        [
            ((), ["Approve", "Reject"]),
            (("approve",), ["Release"]),
            (("approve", "release"), []),
            (("reject",), []),
        ],
    )
    def test_shows_the_allowed_decisions(self, staff, batch, made, offered):
        decide(batch, *made)

        shown = staff.get(page(batch)).content.decode()

        assert [one for one in ("Approve", "Release", "Reject") if f">{one}</button>" in shown] == offered

    def test_approves_and_releases(self, staff, batch, api):
        approved = decide_on(batch, staff, "approved")
        decide_on(batch, staff, "released")

        assert "The batch is approved." in approved.content.decode()
        assert api.get("/api/payments/order-1").json()["settle_status"] == "released"
        entries = AuditEntry.objects.filter(action__startswith="settlement_batch").order_by("id")
        assert [(one.action, one.actor, one.address) for one in entries] == [
            ("settlement_batch.approved", "staff@example.com", "127.0.0.1"),
            ("settlement_batch.released", "staff@example.com", "127.0.0.1"),
        ]

    def test_rejects_with_a_reason(self, staff, batch):
        decide_on(batch, staff, "rejected", "The acquirer's file is short.")

        batch.refresh_from_db()
        assert (batch.state, batch.reason) == ("rejected", "The acquirer's file is short.")

    @pytest.mark.parametrize(
        ("decision", "reason", "says"),
        [
            ("rejected", "", "Nothing was decided"),
            ("rejected", " ", "Nothing was decided"),
            ("rejected", "x" * 256, "Nothing was decided"),
            ("rejected", "a\0b", "Nothing was decided"),
            ("released", "Why not?", "A batch that is pending cannot become released."),
            ("approved", "", "Nothing was decided"),
            ("pending", "", "Nothing was decided"),
            ("", "", "Nothing was decided"),
        ],
    )
    def test_rejects_an_invalid_decision(self, staff, batch, decision, reason, says):
        answer = decide_on(batch, staff, decision, reason)

        assert says in answer.content.decode()
        batch.refresh_from_db()
        assert batch.state == "pending"

    def test_is_read_only_without_the_permission(self, view_only, batch):
        assert ">Approve</button>" not in view_only.get(page(batch)).content.decode()
        assert decide_on(batch, view_only, "approved").status_code == 403
        assert SettlementBatch.objects.get().state == "pending"

    def test_is_forbidden_for_other_users(self, batch):
        stranger = browser_of(UserFactory(is_staff=True))

        assert stranger.get(page(batch)).status_code == 403
        assert stranger.get(page(batch, "statement.csv")).status_code == 403
        assert Client().get(page(batch, "statement.csv")).status_code == 302

    def test_decides_by_post_only(self, staff, batch):
        assert staff.get(page(batch, "decide/")).status_code == 405

    def test_downloads_the_statement(self, staff, batch):
        answer = staff.get(page(batch, "statement.csv"))

        assert answer["Content-Disposition"] == f'attachment; filename="settlement-NGN-{batch.day}-1.csv"'
        assert b"order-1" in b"".join(answer.streaming_content)

    @pytest.mark.parametrize("model", ["settlementbatch", "settlementitem"])
    def test_lists_batches_and_items(self, staff, batch, model):
        assert staff.get(f"/admin/payments/{model}/?q=order").status_code == 200
        assert staff.get(f"/admin/payments/{model}/").status_code == 200
