"""Every address is declared in `config.addresses`, and behaves as it is declared."""

import re
import uuid

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission as Right
from django.core.cache import cache
from django.test import Client, RequestFactory

from config.addresses import OF_KEYS, OF_MEMBERS, OF_OTHER_MACHINES, ROWS, Asks, Limit, Who, addresses, routes
from config.middleware import MACHINES
from merchants.authentication import SignedRequest
from merchants.models import Member
from merchants.permissions import KeyAllowsMethod
from merchants.rate_limits import PerKeyRateLimit
from merchants.roles import Permission
from payments.bank_authentication import SignedByBank
from payments.models import Proposal
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import signed_in
from tests.dashboard.test_authorisation import NOBODY, TABLE
from tests.factories import MemberFactory, UserFactory

Action = Proposal.Action
VIEWS = dict(routes())
ASKED = "/dashboard/confirm/?next="
UNSAFE = ["post", "put", "patch", "delete"]


def path_of(route):
    """Return an address of a route: of rows that do not exist, which those who are asked are never told."""
    filled = route
    for pattern, value in (
        (r"<uuid:\w+>", str(uuid.UUID(int=1))),
        (r"<int:\w+>", "1"),
        (r"<(path|str|slug):\w+>", "1"),
        (r"\(\?P<app_label>(\w+)[^)]*\)", r"\1"),
        (r"\(\?P<url>\.\*\)", "nothing-there"),
        (r"[\^$]", ""),
    ):
        filled = re.sub(pattern, value, filled)
    return f"/{filled}"


def of_people():
    """Return what is reached with a session: everything but what machines call."""
    return {
        route: address for route, address in addresses().items() if not path_of(route).startswith(MACHINES)
    }


def is_asked(answer):
    return answer.status_code == 302 and answer["Location"].startswith(ASKED)


class TestDeclarations:
    def test_are_there_for_every_address_and_for_no_other(self):
        assert set(VIEWS) - set(addresses()) == set(), "Declare the new address in config/addresses.py."
        assert set(addresses()) - set(VIEWS) == set()

    @pytest.mark.parametrize(
        "route", [route for route, each in addresses().items() if each.asks == Asks.NEVER]
    )
    def test_say_why_an_address_never_asks(self, route):
        assert addresses()[route].because

    @pytest.mark.parametrize(
        "route", [route for route, each in addresses().items() if each.by and each.asks != Asks.NEVER]
    )
    def test_say_what_is_asked_for(self, route):
        assert re.match("[a-z]", addresses()[route].act)

    def test_name_no_reason_where_an_address_asks(self):
        assert not [route for route, each in addresses().items() if each.because and each.asks != Asks.NEVER]


@pytest.mark.django_db
@pytest.mark.long
class TestAsking:
    @pytest.fixture
    def somebody(self, ada):
        """One of our staff with every right, and owner of a business, who signed in hours ago."""
        user = UserFactory(is_staff=True, is_superuser=True, password=PASSWORD)
        MemberFactory(business=ada.business, role=Member.Role.OWNER, user=user)
        return user

    def test_is_done_before_every_act_but_those_that_never_ask(self, somebody):
        wrong = []
        for route, address in of_people().items():
            for method in UNSAFE:
                answer = getattr(signed_in(somebody, fresh=False), method)(path_of(route))
                if is_asked(answer) != (address.asks != Asks.NEVER):
                    wrong.append((route, method, answer.status_code))

        assert wrong == []

    def test_is_done_before_pages_that_show_a_secret_and_before_no_other(self, somebody):
        wrong = []
        for route, address in of_people().items():
            answer = signed_in(somebody, fresh=False).get(path_of(route))
            if is_asked(answer) != (address.asks == Asks.ALWAYS):
                wrong.append((route, answer.status_code))

        assert wrong == []

    def test_is_not_done_of_whoever_has_just_confirmed(self, somebody):
        asked = [route for route in of_people() if is_asked(signed_in(somebody).post(path_of(route)))]

        assert asked == []

    def test_is_done_before_every_act_in_the_administration(self):
        never = {route for route, each in of_people().items() if each.asks == Asks.NEVER}

        assert {route for route in never if route.startswith("admin/")} == {"admin/login/", "admin/logout/"}

    @pytest.mark.parametrize(
        "permission",
        [
            Permission.CAPTURE,
            Permission.REFUND,
            Permission.PAY_OUT,
            Permission.MANAGE_ACCOUNTS,
            Permission.RESOLVE_UNAPPLIED,
            Permission.MANAGE_KEYS,
            Permission.MANAGE_TEAM,
        ],
    )
    def test_is_done_wherever_a_permission_over_money_keys_or_people_is_used(self, permission):
        assert {each.asks for each in addresses().values() if each.by == permission} == {Asks.TO_ACT}


class TestWho:
    @pytest.mark.parametrize("route", OF_MEMBERS)
    def test_has_the_permission_that_the_view_checks(self, route):
        address = addresses()[route]
        opens_to = getattr(VIEWS[route].callback, "opens_to", None)

        if {address.look, address.by} & {Who.ANYBODY, Who.INVITED}:
            assert opens_to is None
        else:
            looks, acts = opens_to
            assert address.look in {looks, None}
            assert address.by in {acts, None}

    @pytest.mark.parametrize("row", TABLE, ids=lambda row: row.route)
    def test_looks_and_acts_where_the_table_of_roles_has_an_answer(self, row):
        address = addresses()[row.route]

        assert (address.look is None) == (row.get == NOBODY)
        assert (address.by is None) == (row.post == NOBODY)

    @pytest.mark.parametrize("route", OF_KEYS)
    def test_is_a_key_in_the_api(self, route):
        view, address = VIEWS[route].callback.cls, addresses()[route]

        assert list(view.authentication_classes) == [SignedRequest]
        assert KeyAllowsMethod in view.permission_classes or not (address.look or address.by)
        assert (address.look == Who.KEY) == hasattr(view, "get")
        assert (address.by == Who.FULL_KEY) == any(hasattr(view, method) for method in UNSAFE)

    @pytest.mark.parametrize("route", [each for each in OF_OTHER_MACHINES if each.startswith("bank/")])
    def test_is_the_bank_where_it_notifies(self, route):
        assert addresses()[route].by == Who.BANK
        assert list(VIEWS[route].callback.cls.authentication_classes) == [SignedByBank]


def staff_with(*codenames):
    person = UserFactory(is_staff=True)
    person.user_permissions.set(Right.objects.filter(codename__in=codenames))
    request = RequestFactory().get("/admin/")
    request.user = person
    return request


@pytest.mark.django_db
class TestStaff:
    def test_have_a_declaration_for_every_model(self):
        assert set(ROWS) == {model._meta.label_lower for model in admin.site._registry}

    @pytest.mark.parametrize("label", ROWS)
    def test_add_and_change_rows_where_it_is_declared(self, label):
        (pages,) = [each for model, each in admin.site._registry.items() if model._meta.label_lower == label]
        name = label.partition(".")[2]
        superuser = RequestFactory().get("/admin/")
        superuser.user = UserFactory(is_staff=True, is_superuser=True)

        for what in ("add", "change"):
            declared = getattr(ROWS[label], what)
            may = getattr(pages, f"has_{what}_permission")
            assert may(superuser) == bool(declared)
            assert not may(staff_with(f"view_{name}"))
            assert may(staff_with(f"{what}_{name}")) == declared.startswith(
                f"staff: {label.partition('.')[0]}."
            )
        assert not pages.has_delete_permission(superuser)

    @pytest.mark.parametrize("label", ROWS)
    def test_act_on_lists_where_it_is_declared(self, label):
        (pages,) = [each for model, each in admin.site._registry.items() if model._meta.label_lower == label]
        superuser = RequestFactory().get("/admin/")
        superuser.user = UserFactory(is_staff=True, is_superuser=True)

        assert bool(pages.get_actions(superuser)) == bool(ROWS[label].from_list)

    @pytest.mark.parametrize(
        "route",
        [
            route
            for route, each in addresses().items()
            if route.startswith("admin/") and "<uuid:" in route and (each.by or each.look)
        ],
    )
    def test_are_refused_without_the_declared_right(self, route):
        right = (addresses()[route].by or addresses()[route].look).rpartition(".")[2]
        enough = {right, right.replace("view_", "change_")}  # whoever changes rows sees them
        everything_else = Right.objects.exclude(codename__in=enough)
        person = UserFactory(is_staff=True)
        if "proposal" not in route:  # those want the permission of what is proposed
            person.user_permissions.set(everything_else)
        method = "post" if addresses()[route].by else "get"

        answer = getattr(signed_in(person), method)(path_of(route))

        assert answer.status_code in ({403, 404} if "proposal" in route else {403})


class TestSecondPerson:
    WHERE = {
        Action.TOP_UP: ["admin/ledger/entry/add/"],
        Action.APPROVE_BATCH: ["admin/payments/settlementbatch/<uuid:batch_id>/decide/"],
        Action.RELEASE_BATCH: ["admin/payments/settlementbatch/<uuid:batch_id>/decide/"],
        Action.CREDIT_UNAPPLIED: ["admin/virtual_accounts/unappliedmoney/<uuid:money_id>/credit/"],
        Action.RETURN_UNAPPLIED: ["admin/virtual_accounts/unappliedmoney/<uuid:money_id>/return/"],
        Action.REVERSE_PAYOUT: ["admin/payments/payoutreturn/add/"],
        Action.RESOLVE_TRANSACTION: ["admin/payments/transaction/<uuid:subject_id>/resolve/"],
        Action.RESOLVE_OPERATION: ["admin/payments/cardoperation/<uuid:subject_id>/resolve/"],
    }
    CONFIRMED = "admin/payments/proposal/<uuid:proposal_id>/confirm/"

    def test_is_declared_where_an_action_is_proposed_or_confirmed_and_nowhere_else(self):
        assert set(self.WHERE) == set(Action)
        declared = {route for route, each in addresses().items() if each.needs_second_person}
        assert declared == {self.CONFIRMED}.union(*self.WHERE.values())


LIMITED = [
    (Limit.SIGN_IN, "dashboard/login/", {"email": "ada@example.com", "password": "wrong"}),
    (Limit.RESET, "dashboard/login/forgotten/", {"email": "ada@example.com"}),
    (Limit.CONFIRMATION, "dashboard/confirm/", {"password": "wrong"}),
    (Limit.CONFIRMATION, "dashboard/account/password/", {"oldpassword": "wrong"}),
]


@pytest.mark.django_db
class TestLimits:
    @pytest.mark.parametrize(("limit", "route", "form"), LIMITED)
    def test_stop_whoever_tries_too_often(self, ada, limit, route, form):
        user = MemberFactory(
            business=ada.business, user__email="ada@example.com", user__password=PASSWORD
        ).user
        client = Client() if "login" in route else signed_in(user)
        cache.clear()

        answers = [client.post(path_of(route), form) for _ in range(12)]

        is_stopped = [each.status_code == 429 or b"Too many attempts" in each.content for each in answers]
        assert limit in addresses()[route].limits
        assert (is_stopped[0], is_stopped[-1]) == (False, True)

    def test_are_tried_here_but_for_those_of_keys_and_codes(self):
        """Codes are tried in tests/dashboard/test_second_factor.py, and invitations in test_team.py."""
        declared = {(limit, route) for route, each in addresses().items() for limit in each.limits}

        untried = {each for each in declared if each[0] != Limit.KEY} - {each[:2] for each in LIMITED}
        assert untried == {
            (Limit.CODE, "dashboard/login/code/"),
            (Limit.CONFIRMATION, "dashboard/confirm/code/"),
            (Limit.INVITATION, "dashboard/team/invite/"),
            (Limit.INVITATION, "dashboard/invitation/<str:token>/"),
        }
        assert {limit for limit, _ in declared} == set(Limit)

    @pytest.mark.parametrize("route", [route for route in VIEWS if route.lstrip("^").startswith("api/")])
    def test_of_keys_are_on_every_signed_endpoint(self, route):
        throttles = getattr(getattr(VIEWS[route].callback, "cls", None), "throttle_classes", None) or []

        assert (Limit.KEY in addresses()[route].limits) == (PerKeyRateLimit in throttles)
