"""Forms name the business they were rendered for, and change nothing after another one was selected."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest
from django.apps import apps
from django.contrib.auth import get_user
from django.urls import resolve
from django.utils import timezone

from dashboard.memberships import FORM_BUSINESS, SELECTED
from dashboard.models import SavedView
from merchants.models import Invitation, Member
from payments.models import Beneficiary, SettlementAccount
from tests.addresses import MEMBERS, RULES
from tests.dashboard.addresses import filled_form, filled_path
from tests.dashboard.people import signed_in
from tests.dashboard.test_authorisation import SWITCHER, here, members  # noqa: F401  (fixtures)
from tests.factories import MemberFactory
from tests.settlement_accounts import ACCOUNT
from virtual_accounts.models import VirtualAccount
from webhooks.exams import exams
from webhooks.exams.exam import ExamAnswer
from webhooks.exams.exam_records import Exam
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db, pytest.mark.long]

ACTIONS = {route for route in MEMBERS if RULES[route].writers} - {SWITCHER}
FURTHER_PAGES = [
    "dashboard/payments/{challenged}/",
    "dashboard/payments/?status=failed",  # whose filter can be saved
    "dashboard/views/{view}/",
    "dashboard/settings/",
    "dashboard/settings/close/",
    "dashboard/settings/payments/",
]
PAGES_OF_STATES = [
    "dashboard/virtual-accounts/{account}/",
    "dashboard/payouts/beneficiaries/{beneficiary}/",
    "dashboard/settings/settlement-account/",
    "dashboard/webhooks/deliveries/",
    "dashboard/webhooks/deliveries/{delivery}/",
    "dashboard/webhooks/replay/?state=dead&since=2020-01-01&until=2099-01-01",
    "dashboard/webhooks/exam/",
]
# Shown by batches in other states than the one that is visited.
OF_OTHER_BATCHES = {
    f"dashboard/payouts/batches/<uuid:batch_id>/{rest}"
    for rest in ("decide/", "items/<uuid:item_id>/", "retry/")
}


class Forms(HTMLParser):
    """The forms of a page that post: their actions and the values of their hidden fields."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.current = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self.current = (
                (given.get("action", ""), {}) if given.get("method", "").lower() == "post" else None
            )
            if self.current:
                self.found.append(self.current)
        elif tag == "input" and self.current and given.get("type") == "hidden":
            self.current[1][given["name"]] = given.get("value", "")

    def handle_endtag(self, tag):
        if tag == "form":
            self.current = None


@pytest.fixture
def owner(ada, bisi):
    """An owner of both businesses. Ada Books is selected."""
    member = MemberFactory(business=ada.business)
    Member.objects.create(business=bisi.business, user=member.user, role=Member.Role.OWNER)
    client = signed_in(member.user)
    select(client, ada.business)
    return client


def select(client, business):
    session = client.session
    session[SELECTED] = str(business.pk)
    session.save()


def rows():
    """Return every row of the database that a form could change."""
    skipped = {"Session", "UserSession"}
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in apps.get_models()
        if model.__name__ not in skipped
    }


def forms_on(client, pages):
    """Yield route and hidden fields of each form on the pages that acts in a business."""
    for page in pages:
        response = client.get(page)
        if not page.startswith("/dashboard/") or not response["Content-Type"].startswith("text/html"):
            continue
        for action, hidden in Forms(response.content.decode()).found:
            route = resolve(urlsplit(urljoin(page, action)).path).route
            if route in ACTIONS:
                yield route, hidden


class TestForms:
    def test_name_their_business_on_every_page(self, owner, ada, here):  # noqa: F811
        SavedView.objects.update(member=Member.objects.get(business=ada.business, user=get_user(owner)))
        pages = [filled_path(route, here) for route in MEMBERS if RULES[route].readers]
        pages += [f"/{page.format_map(here)}" for page in FURTHER_PAGES]
        found = list(forms_on(owner, pages))
        Delivery.objects.update(state=Delivery.State.DEAD)
        exam = Exam.objects.get()
        exams.finish(
            exam.pk, {each.number: ExamAnswer(204, "", 1.0) for each in exam.all_requests}, now=timezone.now()
        )
        VirtualAccount.objects.update(status=VirtualAccount.Status.INACTIVE, deactivated_at=timezone.now())
        Beneficiary.objects.update(blocked_at=timezone.now())
        SettlementAccount.objects.update(
            **ACCOUNT, since=timezone.now(), paused_at=timezone.now(), pause_reason="Closed account"
        )
        found += forms_on(owner, [f"/{page.format_map(here)}" for page in PAGES_OF_STATES])

        assert {route for route, _ in found} == ACTIONS - OF_OTHER_BATCHES
        assert {hidden.get(FORM_BUSINESS) for _, hidden in found} == {str(ada.business_id)}

    def test_change_nothing_in_another_business(self, subtests, owner, ada, bisi, here):  # noqa: F811
        select(owner, bisi.business)
        before = rows()

        for route in sorted(ACTIONS):
            path, form = filled_path(route, here), filled_form(route, here)
            for named in ({FORM_BUSINESS: str(ada.business_id)}, {}, {FORM_BUSINESS: "nonsense"}):
                with subtests.test(route, named=named):
                    response = owner.post(path, form | named)

                    assert response.status_code == 409
                    assert "You have switched to <bdi>Bisi Bikes</bdi>. Nothing was changed." in text(
                        response
                    )
            assert rows() == before, route


class TestBusinessOfForm:
    INVITATION = {"email": "new@example.com", "role": "viewer"}
    PATH = "/dashboard/team/invite/"

    def test_may_be_posted_to_the_selected_business(self, owner, ada):
        response = owner.post(self.PATH, self.INVITATION | {FORM_BUSINESS: str(ada.business_id)})

        assert response.status_code == 200
        assert Invitation.objects.get().business == ada.business

    def test_must_be_the_same_in_every_field(self, owner, ada, bisi):
        both = [str(bisi.business_id), str(ada.business_id)]

        response = owner.post(self.PATH, self.INVITATION | {FORM_BUSINESS: both})

        assert response.status_code == 409
        assert not Invitation.objects.exists()

    def test_may_be_missing_if_the_user_has_a_single_one(self, browser, ada):
        browser.post(self.PATH, self.INVITATION)

        assert Invitation.objects.get().business == ada.business

    def test_leads_back_to_its_own_business(self, owner, ada, bisi):
        select(owner, bisi.business)
        refused = owner.post(self.PATH, self.INVITATION | {FORM_BUSINESS: str(ada.business_id)})

        assert "Switch to <bdi>Ada Books</bdi>" in text(refused)
        switched = owner.post("/dashboard/business/", {"business": str(ada.business_id)})

        assert switched.status_code == 302
        assert owner.session[SELECTED] == str(ada.business_id)

    def test_offers_no_way_back_to_a_business_of_others(self, browser, bisi):
        refused = browser.post(self.PATH, self.INVITATION | {FORM_BUSINESS: str(bisi.business_id)})

        assert refused.status_code == 409
        assert "Bisi" not in text(refused)

    def test_is_checked_before_the_password_is_asked_for(self, owner, ada, bisi):
        select(owner, bisi.business)
        session = owner.session
        session["account_authentication_methods"] = [{"method": "password", "at": 1}]
        session.save()

        refused = owner.post(self.PATH, self.INVITATION | {FORM_BUSINESS: str(ada.business_id)})

        assert refused.status_code == 409


def text(response):
    return re.sub(r"\s+", " ", response.content.decode())
