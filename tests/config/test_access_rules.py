"""Every URL is declared in `config.access_rules` and behaves as declared."""

import inspect
import re
import uuid
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Permission as Right
from django.core.cache import cache
from django.test import Client, RequestFactory
from django.utils import timezone

from config import access_rules as declarations
from config.access_rules import (
    OF_BANK,
    OF_KEYS,
    OF_MEMBERS,
    OF_PAYERS,
    ROWS,
    Address,
    Asks,
    Limit,
    Rows,
    Who,
    addresses,
    routes,
)
from config.docs_site.address_guide import COUNTED, guide, path_shown
from config.middleware import MACHINES
from merchants.api_key_permissions import KeyAllowsMethod
from merchants.authentication import SignedRequest
from merchants.models import Member
from merchants.rate_limits import PerKeyRateLimit
from merchants.roles import Permission
from payments.bank_notifications.authentication import SignedByBank
from payments.models import Proposal, SettlementBatch
from payments.services.staff.staff_actions import PERMISSIONS
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import signed_in
from tests.dashboard.test_authorisation import NOT_ALLOWED, TABLE
from tests.factories import MemberFactory, UserFactory
from tests.links import link_of

Action = Proposal.Action
VIEWS = dict(routes())
ASKED = "/dashboard/confirm/?next="
UNSAFE = ["post", "put", "patch", "delete"]


def path_of(route):
    """Return a path of a route, with ids of rows that don't exist."""
    filled = route
    for pattern, value in (
        (r"<uuid:\w+>", str(uuid.UUID(int=1))),
        (r"<int:\w+>", "1"),
        (r"<(path|str|slug):\w+>", "1"),
        (r"<file_type:\w+>", "xlsx"),
        (r"\(\?P<app_label>(\w+)[^)]*\)", r"\1"),
        (r"\(\?P<url>\.\*\)", "nothing-there"),
        (r"[\^$]", ""),
    ):
        filled = re.sub(pattern, value, filled)
    return f"/{filled}"


def of_people():
    """Return the URLs used with a session, which are all but those called by machines."""
    return {
        route: address for route, address in addresses().items() if not path_of(route).startswith(MACHINES)
    }


def is_asked(answer):
    return answer.status_code == 302 and answer["Location"].startswith(ASKED)


class TestDeclarations:
    def test_exist_for_every_address_and_no_other(self):
        assert set(VIEWS) - set(addresses()) == set(), "Declare the new address in config/access_rules.py."
        assert set(addresses()) - set(VIEWS) == set()

    @pytest.mark.parametrize("kind", [Address, Rows])
    def test_leave_no_rule_to_a_default(self, kind):
        assert [each.name for each in fields(kind) if each.default is not MISSING] == []
        assert [each.name for each in fields(kind) if each.default_factory is not MISSING] == []

    def test_are_made_by_functions_without_defaults(self):
        makers = [
            function
            for _, function in inspect.getmembers(declarations, inspect.isfunction)
            if function.__module__ == declarations.__name__
        ]

        assert makers
        assert {
            (function.__name__, each.name)
            for function in makers
            for each in inspect.signature(function).parameters.values()
            if each.default is not each.empty
        } == set()

    @pytest.mark.parametrize(
        "route", [route for route, each in addresses().items() if each.asks == Asks.NEVER]
    )
    def test_give_a_reason_for_never_asking(self, route):
        assert addresses()[route].reason

    @pytest.mark.parametrize("route", [route for route, each in addresses().items() if each.writers])
    def test_describe_the_action(self, route):
        assert re.match("[a-z]", addresses()[route].action)

    def test_give_no_reason_if_an_address_asks(self):
        assert not [route for route, each in addresses().items() if each.reason and each.asks != Asks.NEVER]


@pytest.mark.django_db
@pytest.mark.long
class TestAsking:
    @pytest.fixture
    def stale_superuser(self, ada):
        """A superuser who owns a business and signed in hours ago."""
        user = UserFactory(is_staff=True, is_superuser=True, password=PASSWORD)
        MemberFactory(business=ada.business, role=Member.Role.OWNER, user=user)
        return user

    def test_precedes_every_action_that_is_not_exempt(self, stale_superuser):
        wrong = []
        for route, address in of_people().items():
            for method in UNSAFE:
                answer = getattr(signed_in(stale_superuser, fresh=False), method)(path_of(route))
                if is_asked(answer) != (address.asks != Asks.NEVER):
                    wrong.append((route, method, answer.status_code))

        assert wrong == []

    def test_precedes_only_pages_that_show_a_secret(self, stale_superuser):
        wrong = []
        for route, address in of_people().items():
            answer = signed_in(stale_superuser, fresh=False).get(path_of(route))
            if is_asked(answer) != (address.asks == Asks.ALWAYS):
                wrong.append((route, answer.status_code))

        assert wrong == []

    def test_is_not_repeated_within_the_time_limit(self, stale_superuser):
        asked = [route for route in of_people() if is_asked(signed_in(stale_superuser).post(path_of(route)))]

        assert asked == []

    def test_precedes_every_action_in_the_admin(self):
        never = {route for route, each in of_people().items() if each.asks == Asks.NEVER}

        assert {route for route in never if route.startswith("admin/")} == {"admin/login/", "admin/logout/"}

    @pytest.mark.parametrize(
        "permission",
        [
            Permission.CAPTURE,
            Permission.REFUND,
            Permission.PAY_OUT,
            Permission.MANAGE_LINKS,
            Permission.MANAGE_ACCOUNTS,
            Permission.RESOLVE_UNAPPLIED,
            Permission.MANAGE_KEYS,
            Permission.MANAGE_TEAM,
        ],
    )
    def test_precedes_every_use_of_a_permission_over_money_keys_or_people(self, permission):
        assert {each.asks for each in addresses().values() if each.writers == permission} == {Asks.TO_ACT}


class TestGuide:
    GUIDE = Path(settings.BASE_DIR, "docs", "addresses.md")

    def test_is_generated_from_the_table(self):
        assert self.GUIDE.read_text() == guide(), "Run `make addresses`."

    def test_lists_every_address(self):
        text = self.GUIDE.read_text()
        of_models = {f"admin/{label.replace('.', '/')}/" for label in ROWS}
        shown = [route for route in addresses() if not route.startswith(tuple(of_models))] + list(of_models)

        assert [route for route in shown if f"`{path_shown(route)}`" not in text] == []


class TestWho:
    @pytest.mark.parametrize("route", OF_MEMBERS)
    def test_has_the_permission_that_the_view_checks(self, route):
        address = addresses()[route]
        opens_to = getattr(VIEWS[route].callback, "opens_to", None)

        if {address.readers, address.writers} & {Who.PUBLIC, Who.INVITED}:
            assert opens_to is None
        else:
            looks, acts = opens_to
            assert address.readers in {looks, None}
            assert address.writers in {acts, None}

    @pytest.mark.parametrize("row", TABLE, ids=lambda row: row.route)
    def test_may_view_and_act_according_to_the_table_of_roles(self, row):
        address = addresses()[row.route]

        assert (address.readers is None) == (row.get == NOT_ALLOWED)
        assert (address.writers is None) == (row.post == NOT_ALLOWED)

    @pytest.mark.parametrize("route", OF_KEYS)
    def test_is_an_api_key_for_the_api(self, route):
        view, address = VIEWS[route].callback.cls, addresses()[route]

        assert list(view.authentication_classes) == [SignedRequest]
        assert KeyAllowsMethod in view.permission_classes or not (address.readers or address.writers)
        assert (address.readers == Who.KEY) == hasattr(view, "get")
        assert (address.writers == Who.FULL_KEY) == any(hasattr(view, method) for method in UNSAFE)

    @pytest.mark.parametrize("route", OF_BANK)
    def test_is_the_bank_for_notifications(self, route):
        assert addresses()[route].writers == Who.BANK
        assert list(VIEWS[route].callback.cls.authentication_classes) == [SignedByBank]


def staff_with(*codenames):
    person = UserFactory(is_staff=True)
    person.user_permissions.set(Right.objects.filter(codename__in=codenames))
    request = RequestFactory().get("/admin/")
    request.user = person
    return request


@pytest.mark.django_db
class TestStaff:
    @pytest.mark.long
    def test_have_a_declaration_for_every_model(self):
        assert set(ROWS) == {model._meta.label_lower for model in admin.site._registry}

    @pytest.mark.parametrize("label", ROWS)
    def test_add_and_change_rows_as_declared(self, label):
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
    def test_have_no_limit_on_rows(self, label):
        """The guide states this in a sentence, not in a column."""
        assert ROWS[label].limits == ()

    @pytest.mark.parametrize("label", ROWS)
    def test_act_on_lists_as_declared(self, label):
        (pages,) = [each for model, each in admin.site._registry.items() if model._meta.label_lower == label]
        superuser = RequestFactory().get("/admin/")
        superuser.user = UserFactory(is_staff=True, is_superuser=True)

        assert bool(pages.get_actions(superuser)) == bool(ROWS[label].from_list)

    @pytest.mark.parametrize(
        "route",
        [
            route
            for route, each in addresses().items()
            if route.startswith("admin/") and "<uuid:" in route and (each.writers or each.readers)
        ],
    )
    def test_are_rejected_without_the_declared_right(self, route):
        right = (addresses()[route].writers or addresses()[route].readers).rpartition(".")[2]
        enough = {right, right.replace("view_", "change_")}  # the right to change rows includes viewing them
        everything_else = Right.objects.exclude(codename__in=enough)
        person = UserFactory(is_staff=True)
        if "proposal" not in route:  # these require the permission of the proposed action
            person.user_permissions.set(everything_else)
        method = "post" if addresses()[route].writers else "get"

        answer = getattr(signed_in(person), method)(path_of(route))

        assert answer.status_code in ({403, 404} if "proposal" in route else {403})


class TestSecondPerson:
    WHERE = {
        Action.TOP_UP: ["admin/ledger/entry/add/"],
        Action.APPROVE_BATCH: [
            "admin/payments/settlementbatch/<uuid:batch_id>/decide/",
            "admin/payments/settlementbatch/approve/",
        ],
        Action.RELEASE_BATCH: ["admin/payments/settlementbatch/<uuid:batch_id>/decide/"],
        Action.CREDIT_UNAPPLIED: ["admin/virtual_accounts/unappliedmoney/<uuid:money_id>/credit/"],
        Action.RETURN_UNAPPLIED: ["admin/virtual_accounts/unappliedmoney/<uuid:money_id>/return/"],
        Action.REVERSE_PAYOUT: ["admin/payments/payoutreturn/add/"],
        Action.RESOLVE_TRANSACTION: ["admin/payments/transaction/<uuid:subject_id>/resolve/"],
        Action.RESOLVE_OPERATION: ["admin/payments/cardoperation/<uuid:subject_id>/resolve/"],
    }
    CONFIRMED = (
        "admin/payments/proposal/<uuid:proposal_id>/confirm/",
        "admin/payments/proposal/confirm/",
    )

    def test_is_declared_exactly_for_proposed_and_confirmed_actions(self):
        assert set(self.WHERE) == set(Action)
        declared = {route for route, each in addresses().items() if each.needs_second_person}
        assert declared == set(self.CONFIRMED).union(*self.WHERE.values())

    @pytest.mark.parametrize("action", Action)
    def test_needs_the_same_permission_as_the_first_one(self, action):
        assert {addresses()[route].writers for route in self.WHERE[action]} == {
            f"staff: {PERMISSIONS[action]}"
        }


ADA, WRONG = "ada@example.com", "not hers"
LIMITED = [
    (Limit.SIGN_IN, "post", "dashboard/login/", {"email": ADA, "password": WRONG}),
    (Limit.RESET, "post", "dashboard/login/forgotten/", {"email": ADA}),
    (Limit.CONFIRMATION, "post", "dashboard/confirm/", {"password": WRONG}),
    (Limit.CONFIRMATION, "post", "dashboard/account/password/", {"oldpassword": WRONG}),
    *[
        (Limit.EXPORT, "get", route, {})
        for route in OF_MEMBERS
        if route.endswith("export.<file_type:file_type>")
    ],
]
# Tests that exceed the other limits.
EXCEEDED_ELSEWHERE = {
    (Limit.CODE, "dashboard/login/code/"): "tests/dashboard/account/test_second_factor.py",
    (Limit.CONFIRMATION, "dashboard/confirm/code/"): "tests/dashboard/account/test_second_factor.py",
    (Limit.INVITATION, "dashboard/team/invite/"): "tests/dashboard/test_team.py",
    (Limit.INVITATION, "dashboard/invitation/<str:token>/"): "tests/dashboard/test_team.py",
    (Limit.CARD_NUMBER, "api/payments"): "tests/payments/services/test_card_number_guesses.py",
    (Limit.CHALLENGE, "3ds/<str:token>"): "tests/payments/pages/test_challenge.py",
    **dict.fromkeys(
        [
            (Limit.PAYER_VIEWS, route)
            for route in OF_PAYERS
            if route.startswith(("l/", "checkout/")) and "theme" not in route
        ],
        "tests/payments/pages/test_checkout.py",
    ),
    (Limit.CHECKOUTS, "l/<str:slug>"): "tests/payments/services/test_link_attempts.py",
    (Limit.DECLINES, "checkout/<str:token>/card"): "tests/payments/services/test_link_attempts.py",
    (Limit.TEST_EVENT, "dashboard/webhooks/test/"): "tests/dashboard/test_webhooks.py",
    (Limit.EXAM, "dashboard/webhooks/exam/"): "tests/dashboard/test_exam.py",
    (Limit.EXAM, "api/sandbox/exams"): "tests/payments/views/test_exams.py",
    (Limit.PASSKEY, "dashboard/login/code/"): "tests/dashboard/account/test_passkeys.py",
    (Limit.PASSKEY, "dashboard/login/passkey/"): "tests/dashboard/account/test_passkeys.py",
    (Limit.PASSKEY, "dashboard/confirm/passkey/"): "tests/dashboard/account/test_passkeys.py",
    (Limit.PASSKEY, "dashboard/account/passkeys/new/"): "tests/dashboard/account/test_passkeys.py",
    (Limit.READINESS, "readyz"): "tests/config/operations/test_health.py",
}
STATEMENTS = {
    "dashboard/payment-links/<uuid:link_id>/checkouts.<file_type:file_type>",
    "dashboard/settlements/<uuid:batch_id>/statement.<file_type:file_type>",
    "admin/payments/settlementbatch/<uuid:batch_id>/statement.csv",
}


@pytest.mark.django_db
@pytest.mark.usefixtures("limit_clock")
class TestLimits:
    @pytest.mark.long
    @pytest.mark.parametrize(("limit", "method", "route", "form"), LIMITED)
    def test_stop_too_many_attempts(self, ada, limit, method, route, form):
        user = MemberFactory(business=ada.business, user__email=ADA, user__password=PASSWORD).user
        client = Client() if "login" in route else signed_in(user)
        cache.clear()

        answers = [getattr(client, method)(path_of(route), form) for _ in range(12)]

        assert limit in addresses()[route].limits
        assert (_is_stopped(answers[0]), _is_stopped(answers[-1])) == (False, True)

    @pytest.mark.long
    @pytest.mark.parametrize("route", sorted(STATEMENTS))
    def test_stop_too_many_downloads_of_a_statement_or_link(self, ada, route):
        user = UserFactory(is_staff=True, is_superuser=True)
        MemberFactory(business=ada.business, role=Member.Role.OWNER, user=user)
        batch = SettlementBatch.objects.create(
            id=uuid.uuid4(),
            business=ada.business,
            currency="NGN",
            day="2026-11-01",
            created_at=timezone.now(),
        )
        link = link_of(ada.business, now=timezone.now())
        for parameter, value in {"batch_id": batch.pk, "link_id": link.pk}.items():
            route = route.replace(f"<uuid:{parameter}>", str(value))
        client, path = signed_in(user), "/" + route.replace("<file_type:file_type>", "xlsx")

        assert [client.get(path).status_code for _ in range(11)] == [200] * 10 + [429]

    def test_are_all_exceeded_in_a_test(self):
        declared = {(limit, route) for route, each in addresses().items() for limit in each.limits}
        of_keys = {(Limit.KEY, route) for route in OF_KEYS}  # test_of_keys_are_on_every_signed_endpoint
        here = {(limit, route) for limit, _, route, _ in LIMITED} | {
            (Limit.EXPORT, each) for each in STATEMENTS
        }

        assert declared == of_keys | here | set(EXCEEDED_ELSEWHERE)
        assert {limit for limit, _ in declared} == set(Limit)
        assert [
            each for each in EXCEEDED_ELSEWHERE.values() if not Path(settings.BASE_DIR, each).exists()
        ] == []

    @pytest.mark.parametrize("route", [route for route in VIEWS if route.lstrip("^").startswith("api/")])
    def test_of_keys_are_on_every_signed_endpoint(self, route):
        throttles = getattr(getattr(VIEWS[route].callback, "cls", None), "throttle_classes", None) or []

        assert (Limit.KEY in addresses()[route].limits) == (PerKeyRateLimit in throttles)

    def test_in_the_database_are_all_in_the_guide(self):
        made = {
            name for path in _sources() for name in re.findall(r'= Limit\(\s*"([^"]+)", ', path.read_text())
        }

        assert made == {each.name for throttles in COUNTED.values() for each in throttles}

    def test_are_counted_in_these_modules_only(self):
        """Code that counts elsewhere is also a limit: declare it as `Limit`."""
        counts = re.compile(
            r"attempt_limits\.take\(|may_export\(|respond_429\(|PerKeyRateLimit\b|Throttled\("
        )
        found = {
            str(path.relative_to(settings.BASE_DIR)) for path in _sources() if counts.search(path.read_text())
        }

        assert found == {
            "config/settings.py",
            "dashboard/account/views.py",
            "dashboard/account/sign_in_limits.py",
            "dashboard/account/webauthn_ceremonies.py",
            "dashboard/webhooks/endpoint_views.py",
            "merchants/exports.py",
            "merchants/rate_limits.py",
            "merchants/team.py",
            "payments/views/exams.py",
            "webhooks/exams.py",
        }


def _is_stopped(answer):
    return answer.status_code == 429 or b"Too many failed attempts" in answer.getvalue()


def _sources():
    packages = (
        "config",
        "dashboard",
        "kit",
        "ledger",
        "merchants",
        "payments",
        "virtual_accounts",
        "webhooks",
    )
    return [path for name in packages for path in Path(settings.BASE_DIR, name).rglob("*.py")]
