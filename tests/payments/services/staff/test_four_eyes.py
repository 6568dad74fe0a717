"""Staff actions that move money: proposed by one person, confirmed by another."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from ledger.models import Account, Entry
from merchants.models import AuditEntry, User
from merchants.people.audit import Actor
from payments.models import Proposal, SettlementBatch, Transaction
from payments.services.staff import four_eyes, staff_actions
from payments.services.staff.actions import journal_actions
from tests import orders
from tests.addresses import is_asked
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.payments.views.test_settlements import pay
from tests.racing import racers
from tests.settling import decide, settle
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db

TOP_UP = "/admin/ledger/entry/add/"


@pytest.fixture(autouse=True)
def _four_eyes(settings):
    settings.FOUR_EYES = True


def person(email, **changes):
    return UserFactory(**{"email": email, "is_staff": True, "is_superuser": True} | changes)


@pytest.fixture
def first(db):
    return signed_in(person("first@example.com"), client=Client())


@pytest.fixture
def second(db):
    return signed_in(person("second@example.com"), client=Client())


def top_up(business, **changes):
    form = {"business": business.pk, "currency": "NGN", "amount": "5.00", "note": "Float", "cause": uuid4()}
    return form | changes


def page(proposal, what="change"):
    return f"/admin/payments/proposal/{proposal.pk}/{what}/"


def confirm(client, proposal):
    return client.post(page(proposal, "confirm"), follow=True).content.decode()


def wallet(business):
    return Account.objects.get(business=business, kind="wallet", currency="NGN").balance


class TestTopUp:
    def test_is_booked_once_a_second_person_confirms(self, first, second, ada):
        shown = first.post(TOP_UP, top_up(ada.business), follow=True).content.decode()

        assert "awaits another person" in shown
        assert not Entry.objects.exists()
        proposal = Proposal.objects.get()
        assert "NGN 5.00" in second.get("/admin/payments/proposal/").content.decode()
        assert "The proposal was confirmed and performed." in confirm(second, proposal)
        assert wallet(ada.business) == 500
        assert "was already decided" in confirm(second, proposal)
        assert wallet(ada.business) == 500

    def test_shows_what_is_confirmed_beside_the_button(self, first, second, ada):
        first.post(TOP_UP, top_up(ada.business))

        shown = second.get(page(Proposal.objects.get(), "change")).content.decode()

        beside = shown.partition("Confirm or decline")[2].partition("Confirm proposal")[0]
        assert "proposed by first@example.com" in beside
        assert f"<dd>{ada.business.name}</dd>" in beside
        assert "<dd>Float</dd>" in beside
        assert "<dd>None was given.</dd>" in beside

    def test_proposer_cannot_confirm(self, first, ada):
        first.post(TOP_UP, top_up(ada.business))
        proposal = Proposal.objects.get()

        assert "Another person must confirm" in confirm(first, proposal)
        assert not Entry.objects.exists()
        assert Proposal.objects.get().state == "open"

    def test_is_audited_from_proposal_to_entry(self, first, second, ada):
        first.post(TOP_UP, top_up(ada.business))
        confirm(second, Proposal.objects.get())

        trail = AuditEntry.objects.filter(business=ada.business).order_by("pk")
        assert [(entry.action, entry.actor) for entry in trail] == [
            ("proposal.opened", "first@example.com"),
            ("wallet.topped_up", "second@example.com"),
            ("proposal.confirmed", "second@example.com"),
        ]
        assert trail[0].after["reason"] == "Float"
        assert trail[2].before["proposed_by"] == "first@example.com"

    def test_submitted_twice_is_proposed_once(self, first, ada):
        form = top_up(ada.business)
        first.post(TOP_UP, form)

        shown = first.post(TOP_UP, form, follow=True).content.decode()

        assert "There is already an open proposal for this." in shown
        assert Proposal.objects.count() == 1

    def test_is_performed_at_once_without_four_eyes(self, first, ada, settings):
        settings.FOUR_EYES = False

        first.post(TOP_UP, top_up(ada.business))

        assert wallet(ada.business) == 500
        assert not Proposal.objects.exists()


class TestBatch:
    @pytest.fixture
    def batch(self, api):
        pay(api)
        return settle()[0]

    def decide(self, client, batch, decision):
        address = f"/admin/payments/settlementbatch/{batch.pk}/decide/"
        return client.post(address, {"decision": decision, "reason": "Bank has it"}, follow=True)

    def test_approval_and_release_each_need_a_second_person(self, first, second, batch):
        for decision, before in (("approved", "pending"), ("released", "approved")):
            self.decide(first, batch, decision)
            batch.refresh_from_db()
            assert batch.state == before
            proposal = Proposal.objects.get(state="open")
            assert (proposal.amount, proposal.currency) == (batch.net, "NGN")
            confirm(second, proposal)
            batch.refresh_from_db()
            assert batch.state == decision

        assert wallet(batch.business) == batch.net

    def test_rejection_needs_one_person(self, first, batch):
        self.decide(first, batch, "rejected")

        batch.refresh_from_db()
        assert batch.state == "rejected"

    def test_confirmation_checks_the_state_again(self, first, second, batch):
        self.decide(first, batch, "approved")
        decide(batch, "reject")

        assert "cannot become approved" in confirm(second, Proposal.objects.get())
        assert Proposal.objects.get().state == "open"
        assert SettlementBatch.objects.get().state == "rejected"

    def test_action_that_the_state_forbids_is_not_proposed(self, first, batch):
        shown = self.decide(first, batch, "released").content.decode()

        assert "cannot become released" in shown
        assert not Proposal.objects.exists()


class TestUnapplied:
    @pytest.fixture
    def money(self, ada):
        return mismatched_money(business=ada.business, now=timezone.now())

    def address(self, money, what):
        return f"/admin/virtual_accounts/unappliedmoney/{money.pk}/{what}/"

    def test_credit_needs_a_second_person(self, first, second, money):
        first.post(self.address(money, "credit"), {"reason": "Theirs"})
        money.refresh_from_db()
        assert money.is_open

        confirm(second, Proposal.objects.get())

        money.refresh_from_db()
        assert (money.state, wallet(money.business)) == ("credited", money.amount)

    def test_return_is_sent_to_the_bank_after_confirmation(self, first, second, money):
        form = {"reason": "Not theirs", "account_number": "0123456789", "bank_code": "058"}
        first.post(self.address(money, "return"), form)
        assert not Transaction.objects.filter(request_type="payout").exists()

        confirm(second, Proposal.objects.get())

        payout = Transaction.objects.get(request_type="payout")
        assert (payout.status, payout.amount, payout.account_number) == (
            "success",
            money.amount,
            "0123456789",
        )


class TestPayoutReversal:
    def test_needs_a_second_person(self, first, second, api, ada):
        fill_wallet(ada.business, 1_000_000)
        payout = api.post("/api/payments", orders.payout(amount=100_000)).json()
        before = wallet(ada.business)

        first.post(
            "/admin/payments/payoutreturn/add/", {"transaction": payout["id"], "reason": "Bank returned it"}
        )
        assert wallet(ada.business) == before
        confirm(second, Proposal.objects.get())

        assert wallet(ada.business) == before + 100_000


class TestDecline:
    def test_closes_a_proposal_without_performing_it(self, first, second, ada):
        first.post(TOP_UP, top_up(ada.business))
        proposal = Proposal.objects.get()

        second.post(page(proposal, "decline"), {"reason": "Wrong business"})

        proposal.refresh_from_db()
        assert (proposal.state, proposal.decision_reason) == ("declined", "Wrong business")
        assert "was already decided" in confirm(second, proposal)
        assert not Entry.objects.exists()

    def test_needs_a_reason(self, first, second, ada):
        first.post(TOP_UP, top_up(ada.business))
        proposal = Proposal.objects.get()

        second.post(page(proposal, "decline"), {"reason": ""})

        assert Proposal.objects.get().state == "open"

    def test_proposer_withdraws_and_may_propose_again(self, first, ada):
        form = top_up(ada.business)
        first.post(TOP_UP, form)

        first.post(page(Proposal.objects.get(), "decline"), {"reason": "Typing error"})
        first.post(TOP_UP, form)

        assert sorted(Proposal.objects.values_list("state", flat=True)) == ["declined", "open"]


class TestExpiry:
    def test_expired_proposal_cannot_be_confirmed(self, first, second, ada, monkeypatch):
        first.post(TOP_UP, top_up(ada.business))
        proposal = Proposal.objects.get()
        actor = Actor(name="second@example.com")

        with pytest.raises(four_eyes.NotOpen):
            four_eyes.confirm(
                proposal.pk, user=person("third@example.com"), actor=actor, now=proposal.expires_at
            )

        proposal.refresh_from_db()
        assert (proposal.state, proposal.decided_by) == ("expired", None)
        assert not Entry.objects.exists()
        assert AuditEntry.objects.filter(action="proposal.expired").count() == 1

    def test_page_hides_expired_proposals(self, first, ada):
        first.post(TOP_UP, top_up(ada.business, note="Old float"))
        proposal = Proposal.objects.get()
        late = timezone.now() - timedelta(days=4)
        changes = {
            "created_at": late,
            "expires_at": late + four_eyes.LIFETIME,
            "target": uuid4(),
            "id": uuid4(),
        }
        fields = {field.attname: getattr(proposal, field.attname) for field in Proposal._meta.concrete_fields}
        Proposal.objects.create(**fields | changes | {"reason": "Forgotten float"})

        shown = first.get("/admin/payments/proposal/").content.decode()
        everything = first.get("/admin/payments/proposal/?state=all").content.decode()

        assert "Old float" in shown
        assert "Forgotten float" not in shown
        assert "Forgotten float" in everything


class TestRights:
    def test_confirmation_needs_the_permission(self, first, ada):
        first.post(TOP_UP, top_up(ada.business))
        view_only = person("looks@example.com", is_superuser=False)
        view_only.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
        client = signed_in(view_only, client=Client())
        proposal = Proposal.objects.get()

        assert "Confirm proposal" not in client.get(page(proposal)).content.decode()
        for what in ("confirm", "decline"):
            assert client.post(page(proposal, what), {"reason": "x"}).status_code == 403
        assert Proposal.objects.get().state == "open"

    def test_confirmation_needs_the_current_permission(self, first, ada):
        """The confirming user's session was loaded before the permission was withdrawn."""
        second = person("second@example.com")
        first.post(TOP_UP, top_up(ada.business))
        proposal = Proposal.objects.get()
        assert second.has_perm("ledger.add_entry")
        User.objects.filter(pk=second.pk).update(is_superuser=False)

        with pytest.raises(four_eyes.NotPermitted):
            four_eyes.confirm(proposal.pk, user=second, actor=Actor(name=second.email), now=timezone.now())

        assert not Entry.objects.exists()

    @pytest.mark.parametrize("loss", [{"is_active": False}, {"is_staff": False}, {"is_superuser": False}])
    def test_proposal_of_a_user_who_lost_the_permission_cannot_be_confirmed(self, first, second, ada, loss):
        first.post(TOP_UP, top_up(ada.business))
        User.objects.filter(email="first@example.com").update(**loss)

        assert "no longer has permission" in confirm(second, Proposal.objects.get())

        assert not Entry.objects.exists()
        assert Proposal.objects.get().state == "open"
        second.post(page(Proposal.objects.get(), "decline"), {"reason": "Left the company"})
        assert Proposal.objects.get().state == "declined"

    def test_right_that_came_after_the_proposal_does_not_count(self, first, ada):
        first.post(TOP_UP, top_up(ada.business))
        accomplice = signed_in(person("accomplice@example.com"), client=Client())

        assert "after it was proposed" in confirm(accomplice, Proposal.objects.get())

        assert not Entry.objects.exists()
        assert Proposal.objects.get().state == "open"

    def test_confirmation_needs_recent_reauthentication(self, first, ada):
        stale = person("stale@example.com")
        first.post(TOP_UP, top_up(ada.business))
        proposal = Proposal.objects.get()
        stale.set_password("a long enough password")
        stale.save()
        client = signed_in(stale, fresh=False, client=Client(enforce_csrf_checks=True))
        shown = client.get(page(proposal))
        token = shown.context["csrf_token"]

        asked = client.post(page(proposal, "confirm"), {"csrfmiddlewaretoken": str(token)})

        assert is_asked(asked)
        assert not Entry.objects.exists()
        answer = client.get("/dashboard/confirm/")
        form = {
            "password": "a long enough password",
            "csrfmiddlewaretoken": str(answer.context["csrf_token"]),
        }
        client.post("/dashboard/confirm/", form)
        assert not Entry.objects.exists()
        client.post(page(proposal, "confirm"), {"csrfmiddlewaretoken": str(asked.context["csrf_token"])})
        assert wallet(ada.business) == 500

    def test_every_action_has_a_permission_that_exists(self, subtests):
        for kind in staff_actions.PERMISSIONS:
            with subtests.test(kind=kind):
                app, codename = staff_actions.PERMISSIONS[kind].split(".")

                assert Permission.objects.filter(content_type__app_label=app, codename=codename).exists()
                assert set(staff_actions.PERMISSIONS) == set(Proposal.Action.values)


class TestDatabase:
    def test_refuses_a_confirmation_by_the_proposer(self, first, ada):
        first.post(TOP_UP, top_up(ada.business))
        proposal = Proposal.objects.get()

        for decided_by in (proposal.proposed_by, None):
            with pytest.raises(IntegrityError), transaction.atomic():
                proposal.decide(Proposal.State.CONFIRMED, by=decided_by, reason="", now=timezone.now())

    @pytest.mark.parametrize(
        "changes",
        [
            {"amount": 501},
            {"reason": "Other"},
            {"parameters": {"a": "b"}},
            {"made_about": {}},
            {"confirmers": []},
        ],
    )
    def test_protects_a_proposal(self, first, ada, changes):
        first.post(TOP_UP, top_up(ada.business))

        with pytest.raises(IntegrityError), transaction.atomic():
            Proposal.objects.update(**changes)
        with pytest.raises(IntegrityError), transaction.atomic():
            Proposal.objects.all().delete()

    def test_protects_a_decision(self, first, second, ada):
        first.post(TOP_UP, top_up(ada.business))
        second.post(page(Proposal.objects.get(), "decline"), {"reason": "No"})

        with pytest.raises(IntegrityError), transaction.atomic():
            Proposal.objects.update(state="open", decided_at=None)


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_confirmations_perform_it_once(ada):
    """Tests the lock on the proposal. Without it, both would perform the action."""
    proposer, *others = (person(f"{n}@example.com") for n in range(3))
    now = timezone.now()

    def confirm_as(user, proposal):
        return lambda: four_eyes.confirm(proposal.pk, user=user, actor=Actor(name=user.email), now=now)

    with racers(2) as threads:
        for turn in range(1, 6):
            action = journal_actions.top_up(
                business=ada.business, currency="NGN", amount=500, cause=uuid4(), reason="Float"
            )
            proposal = four_eyes.submit(action, user=proposer, actor=Actor(name="0@example.com"), now=now)

            results = threads.race(*(confirm_as(user, proposal) for user in others))

            assert sorted(type(each).__name__ for each in results) == ["NotOpen", "Proposal"]
            assert wallet(ada.business) == 500 * turn
