"""Staff close a business by two people, reopen it, and remove its logo."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from django.db import connections, transaction
from django.utils import timezone

from merchants.businesses.logos import Image, change_logo
from merchants.models import ApiKey, AuditEntry, Business
from payments.models import InvalidState, PayoutControls, Proposal, SettlementBatch
from payments.services.payouts.controls import payout_freezes
from payments.services.transfers import incoming
from payments.services.transfers.incoming import Notice
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import BusinessFactory, MemberFactory, UserFactory
from tests.links import make_link
from tests.settling import decide, settle
from tests.wallets import STAFF, fill_wallet
from virtual_accounts.models import UnappliedMoney

pytestmark = pytest.mark.django_db


def staff():
    return signed_in(UserFactory(is_staff=True, is_superuser=True))


def post(client, business, action, **fields):
    page = f"/admin/merchants/business/{business.pk}/"
    return client.post(f"{page}{action}/", fields, follow=True).content.decode()


def is_active(business):
    return Business.objects.get(pk=business.pk).is_active


class TestClosing:
    def test_takes_two_people(self, api, ada, settings):
        settings.FOUR_EYES = True
        first, second = staff(), staff()

        asked = post(first, ada.business, "close", reason="Fraud")

        assert "another person" in asked
        assert "payouts are frozen" in asked
        assert is_active(ada.business)
        proposal = Proposal.objects.get()
        second.post(f"/admin/payments/proposal/{proposal.pk}/confirm/")
        assert not is_active(ada.business)
        assert api.get("/api/balance").json()["code"] == "unknown_key"

    def test_revokes_keys_freezes_payouts_and_shuts_members_out(self, ada):
        member = signed_in(MemberFactory(business=ada.business, role="owner").user)
        assert member.get("/dashboard/payments/").status_code == 200

        post(staff(), ada.business, "close", reason="Fraud")

        assert not ApiKey.objects.filter(revoked_at=None).exists()
        assert PayoutControls.objects.get().freeze_reason == "Closed: Fraud"
        assert member.get("/dashboard/payments/").status_code != 200
        entry = AuditEntry.objects.get(action="business.closed")
        assert entry.after == {"is_active": False, "reason": "Fraud", "revoked": "1 key pair"}

    def test_ends_links_and_turns_transfers_into_unapplied_money(self, api, ada, client):
        link = make_link(api)
        number = api.post("/api/virtual-accounts", orders.static_account()).json()["customer"][
            "account_number"
        ]
        open_link = client.get(f"/l/{link.slug}").content.decode()
        post(staff(), ada.business, "close", reason="Fraud")

        incoming.receive_notification(
            Notice(
                bank_reference="nip-1",
                account_number=number,
                amount=40_000,
                currency="NGN",
                sender_name="Ann",
            )
        )

        assert client.get(f"/l/{link.slug}").content.decode() != open_link
        assert UnappliedMoney.objects.get().amount == 40_000

    def test_settles_what_is_owed(self, api, ada):
        api.post("/api/payments", orders.card_payment())
        post(staff(), ada.business, "close", reason="Fraud")

        (batch,) = settle()
        decide(batch, "approve", "release")

        assert SettlementBatch.objects.get().state == "released"

    def test_is_mailed_to_owners_without_its_reason(
        self, ada, mailoutbox, django_capture_on_commit_callbacks
    ):
        people = {role: MemberFactory(business=ada.business, role=role) for role in ("owner", "finance")}

        with django_capture_on_commit_callbacks(execute=True):
            post(staff(), ada.business, "close", reason="Suspected fraud")

        (mail,) = mailoutbox
        assert mail.subject == "Ada Books was closed"
        assert mail.to == [people["owner"].user.email]
        assert "payouts are frozen" in mail.body
        assert "fraud" not in mail.body

    def test_of_one_that_reopens_is_mailed_too(self, ada, mailoutbox, django_capture_on_commit_callbacks):
        MemberFactory(business=ada.business, role="owner")
        person = staff()
        post(person, ada.business, "close", reason="Fraud")

        with django_capture_on_commit_callbacks(execute=True):
            post(person, ada.business, "reopen", reason="Cleared")

        assert [mail.subject for mail in mailoutbox] == ["Ada Books was reopened"]
        assert "create new ones" in mailoutbox[0].body

    def test_needs_a_reason(self, ada):
        assert "Enter a reason" in post(staff(), ada.business, "close", reason=" ")
        assert is_active(ada.business)

    def test_keeps_an_earlier_freeze(self, ada):
        person = staff()
        post(person, ada.business, "freeze-payouts", reason="Stolen key")

        post(person, ada.business, "close", reason="Fraud")

        assert PayoutControls.objects.get().freeze_reason == "Stolen key"

    def test_freeze_is_not_lifted_before_it_is_reopened(self, ada):
        person = staff()
        post(person, ada.business, "close", reason="Fraud")

        refused = post(person, ada.business, "lift-freeze", reason="Sorry")

        assert "This business is closed. Reopen it before you lift the freeze." in refused
        assert PayoutControls.objects.get().frozen_at is not None
        post(person, ada.business, "reopen", reason="Cleared")
        assert "The freeze is lifted" in post(person, ada.business, "lift-freeze", reason="Cleared")

    def test_is_proposed_beside_an_open_proposal_to_lift_the_freeze(self, ada, settings):
        settings.FOUR_EYES = True
        payout_freezes.freeze(ada.business, reason="Stolen key", actor=STAFF, now=timezone.now())
        first, second = staff(), staff()
        post(first, ada.business, "lift-freeze", reason="Key found")
        assert "already an open proposal" in post(second, ada.business, "lift-freeze", reason="Again")

        post(first, ada.business, "close", reason="Fraud")

        closing = Proposal.objects.get(action=Proposal.Action.CLOSE_BUSINESS)
        second.post(f"/admin/payments/proposal/{closing.pk}/confirm/")
        assert not is_active(ada.business)
        lifting = Proposal.objects.get(action=Proposal.Action.LIFT_FREEZE)
        page = second.post(f"/admin/payments/proposal/{lifting.pk}/confirm/", follow=True).content.decode()
        assert "This business is closed." in page
        assert payout_freezes.is_frozen_business(ada.business.pk)

    def test_happens_once(self, ada):
        person = staff()
        post(person, ada.business, "close", reason="Fraud")

        again = post(person, ada.business, "close", reason="Fraud")

        assert "closed already" in again
        assert AuditEntry.objects.filter(action="business.closed").count() == 1


@pytest.mark.django_db(transaction=True)
def test_lift_waits_for_a_closing():
    business = BusinessFactory()
    payout_freezes.freeze(business, reason="Stolen key", actor=STAFF, now=timezone.now())

    def lift():
        try:
            payout_freezes.lift(business, reason="Key revoked", actor=STAFF, now=timezone.now())
        except InvalidState as refused:
            return str(refused.detail)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=1) as thread:
        with transaction.atomic():
            Business.objects.filter(pk=business.pk).update(is_active=False)
            lifted = thread.submit(lift)
            wait([lifted], timeout=1)

        assert "This business is closed" in lifted.result(timeout=30)
    assert PayoutControls.objects.get().frozen_at is not None


def test_reopened_business_has_no_keys_and_frozen_payouts(api, ada):
    person = staff()
    post(person, ada.business, "close", reason="Fraud")

    shown = post(person, ada.business, "reopen", reason="Cleared")

    assert "open again" in shown
    assert is_active(ada.business)
    assert api.get("/api/balance").json()["code"] == "unknown_key"
    assert PayoutControls.objects.get().frozen_at is not None


def test_logo_is_removed_with_a_reason(ada):
    change_logo(business=ada.business, image=Image(b"png", "image/png"), actor=STAFF, now=timezone.now())

    shown = post(staff(), ada.business, "remove-logo", reason="Not theirs")

    assert "The logo is removed" in shown
    assert Business.objects.get(pk=ada.business_id).logo is None
    assert AuditEntry.objects.filter(action="business.settings_changed").latest("pk").after == {
        "logo": "",
        "reason": "Not theirs",
    }


def test_page_says_what_the_business_is_owed(ada):
    fill_wallet(ada.business, 12_345)

    shown = staff().get(f"/admin/merchants/business/{ada.business_id}/change/").content.decode()

    assert "It is owed NGN 123.45 in its wallet." in shown
