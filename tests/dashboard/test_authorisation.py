"""Every URL of the dashboard is requested with every method by every kind of user.

The URLs and their rules come from the URL configuration. Who may use a URL gets what it answers to its rows, all of
business A; the owner of B must not find them.
"""

import copy

import pytest
from allauth.usersessions.models import UserSession
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.models import SavedView
from kit.time.time_ordered_ids import new_id
from merchants.models import Member
from merchants.people import team
from merchants.people.access import Who
from merchants.people.audit import Actor
from merchants.people.roles import GRANTS, Permission, Role, denial_reason, may
from payments.models import SettlementBatch
from payments.services.events.receiver_exams import examine_endpoint
from payments.services.refunds import refunds
from tests import orders
from tests.addresses import RULES, UNSAFE
from tests.batches import checked_batch
from tests.beneficiaries import beneficiary_of
from tests.dashboard.addresses import ROWS, filled_form, filled_path
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.guest_links import guest_link_of
from tests.dashboard.people import passkey_of, signed_in
from tests.disputed import disputed, with_a_file
from tests.factories import MemberFactory, UserFactory
from tests.fee_invoices import invoice_of
from tests.links import begin, link_of, pay_by_transfer
from tests.logged_calls import logged_call
from tests.payout_controls import waiting_change, waiting_payout
from tests.settlement_accounts import waiting_account
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_delivery, make_endpoint
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts

pytestmark = [pytest.mark.django_db, pytest.mark.long]

DASHBOARD = {route: rule for route, rule in RULES.items() if route.startswith("dashboard/")}
STAFF = ["staff", "staff without rights"]
PEOPLE = ["anonymous", *Role.values, "owner of B", *STAFF]
# Methods that no page has are the same to everybody.
METHODS = {who: ("get", *UNSAFE) if who in {"anonymous", Role.OWNER} else ("get", "post") for who in PEOPLE}
ALLAUTHS = "dashboard/confirm/passkey/"  # redirects to sign-in after a wrong passkey
WITHOUT_SIGN_IN = {Who.PUBLIC, Who.INVITED, Who.MAILED}
SWITCHER = "dashboard/business/"  # its form names business A
OF_ONE_MEMBER = {"dashboard/views/<int:view_id>/"}  # of the owner of A
SIGN_IN, REFUSED, NOT_FOUND, NOT_ALLOWED, OPEN = "sign-in", 403, 404, 405, "open"


def people_of(rule, method):
    return {"get": rule.readers, "post": rule.writers}.get(method)


def expected(route, people, who):
    """Return what a URL of these people answers: OPEN for its own answer, otherwise why a request is refused."""
    if people is None:
        return NOT_ALLOWED
    if people in WITHOUT_SIGN_IN or (people == Who.PERSON and who != "anonymous"):
        return OPEN
    return SIGN_IN if who == "anonymous" else expected_of_members(route, people, who)


def expected_of_members(route, people, who):
    role = Role.OWNER if who == "owner of B" else who
    if who in STAFF or not may(role, Permission(people)):
        return REFUSED
    is_of_a = route == SWITCHER or any(f":{parameter}>" in route for parameter in ROWS)
    is_hidden = (who == "owner of B" and is_of_a) or (route in OF_ONE_MEMBER and who != Role.OWNER)
    return NOT_FOUND if is_hidden else OPEN


def kind_of(response, people):
    if response.status_code in {REFUSED, NOT_ALLOWED}:
        return response.status_code
    if response.status_code == NOT_FOUND and people != Who.PERSON:
        return NOT_FOUND  # on one's own account, the row of another user or a factor that isn't set up yet
    is_to_sign_in = response.status_code == 302 and response["Location"].startswith(reverse("sign-in"))
    return SIGN_IN if is_to_sign_in and people not in WITHOUT_SIGN_IN else OPEN


def send(client, method, path, form):
    """Return the response to a request that changes nothing for the next one."""
    cookies = copy.deepcopy(client.cookies)
    cache.clear()  # limits have their own tests
    with transaction.atomic():
        response = getattr(client, method)(path, form) if method == "post" else getattr(client, method)(path)
        transaction.set_rollback(True)
    client.cookies = cookies
    return response


@pytest.fixture
def members(ada):
    return {
        role: MemberFactory(business=ada.business, role=role, user__password=PASSWORD).user for role in Role
    }


@pytest.fixture
def here(ada, bisi, members):
    """The rows that paths and forms of the table refer to. All belong to business A or its owner."""
    owner, now = members[Role.OWNER], timezone.now()
    endpoint = make_endpoint(business=ada.business)
    offer = team.invite(
        business=ada.business,
        email="invited@example.com",
        role=Role.VIEWER,
        inviter=owner,
        actor=Actor(name="test"),
        now=now,
    )
    wanted = read_account(orders.dynamic_account(), business=ada.business)
    account = accounts.create(business=ada.business, request=wanted, now=now).resource
    batch = SettlementBatch.objects.create(
        id=new_id(now), business=ada.business, currency="NGN", day=now.date(), created_at=now
    )
    link = link_of(ada.business, now=now)
    batch_of = checked_batch(ada.business)
    dispute = disputed(captured_payment(business=ada.business, now=now))
    return {
        "dispute": dispute.pk,
        "evidence": with_a_file(dispute).pk,
        "key": ada.pk,
        "member": MemberFactory(business=ada.business, role=Role.VIEWER).pk,
        "leaver": MemberFactory(business=ada.business, role=Role.VIEWER).pk,
        "invitation": offer.invitation.pk,
        "token": offer.token,
        "business": str(ada.business_id),
        "guest_link": guest_link_of(owner, ada.business)[0].pk,
        "month": f"{now.astimezone(ada.business.zone):%Y-%m}",
        "payment": captured_payment(business=ada.business, now=now).pk,
        "refund": refunds.refund(
            transaction=captured_payment(business=ada.business, now=now),
            request={"reference": "refund-0", "amount": 1},
            now=now,
        ).resource.pk,
        "authorised": authorised_payment(business=ada.business, now=now).pk,
        "challenged": challenged_payment(business=ada.business, now=now).pk,
        "payout": start(orders.payout(), business=ada.business, now=now).pk,
        "waiting": waiting_payout(ada.business).pk,
        "change": waiting_change(ada.business, made_by=owner).pk,
        "account_change": waiting_account(ada.business, made_by=owner).pk,
        "delivery": make_delivery(endpoint).pk,
        "exam": examine_endpoint(ada.business, actor=Actor(name="test"), now=now).pk,
        "account": account.pk,
        "call": logged_call(ada.business).pk,
        "link": link.pk,
        "attempt": pay_by_transfer(begin(link)).pk,
        "beneficiary": beneficiary_of(ada.business).pk,
        "payout_batch": batch_of.pk,
        "item": batch_of.items.first().pk,
        "unapplied": mismatched_money(business=ada.business, now=now).pk,
        "batch": batch.pk,
        "key_made_at": endpoint.key_made_at.isoformat(),
        "endpoint": make_endpoint(business=ada.business, number=1, url="http://127.0.0.1:9/2").public_id,
        "unwanted_endpoint": make_endpoint(
            business=ada.business, number=2, url="http://127.0.0.1:9/3"
        ).public_id,
        "passkey": passkey_of(owner).pk,
        "view": SavedView.objects.create(
            member=Member.objects.get(business=ada.business, user=owner),
            list="payments",
            name="Old",
            created_at=now,
        ).pk,
        "session": UserSession.objects.create(
            user=owner, session_key="another", ip="192.0.2.7", user_agent="Firefox/140"
        ).pk,
        "invoice": invoice_of(ada.business).pk,
    }


@pytest.fixture
def clients(ada, bisi, members):
    return {
        "anonymous": Client(raise_request_exception=False),
        **{str(role): signed_in(user) for role, user in members.items()},
        "owner of B": signed_in(MemberFactory(business=bisi.business, user__password=PASSWORD).user),
        STAFF[0]: signed_in(UserFactory(is_staff=True, is_superuser=True, password=PASSWORD)),
        STAFF[1]: signed_in(UserFactory(is_staff=True, password=PASSWORD)),
    }


class TestAddress:
    @pytest.mark.parametrize("who", PEOPLE)
    def test_is_open_to_whom_it_declares(self, who, clients, here):
        wrong = []
        for route, rule in DASHBOARD.items():
            for method in METHODS[who]:
                response = send(clients[who], method, filled_path(route, here), filled_form(route, here))
                people_here = people_of(rule, method)
                got, wanted = kind_of(response, people_here), expected(route, people_here, who)
                if got != wanted and not (route == ALLAUTHS and got == SIGN_IN):
                    wrong.append((route, method, response.status_code, wanted))

        assert wrong == []


class TestRoles:
    def test_grant_every_permission_to_owners(self):
        assert set(GRANTS) == set(Permission)
        assert all(may(Role.OWNER, permission) for permission in Permission)

    def test_let_viewers_only_view(self):
        assert [each for each in Permission if may(Role.VIEWER, each)] == [Permission.VIEW]

    @pytest.mark.parametrize("permission", Permission)
    def test_explain_a_missing_permission(self, permission):
        sentence = denial_reason(permission)

        assert sentence.startswith("Only owners")
        assert sentence.endswith(".")

    def test_are_the_roles_of_members(self):
        assert set(Role) == set(Member.Role)
