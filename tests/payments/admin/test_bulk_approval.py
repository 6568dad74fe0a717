"""Approve several settlement batches at once."""

from decimal import Decimal
from threading import Thread
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.test import Client

from merchants.models import AuditEntry
from payments.models import Proposal, SettlementBatch
from tests import orders
from tests.addresses import is_asked
from tests.dashboard.account.test_reauthentication import stale
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.racing import racers
from tests.settling import decide, settle

pytestmark = pytest.mark.django_db

BATCHES = "/admin/payments/settlementbatch/"
PROPOSALS = "/admin/payments/proposal/"


def browser_of(email):
    person = UserFactory(email=email, is_staff=True, is_superuser=True)
    return signed_in(person, client=Client())


@pytest.fixture
def staff():
    return browser_of("staff@example.com")


def make_batches(api, count):
    for number in range(count):
        api.post("/api/payments", orders.card_payment(reference=f"order-{number}", amount=50_000))
        settle()
    return list(SettlementBatch.objects.order_by("pk"))


@pytest.fixture
def batches(api):
    return make_batches(api, 3)


def choose(browser, rows, address=BATCHES):
    """Choose rows in the list, and return the page that shows their sum."""
    form = {"action": "choose", "_selected_action": [str(row.pk) for row in rows]}
    return browser.post(address, form, follow=True)


def confirm(browser, page, **changes):
    """Send the form of the page."""
    possible = [item.row for item in page.context["possible"]]
    form = {"_selected_action": [str(row.pk) for row in possible], "sums": page.context["sums"]}
    form |= {"reason": "The bank has the money."} | changes
    return browser.post(page.request["PATH_INFO"], form, follow=True)


def said(page):
    return [str(message) for message in page.context["messages"]]


def sum_of(batches):
    return f"NGN {Decimal(sum(each.net for each in batches)) / 100:,.2f}"


class TestBulkApproval:
    def test_shows_the_batches_and_their_sum_before(self, staff, batches):
        page = choose(staff, batches)

        shown = page.content.decode()
        assert urlsplit(page.request["PATH_INFO"]).path == f"{BATCHES}approve/"
        assert "3 batches" in shown
        assert sum_of(batches) in shown
        assert set(SettlementBatch.objects.values_list("state", flat=True)) == {"pending"}

    def test_approves_and_audits_each(self, staff, batches):
        answer = confirm(staff, choose(staff, batches))

        assert said(answer) == [f"Approved 3 batches: {sum_of(batches)}."]
        assert set(SettlementBatch.objects.values_list("state", "reason")) == {
            ("approved", "The bank has the money.")
        }
        entries = AuditEntry.objects.filter(action="settlement_batch.approved", actor="staff@example.com")
        assert set(entries.values_list("target", flat=True)) == {str(each.pk) for each in batches}

    def test_leaves_out_and_names_batches_in_another_state(self, staff, batches):
        decide(batches[0], "approve")
        page = choose(staff, batches)

        assert "It is approved." in page.content.decode()
        assert page.context["sums"] == sum_of(batches[1:])
        assert said(confirm(staff, page)) == [f"Approved 2 batches: {sum_of(batches[1:])}."]

    def test_decides_nothing_if_a_batch_changed_after_the_page_was_shown(self, staff, batches):
        page = choose(staff, batches)
        decide(batches[0], "reject")

        answer = confirm(staff, page)

        assert said(answer) == ["Some of them have changed. Check the list and the sum again."]
        assert SettlementBatch.objects.filter(state="approved").count() == 0

    @pytest.mark.parametrize("reason", ["", " ", "x" * 256])
    def test_needs_a_reason(self, staff, batches, reason):
        answer = confirm(staff, choose(staff, batches), reason=reason)

        assert answer.context["form"].errors["reason"]
        assert not SettlementBatch.objects.filter(state="approved").exists()

    def test_needs_a_selection(self, staff, batches):
        for query in ("", "?id=x", "?id=" + "&id=".join(str(batches[0].pk) for _ in range(101))):
            answer = staff.get(f"{BATCHES}approve/{query}", follow=True)
            assert said(answer) == ["Select at least one and at most 100 batches."]

    def test_needs_the_permission(self, batches):
        person = UserFactory(is_staff=True)
        person.user_permissions.set(Permission.objects.filter(codename="view_settlementbatch"))
        client = signed_in(person, client=Client())

        assert "Approve batches" not in client.get(BATCHES).content.decode()
        assert client.get(f"{BATCHES}approve/?id={batches[0].pk}").status_code == 403
        assert client.post(f"{BATCHES}approve/", {"_selected_action": batches[0].pk}).status_code == 403


class TestFourEyes:
    @pytest.fixture(autouse=True)
    def _four_eyes(self, settings):
        settings.FOUR_EYES = True

    def test_proposes_each_and_another_person_confirms_them_together(self, staff, batches):
        second = browser_of("second@example.com")
        proposed = confirm(staff, choose(staff, batches))
        assert "Another person must confirm it." in said(proposed)[0]
        assert not SettlementBatch.objects.filter(state="approved").exists()

        own = choose(staff, Proposal.objects.all(), PROPOSALS)
        assert "Another person must confirm it." in own.content.decode()
        assert own.context["possible"] == []
        answer = confirm(second, choose(second, Proposal.objects.all(), PROPOSALS))

        assert said(answer) == [f"Confirmed 3 approvals: {sum_of(batches)}."]
        assert set(SettlementBatch.objects.values_list("state", flat=True)) == {"approved"}

    def test_shows_the_proposal_on_the_batch_instead_of_its_form(self, staff, batches):
        address = f"{BATCHES}{batches[0].pk}/change/"
        before = staff.get(address).content.decode()
        confirm(staff, choose(staff, batches[:1]))

        page = staff.get(address).content.decode()

        assert 'value="approved"' in before
        assert 'value="approved"' not in page
        assert 'value="rejected"' in page
        assert f"<strong>Approve a settlement batch, {sum_of(batches[:1])}</strong>" in page
        assert "Another person must confirm it until " in page
        assert f'href="{PROPOSALS}{Proposal.objects.get().pk}/change/"' in page

    def test_names_batches_with_an_open_proposal(self, staff, batches):
        confirm(staff, choose(staff, batches[:1]))

        answer = confirm(staff, choose(staff, batches))

        assert "Proposed the approval of 2 batches" in said(answer)[0]
        assert "There is already an open proposal for this." in said(answer)[1]


@pytest.mark.django_db(transaction=True)
def test_two_people_approve_each_batch_once(api):
    """Tests the lock of a batch and the condition of its update. Without both, both people approve it."""
    batches = make_batches(api, 4)
    people = [browser_of(f"{number}@example.com") for number in range(2)]
    pages = [choose(person, batches) for person in people]

    with racers(2) as threads:
        answers = threads.race(*(
            lambda person=person, page=page: confirm(person, page)
            for person, page in zip(people, pages, strict=True)
        ))  # fmt: skip

    assert [answer.status_code for answer in answers] == [200, 200]
    entries = AuditEntry.objects.filter(action="settlement_batch.approved")
    assert sorted(entries.values_list("target", flat=True)) == sorted(str(each.pk) for each in batches)
    assert set(SettlementBatch.objects.values_list("state", flat=True)) == {"approved"}


class TestRecentAuthentication:
    def test_is_needed_and_nothing_is_approved_before(self, batches):
        person = UserFactory(email="late@example.com", password=PASSWORD, is_staff=True, is_superuser=True)
        page = choose(signed_in(person, client=Client()), batches)

        asked = confirm(stale(person), page)

        assert is_asked(asked)
        assert not SettlementBatch.objects.filter(state="approved").exists()


class TestProposer:
    @pytest.fixture(autouse=True)
    def _four_eyes(self, settings):
        settings.FOUR_EYES = True

    def test_cannot_confirm_with_a_form_of_another_person(self, staff, batches):
        confirm(staff, choose(staff, batches))
        page = choose(browser_of("second@example.com"), Proposal.objects.all(), PROPOSALS)

        answer = confirm(staff, page)

        assert said(answer) == ["Some of them have changed. Check the list and the sum again."]
        assert set(Proposal.objects.values_list("state", flat=True)) == {"open"}
        assert not SettlementBatch.objects.filter(state="approved").exists()


@pytest.mark.django_db(transaction=True)
def test_two_people_confirm_each_proposal_once(api, settings):
    settings.FOUR_EYES = True
    batches = make_batches(api, 3)
    proposer = browser_of("proposer@example.com")
    people = [browser_of(f"{number}@example.com") for number in range(2)]
    confirm(proposer, choose(proposer, batches))
    pages = [choose(person, Proposal.objects.all(), PROPOSALS) for person in people]

    with racers(2) as threads:
        threads.race(*(
            lambda person=person, page=page: confirm(person, page)
            for person, page in zip(people, pages, strict=True)
        ))  # fmt: skip

    approved = AuditEntry.objects.filter(action="settlement_batch.approved").values_list("target", flat=True)
    assert sorted(approved) == sorted(str(each.pk) for each in batches)


@pytest.mark.django_db(transaction=True)
def test_batches_that_one_person_approves_and_another_rejects_get_one_decision_each(api):
    batches = make_batches(api, 4)
    first, second = browser_of("first@example.com"), browser_of("second@example.com")
    page = choose(first, batches)

    def reject_each():
        form = {"decision": "rejected", "reason": "The file is short."}
        return [second.post(f"{BATCHES}{each.pk}/decide/", form).status_code for each in batches]

    with racers(2) as threads:
        answer, rejections = threads.race(lambda: confirm(first, page), reject_each)

    assert (answer.status_code, set(rejections)) == (200, {302})
    for batch in SettlementBatch.objects.all():
        (decision,) = batch.transitions.filter(before="pending")
        assert decision.after == batch.state
        items = batch.items.filter(operation=None)
        assert set(items.values_list("transaction__settle_status", flat=True)) == {batch.state}
        assert set(items.values_list("is_live", flat=True)) == {batch.state == "approved"}
        audited = AuditEntry.objects.filter(target=str(batch.pk), action__startswith="settlement_batch")
        assert [entry.action for entry in audited] == [f"settlement_batch.{batch.state}"]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no row locks")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_decision_waits_for_that_of_another_person(api, decision):
    """Tests the lock on the batch. Without it, the second person's decision would be about a state of the past."""
    (batch,) = make_batches(api, 1)
    person = browser_of("second@example.com")
    page = choose(person, [batch])
    answers = []

    def confirm_and_disconnect():
        try:
            answers.append(confirm(person, page))
        finally:
            connection.close()

    second = Thread(target=confirm_and_disconnect)

    with transaction.atomic():
        batch = decide(batch, decision)
        second.start()
        second.join(timeout=1)
        assert second.is_alive()
    second.join(timeout=30)

    (answer,) = answers
    assert f"A batch that is {batch.state} cannot become approved." in " ".join(said(answer))
    assert batch.transitions.filter(before="pending").count() == 1
