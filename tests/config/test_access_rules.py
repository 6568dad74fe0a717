"""Every view declares who may use it, and its URL behaves as declared."""

import re
import uuid
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Permission as Right
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from django.utils import timezone
from rest_framework.views import APIView

from config import urls
from config.checks.startup import every_view_has_an_access_rule
from developer_site.guides.address_guide import COUNTED, guide, path_shown
from merchants.models import Member
from merchants.people.access import Asks, Limit, Who
from merchants.people.roles import Permission
from payments.models import Proposal, SettlementBatch
from payments.services.staff.staff_actions import PERMISSIONS
from tests.addresses import (
    ADMINISTRATION,
    API,
    MEMBERS,
    RULES,
    UNSAFE,
    is_asked,
    of_people,
    path_of,
    routes_of,
)
from tests.batches import checked_batch
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory, UserFactory
from tests.fee_invoices import empty_invoice
from tests.links import link_of
from tests.packages import modules

admin.autodiscover()

Action = Proposal.Action


def undeclared(request):
    """A view without an access rule."""
    return HttpResponse("never shown")


class Unsigned(APIView):
    authentication_classes = ()


class OpenToReadOnlyKeys(APIView):
    permission_classes = ()


urlpatterns = [
    path("dashboard/undeclared/", undeclared),
    path("elsewhere", undeclared),
    path("api/unsigned", Unsigned.as_view()),
    path("api/any-key", OpenToReadOnlyKeys.as_view()),
    *urls.urlpatterns,
]
handler403 = urls.handler403


class TestRules:
    def test_exist_for_every_view(self):
        assert [route for route, rule in RULES.items() if rule is None] == []
        assert every_view_has_an_access_rule() == []

    @pytest.mark.parametrize("route", [route for route, rule in RULES.items() if rule.writers])
    def test_describe_the_action(self, route):
        assert re.match("[a-z]", RULES[route].action)


@pytest.mark.urls("tests.config.test_access_rules")
class TestViewWithoutRule:
    PATHS = ("/dashboard/undeclared/", "/elsewhere")

    def test_is_reported_by_the_system_checks(self):
        (first, *others) = every_view_has_an_access_rule()

        assert first.id == "sluice.views.no_access_rule"
        assert "“dashboard/undeclared/”" in first.msg
        assert len(others) == 3

    @pytest.mark.parametrize("method", ["get", *UNSAFE])
    def test_is_refused_to_everyone_signed_in(self, db, method):
        client = signed_in(UserFactory(is_staff=True, is_superuser=True))

        assert {getattr(client, method)(path).status_code for path in self.PATHS} == {403}

    @pytest.mark.parametrize("method", ["get", *UNSAFE])
    def test_redirects_others_to_sign_in(self, db, method):
        for address in self.PATHS:
            assert getattr(Client(), method)(address)["Location"].startswith("/dashboard/login/?next=")

    @pytest.mark.parametrize("address", ["/api/unsigned", "/api/any-key"])
    def test_is_refused_to_programs(self, api, address):
        assert api.get(address).status_code == 403
        assert api.post(address, {}).status_code == 403


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
        wrong, of_each_rule = [], {rule.asks: route for route, rule in of_people().items()}
        for route, rule in of_people().items():
            client = signed_in(stale_superuser, fresh=False)
            for method in UNSAFE if route in of_each_rule.values() else ("post",):
                answer = getattr(client, method)(path_of(route))
                if is_asked(answer) != (rule.asks != Asks.NEVER):
                    wrong.append((route, method, answer.status_code))

        assert wrong == []

    def test_precedes_only_pages_that_show_a_secret_or_are_forms(self, stale_superuser):
        wrong = []
        for route, rule in of_people().items():
            answer = signed_in(stale_superuser, fresh=False).get(path_of(route))
            if is_asked(answer) != (rule.asks == Asks.ALWAYS):
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
        assert Asks.NEVER not in {each.asks for each in RULES.values() if each.writers == permission}


class TestGuide:
    GUIDE = Path(settings.BASE_DIR, "docs", "addresses.md")

    def test_is_generated_from_the_rules(self):
        assert self.GUIDE.read_text() == guide(), "Run `make addresses`."

    def test_lists_every_address(self):
        text = self.GUIDE.read_text()
        of_rows = {f"{route}{page}" for route in LISTS for page in ("add/", "<path:object_id>/")}
        shown = [route for route in RULES if not route.startswith(tuple(of_rows))]

        assert [route for route in shown if f"`{path_shown(route)}`" not in text] == []


def rights_of(people):
    """Return the names of the permissions of Django that a rule names."""
    return set(re.findall(r"\w+\.(\w+)", people or ""))


LISTS = [route for route in ADMINISTRATION if f"{route}add/" in RULES]


@pytest.mark.django_db
class TestStaff:
    @pytest.mark.parametrize(
        "route",
        [route for route in ADMINISTRATION if rights_of(RULES[route].writers) and route not in LISTS],
    )
    def test_act_with_the_declared_right_only(self, route):
        """No row has the id, so those who may act get 404, or an error in the form."""
        needed, path = rights_of(RULES[route].writers), path_of(route, object_id=999_999)
        lacking, able = UserFactory(is_staff=True), UserFactory(is_staff=True)
        lacking.user_permissions.set(Right.objects.exclude(codename__in=needed))
        able.user_permissions.set(Right.objects.filter(codename__in=needed))

        assert signed_in(lacking).post(path, {"reason": "x"}).status_code == 403
        assert signed_in(able).post(path, {"reason": "x"}).status_code != 403

    @pytest.mark.parametrize("route", ["confirm", "decline"])
    def test_decide_about_proposals_with_the_right_to_the_proposed_action(self, route):
        person = signed_in(UserFactory(is_staff=True))

        answer = person.post(path_of(f"admin/payments/proposal/<uuid:proposal_id>/{route}/"))

        assert answer.status_code in {403, 404}

    @pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.label_lower)
    def test_act_on_lists_as_declared(self, model, rf):
        pages, request = admin.site._registry[model], rf.get("/admin/")
        declared = RULES[f"admin/{model._meta.label_lower.replace('.', '/')}/"].writers
        lacking, able = UserFactory(is_staff=True), UserFactory(is_staff=True)
        lacking.user_permissions.set(Right.objects.exclude(codename__in=rights_of(declared)))
        able.user_permissions.set(Right.objects.filter(codename__in=rights_of(declared)))

        request.user = lacking
        assert not pages.get_actions(request)
        request.user = able
        assert bool(pages.get_actions(request)) == bool(declared)
        request.user = UserFactory(is_staff=True, is_superuser=True)
        assert not pages.has_delete_permission(request)

    def test_have_no_limit_on_rows(self):
        """The guide states this in a sentence, not in a column."""
        forms = [route for route in ADMINISTRATION if route.endswith(("/add/", "/change/"))]

        assert {RULES[route].limits for route in forms} == {()}


class TestSecondPerson:
    WHERE = {
        Action.TOP_UP: ["admin/ledger/entry/add/"],
        Action.APPROVE_BATCH: [
            "admin/payments/settlementbatch/<uuid:batch_id>/decide/",
            "admin/payments/settlementbatch/approve/",
        ],
        Action.APPROVE_UNFUNDED: ["admin/payments/settlementbatch/<uuid:batch_id>/decide/"],
        Action.RELEASE_BATCH: ["admin/payments/settlementbatch/<uuid:batch_id>/decide/"],
        Action.CREDIT_UNAPPLIED: ["admin/virtual_accounts/unappliedmoney/<uuid:money_id>/credit/"],
        Action.RETURN_UNAPPLIED: ["admin/virtual_accounts/unappliedmoney/<uuid:money_id>/return/"],
        Action.REVERSE_PAYOUT: ["admin/payments/payoutreturn/add/"],
        Action.RESOLVE_TRANSACTION: ["admin/payments/transaction/<uuid:subject_id>/resolve/"],
        Action.RESOLVE_OPERATION: ["admin/payments/cardoperation/<uuid:subject_id>/resolve/"],
        Action.GIVE_ACCOUNT: ["admin/payments/cardoperation/<uuid:subject_id>/give_account/"],
        Action.GIVE_RETURN_ACCOUNT: ["admin/payments/transaction/<uuid:subject_id>/give_account/"],
        Action.ASSIGN_UNCLAIMED: ["admin/virtual_accounts/unclaimedtransfer/<uuid:row_id>/assign/"],
        Action.WRITE_OFF_UNCLAIMED: ["admin/virtual_accounts/unclaimedtransfer/<uuid:row_id>/write_off/"],
        Action.MATCH_RETURN: ["admin/payments/payoutreturn/<uuid:row_id>/match/"],
        Action.WRITE_OFF_RETURN: ["admin/payments/payoutreturn/<uuid:row_id>/write_off/"],
        Action.ASSIGN_DISPUTE: ["admin/disputes/disputereport/<uuid:row_id>/assign/"],
        Action.CREDIT_DISPUTE: ["admin/disputes/disputereport/<uuid:row_id>/credit/"],
        Action.DISMISS_DISPUTE: ["admin/disputes/disputereport/<uuid:row_id>/dismiss/"],
        Action.RECORD_DISPUTE_DEBIT: ["admin/disputes/dispute/<uuid:row_id>/record_debit/"],
        Action.CHANGE_USER: ["admin/merchants/user/<path:object_id>/change/"],
        Action.CHANGE_GROUP: ["admin/auth/group/add/", "admin/auth/group/<path:object_id>/change/"],
        Action.AGREE_FEE: ["admin/payments/tariff/add/"],
        Action.CHOOSE_CONNECTORS: [
            "admin/payments/railchoice/add/",
            "admin/payments/railchoice/<path:object_id>/change/",
        ],
        Action.JOURNAL: ["admin/payments/journal/add/"],
        Action.REVERSE_JOURNAL: ["admin/payments/journal/<uuid:journal_id>/reverse/"],
        Action.MATCH_BREAKS: ["admin/cash/match/add/"],
        Action.CHANGE_BANK_ACCOUNT: [
            "admin/cash/bankaccount/add/",
            "admin/cash/bankaccount/<path:object_id>/change/",
        ],
        Action.AGREE_RISK_TERMS: ["admin/payments/riskterms/add/"],
        Action.COLLECT_RESERVE: ["admin/payments/debt/<uuid:debt_id>/collect/"],
        Action.LIFT_FREEZE: ["admin/merchants/business/<uuid:business_id>/lift-freeze/"],
        Action.CLOSE_BUSINESS: ["admin/merchants/business/<uuid:business_id>/close/"],
        Action.REOPEN_BUSINESS: ["admin/merchants/business/<uuid:business_id>/reopen/"],
        Action.DECLARE_ACCOUNT: ["admin/payments/accountdeclaration/add/"],
    }
    CONFIRMED = (
        "admin/payments/proposal/<uuid:proposal_id>/confirm/",
        "admin/payments/proposal/confirm/",
    )

    def test_is_declared_exactly_for_proposed_and_confirmed_actions(self):
        assert set(self.WHERE) == set(Action)
        declared = {route for route, each in RULES.items() if each.needs_second_person}
        assert declared == set(self.CONFIRMED).union(*self.WHERE.values())

    # Forms of two permissions, or of superusers only; test_rights.py confirms what they propose.
    OTHERWISE = {
        Action.CHANGE_USER,
        Action.CHANGE_GROUP,
        Action.CHOOSE_CONNECTORS,
        Action.CHANGE_BANK_ACCOUNT,
    }

    @pytest.mark.parametrize("action", sorted(set(Action) - OTHERWISE))
    def test_needs_the_same_permission_as_the_first_one(self, action):
        assert {RULES[route].writers for route in self.WHERE[action]} == {f"staff: {PERMISSIONS[action]}"}


ADA, WRONG = "ada@example.com", "not hers"
LIMITED = [
    (Limit.SIGN_IN, "post", "dashboard/login/", {"email": ADA, "password": WRONG}),
    (Limit.RESET, "post", "dashboard/login/forgotten/", {"email": ADA}),
    (Limit.CONFIRMATION, "post", "dashboard/confirm/", {"password": WRONG}),
    (Limit.CONFIRMATION, "post", "dashboard/account/password/", {"oldpassword": WRONG}),
    *[
        (Limit.EXPORT, "get", route, {})
        for route in MEMBERS
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
    (Limit.PAYER_VIEWS, "3ds/<str:token>/return"): "tests/payments/pages/test_payer_redirects.py",
    **dict.fromkeys(
        [
            (Limit.PAYER_VIEWS, route)
            for route in routes_of(Who.PAYER)
            if route.startswith(("l/", "checkout/"))
        ],
        "tests/payments/pages/test_checkout.py",
    ),
    **dict.fromkeys(
        [(limit, route) for route in routes_of(Who.GUEST) for limit in RULES[route].limits],
        "tests/dashboard/test_guest_links.py",
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
    (Limit.READINESS, "readyz"): "tests/operations/test_health.py",
}
STATEMENTS = {
    "dashboard/payment-links/<uuid:link_id>/checkouts.<file_type:file_type>",
    "dashboard/payouts/batches/<uuid:batch_id>/payouts.<file_type:file_type>",
    "dashboard/settlements/<uuid:batch_id>/statement.<file_type:file_type>",
    "dashboard/settlements/invoices/<uuid:invoice_id>/lines.<file_type:file_type>",
    "admin/payments/settlementbatch/<uuid:batch_id>/statement.csv",
    "admin/taxes/export.csv",
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

        assert limit in RULES[route].limits
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
        invoice = empty_invoice(ada.business)
        invoice.save()
        if "payouts/batches" in route:
            batch = checked_batch(ada.business)
        for parameter, value in {"batch_id": batch.pk, "link_id": link.pk, "invoice_id": invoice.pk}.items():
            route = route.replace(f"<uuid:{parameter}>", str(value))
        client, path = signed_in(user), "/" + route.replace("<file_type:file_type>", "xlsx")

        assert [client.get(path).status_code for _ in range(11)] == [200] * 10 + [429]

    def test_are_all_exceeded_in_a_test(self):
        declared = {(limit, route) for route, each in RULES.items() for limit in each.limits}
        of_keys = {(Limit.KEY, route) for route in API}  # test_of_keys_are_on_every_signed_endpoint
        here = {(limit, route) for limit, _, route, _ in LIMITED} | {
            (Limit.EXPORT, each) for each in STATEMENTS
        }

        assert declared == of_keys | here | set(EXCEEDED_ELSEWHERE)
        assert {limit for limit, _ in declared} == set(Limit)
        assert [
            each for each in EXCEEDED_ELSEWHERE.values() if not Path(settings.BASE_DIR, each).exists()
        ] == []

    def test_of_keys_are_on_every_signed_endpoint(self):
        assert set(routes_of(Who.KEY, Who.FULL_KEY)) | {"^api/"} == set(API)

    def test_in_the_database_are_all_in_the_guide(self):
        made = {
            name
            for path in _sources()
            for name in re.findall(r'= (?:\w+\.)?Limit\(\s*"([^"]+)", ', path.read_text())
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
            "dashboard/account/sign_in/sign_in_limits.py",
            "dashboard/account/second_factor/webauthn_ceremonies.py",
            "dashboard/webhooks/endpoints/endpoint_views.py",
            "merchants/people/access.py",
            "merchants/exports.py",
            "merchants/api/rate_limits.py",
            "merchants/people/team.py",
            "payments/views/webhooks/exams.py",
            "webhooks/exams/exams.py",
        }


def _is_stopped(answer):
    return answer.status_code == 429 or b"Too many failed attempts" in answer.getvalue()


def _sources():
    return list(modules())
