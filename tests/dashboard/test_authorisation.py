"""Authorisation: every URL for browsers is requested with every method by every kind of user.

A row has a URL and, for each supported method, the status for each user in the order of PEOPLE. Methods that
no row names return 405. A URL of `config.urls` without a row fails. `{…}` in a path is replaced from `here`
by rows of business A, which the owner of B must not find. A form has the fields that pass validation, so that
the 200 of a rejected form is not mistaken for permission; it may be empty if the status tells them apart.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import Permission as Right
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from config import access_rules
from dashboard.models import SavedView
from kit.time_ordered_ids import new_id
from merchants import team
from merchants.audit import Actor
from merchants.models import LimitSlot, Member
from merchants.roles import GRANTS, Permission, Role, denial_reason, may
from payments.models import SettlementBatch
from payments.services import refunds
from payments.services.receiver_exams import examine_endpoint
from tests import orders
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import passkey_of, signed_in
from tests.factories import MemberFactory, UserFactory
from tests.links import CHANGED_LINK, NEW_LINK, begin, link_of, pay_by_transfer
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_delivery, make_endpoint
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts

pytestmark = [pytest.mark.django_db, pytest.mark.long]

PEOPLE = ["anonymous", "owner", "developer", "finance", "viewer", "owner of B", "staff"]
OTHER_STAFF = ["staff without rights", "staff with every right"]  # get the same responses as superusers
METHODS = ["get", "post", "put", "patch", "delete"]

OPEN = [200, 200, 200, 200, 200, 200, 200]
MEMBERS = [302, 200, 200, 200, 200, 200, 403]
ANY_USER = [302, 200, 200, 200, 200, 200, 200]  # any signed-in user
NONE_YET = [302, 404, 404, 404, 404, 404, 404]
OWNERS_OWN = [302, 200, 404, 404, 404, 404, 404]
NOT_ALLOWED = [405, 405, 405, 405, 405, 405, 405]


@dataclass(frozen=True, kw_only=True)
class Row:
    route: str  # as in `config.urls`
    path: str = ""  # if it differs from the route
    get: list[int] = field(default_factory=lambda: NOT_ALLOWED)
    post: list[int] = field(default_factory=lambda: NOT_ALLOWED)
    other: list[int] = field(default_factory=lambda: NOT_ALLOWED)  # put, patch, delete
    form: dict[str, Any] = field(default_factory=dict)

    def expected(self, method: str) -> list[int]:
        return {"get": self.get, "post": self.post}.get(method, self.other)


TABLE = [
    Row(route="dashboard", get=[302] * 7, post=[302] * 7, other=[302] * 7),
    Row(route="dashboard/", get=MEMBERS),
    Row(
        route="dashboard/business/",
        post=[302, 302, 302, 302, 302, 404, 403],
        form={"business": "{business}"},
    ),
    Row(route="dashboard/logout/", post=[302] * 7),
    # Sign-in: redirects users who are signed in
    Row(route="dashboard/login/", get=[200, 302, 302, 302, 302, 302, 302], post=[200] * 7),
    Row(route="dashboard/login/code/", get=[302] * 7, post=[302] * 7),
    Row(route="dashboard/login/passkey/", get=[302] * 7, post=[302] * 7),
    Row(route="dashboard/login/forgotten/", get=OPEN, post=OPEN),
    Row(route="dashboard/login/forgotten/sent/", get=OPEN),
    Row(
        route="dashboard/login/new-password/<str:uidb36>/<str:key>/",
        path="dashboard/login/new-password/1/nonsense/",
        get=OPEN,
        post=OPEN,
    ),
    Row(route="dashboard/login/new-password/set/", get=OPEN),
    Row(route="dashboard/confirm/", get=ANY_USER, post=ANY_USER),
    Row(route="dashboard/confirm/code/", get=[302] * 7, post=[302] * 7),  # no user has an authenticator app
    Row(
        route="dashboard/confirm/passkey/",
        get=[302, 200, 302, 302, 302, 302, 302],
        post=[302] * 7,
    ),
    Row(route="dashboard/confirm/form/", get=[302] * 7),  # no form is kept
    # The user's own account, with or without a membership
    Row(route="dashboard/account/", get=ANY_USER),
    Row(route="dashboard/account/name/", post=[302] * 7),
    Row(route="dashboard/account/password/", get=ANY_USER, post=ANY_USER),
    Row(route="dashboard/account/app/", get=ANY_USER, post=ANY_USER),
    Row(route="dashboard/account/app/off/", get=NONE_YET, post=NONE_YET),
    Row(route="dashboard/account/codes/", get=NONE_YET),
    Row(route="dashboard/account/codes/new/", get=ANY_USER, post=[302, 302, 200, 200, 200, 200, 200]),
    Row(route="dashboard/account/passkeys/new/", get=ANY_USER, post=ANY_USER),
    Row(
        route="dashboard/account/passkeys/<int:pk>/off/",
        path="dashboard/account/passkeys/{passkey}/off/",
        get=OWNERS_OWN,
        post=[302, 302, 404, 404, 404, 404, 404],
    ),
    Row(
        route="dashboard/account/sessions/<int:session_id>/end/",
        path="dashboard/account/sessions/{session}/end/",
        post=[302, 302, 404, 404, 404, 404, 404],
    ),
    Row(route="dashboard/account/sessions/end-others/", post=[302] * 7),
    # Payments and payouts. Those of another business return 404.
    Row(route="dashboard/payments/", get=MEMBERS),
    Row(
        route="dashboard/payments/export.<file_type:file_type>",
        path="dashboard/payments/export.csv",
        get=MEMBERS,
    ),
    Row(
        route="dashboard/payments/<uuid:transaction_id>/",
        path="dashboard/payments/{payment}/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payments/<uuid:transaction_id>/capture/",
        path="dashboard/payments/{authorised}/capture/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
        form={"amount": "1"},
    ),
    Row(
        route="dashboard/payments/<uuid:transaction_id>/void/",
        path="dashboard/payments/{authorised}/void/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
    ),
    Row(
        route="dashboard/payments/<uuid:transaction_id>/cancel/",
        path="dashboard/payments/{challenged}/cancel/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
    ),
    Row(
        route="dashboard/payments/<uuid:transaction_id>/refund/",
        path="dashboard/payments/{payment}/refund/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
        form={"reference": "refund-1", "amount": "1", "step": "confirmed"},
    ),
    Row(
        route="dashboard/payments/<uuid:transaction_id>/notes/",
        path="dashboard/payments/{payment}/notes/",
        post=[302, 302, 302, 302, 403, 404, 403],
        form={"text": "Called the customer"},
    ),
    Row(
        route="dashboard/refunds/<uuid:refund_id>/",
        path="dashboard/refunds/{refund}/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(route="dashboard/payouts/", get=MEMBERS),
    Row(
        route="dashboard/payouts/export.<file_type:file_type>",
        path="dashboard/payouts/export.csv",
        get=MEMBERS,
    ),
    Row(
        route="dashboard/payouts/<uuid:transaction_id>/",
        path="dashboard/payouts/{payout}/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payouts/new/",
        get=[302, 200, 403, 200, 403, 200, 403],
        post=[302, 302, 403, 302, 403, 302, 403],
        form={
            "step": "confirmed",
            "reference": "by-hand",
            "currency": "NGN",
            "amount": "2500",
            "bank_code": "058",
            "account_number": "0123456789",
            "name": "Ada Obi",
        },
    ),
    # Payment links
    Row(route="dashboard/payment-links/", get=MEMBERS),
    Row(
        route="dashboard/payment-links/new/",
        get=[302, 200, 403, 200, 403, 200, 403],
        post=[302, 302, 403, 302, 403, 302, 403],
        form=NEW_LINK,
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/edit/",
        path="dashboard/payment-links/{link}/edit/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
        form=CHANGED_LINK,
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/",
        path="dashboard/payment-links/{link}/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/deactivate/",
        path="dashboard/payment-links/{link}/deactivate/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/activate/",
        path="dashboard/payment-links/{link}/activate/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/qr.svg",
        path="dashboard/payment-links/{link}/qr.svg",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/qr.png",
        path="dashboard/payment-links/{link}/qr.png",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/poster/",
        path="dashboard/payment-links/{link}/poster/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/checkouts/",
        path="dashboard/payment-links/{link}/checkouts/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/checkouts.<file_type:file_type>",
        path="dashboard/payment-links/{link}/checkouts.csv",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/attempts/",
        path="dashboard/payment-links/{link}/attempts/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/payment-links/<uuid:link_id>/attempts/<uuid:payment_id>/end/",
        path="dashboard/payment-links/{link}/attempts/{attempt}/end/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
    ),
    # Virtual accounts
    Row(route="dashboard/virtual-accounts/", get=MEMBERS),
    Row(
        route="dashboard/virtual-accounts/new/",
        get=[302, 200, 403, 200, 403, 200, 403],
        post=[302, 200, 403, 200, 403, 200, 403],  # the form names the missing fields
    ),
    Row(route="dashboard/virtual-accounts/unapplied/", get=MEMBERS),
    Row(
        route="dashboard/virtual-accounts/unapplied/<uuid:unapplied_id>/",
        path="dashboard/virtual-accounts/unapplied/{unapplied}/",
        get=[302, 200, 200, 200, 200, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
        form={"decision": "credit", "reason": "Came too late"},
    ),
    Row(
        route="dashboard/virtual-accounts/<uuid:account_id>/",
        path="dashboard/virtual-accounts/{account}/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/virtual-accounts/<uuid:account_id>/deactivate/",
        path="dashboard/virtual-accounts/{account}/deactivate/",
        get=[302, 200, 403, 200, 403, 404, 403],
        post=[302, 302, 403, 302, 403, 404, 403],
    ),
    Row(
        route="dashboard/virtual-accounts/<uuid:account_id>/activate/",
        path="dashboard/virtual-accounts/{account}/activate/",
        post=[302, 302, 403, 302, 403, 404, 403],
    ),
    # Search
    Row(route="dashboard/search/", get=MEMBERS),
    # Further exports
    Row(
        route="dashboard/webhooks/deliveries/export.<file_type:file_type>",
        path="dashboard/webhooks/deliveries/export.xlsx",
        get=MEMBERS,
    ),
    Row(
        route="dashboard/virtual-accounts/export.<file_type:file_type>",
        path="dashboard/virtual-accounts/export.xlsx",
        get=MEMBERS,
    ),
    Row(
        route="dashboard/virtual-accounts/unapplied/export.<file_type:file_type>",
        path="dashboard/virtual-accounts/unapplied/export.xlsx",
        get=MEMBERS,
    ),
    Row(
        route="dashboard/settlements/export.<file_type:file_type>",
        path="dashboard/settlements/export.xlsx",
        get=MEMBERS,
    ),
    # Balance
    Row(route="dashboard/balance/", get=MEMBERS),
    Row(
        route="dashboard/balance/export.<file_type:file_type>",
        path="dashboard/balance/export.csv",
        get=MEMBERS,
    ),
    # Settlements
    Row(route="dashboard/settlements/", get=MEMBERS),
    Row(
        route="dashboard/settlements/<uuid:batch_id>/",
        path="dashboard/settlements/{batch}/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/settlements/<uuid:batch_id>/statement.<file_type:file_type>",
        path="dashboard/settlements/{batch}/statement.csv",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    # The sandbox
    Row(
        route="dashboard/sandbox/",
        get=MEMBERS,
        post=[302, 200, 200, 200, 403, 200, 403],
    ),
    Row(
        route="dashboard/sandbox/expire/<uuid:transaction_id>/",
        path="dashboard/sandbox/expire/{authorised}/",
        post=[302, 302, 302, 302, 403, 404, 403],
    ),
    Row(
        route="dashboard/sandbox/retry/<uuid:delivery_id>/",
        path="dashboard/sandbox/retry/{delivery}/",
        post=[302, 302, 302, 302, 403, 404, 403],
    ),
    Row(route="dashboard/sandbox/settle/", post=[302, 302, 302, 302, 403, 302, 403]),
    # Webhooks
    Row(
        route="dashboard/webhooks/",
        get=MEMBERS,
        post=[302, 302, 302, 403, 403, 200, 403],  # 200 shows the first key of B
        form={"url": "http://127.0.0.1:9/hooks", "payment": "on", "enabled": "on"},
    ),
    Row(
        route="dashboard/webhooks/rotate/",
        get=[302, 200, 200, 403, 403, 302, 403],  # B has no endpoint and no key
        post=[302, 200, 302, 403, 403, 302, 403],  # the developer's form is older than the owner's new key
        form={"made": "{key_made_at}"},
    ),
    Row(route="dashboard/webhooks/exam/", get=MEMBERS, post=[302, 302, 302, 403, 403, 302, 403]),
    Row(
        route="dashboard/webhooks/exam/<uuid:exam_id>/acted/",
        path="dashboard/webhooks/exam/{exam}/acted/",
        post=[302, 302, 302, 403, 403, 404, 403],
        form={"acted": "1"},
    ),
    Row(route="dashboard/webhooks/test/", post=[302, 302, 302, 403, 403, 302, 403]),
    Row(
        route="dashboard/webhooks/replay/",
        get=[302, 200, 200, 403, 403, 200, 403],
        post=[302, 302, 302, 403, 403, 302, 403],
        form={"state": "dead", "since": "2026-01-01", "until": "2026-01-02"},
    ),
    Row(route="dashboard/webhooks/deliveries/", get=MEMBERS),
    Row(
        route="dashboard/webhooks/deliveries/<uuid:delivery_id>/",
        path="dashboard/webhooks/deliveries/{delivery}/",
        get=[302, 200, 200, 200, 200, 404, 403],
    ),
    Row(
        route="dashboard/webhooks/deliveries/<uuid:delivery_id>/replay/",
        path="dashboard/webhooks/deliveries/{delivery}/replay/",
        post=[302, 302, 302, 403, 403, 404, 403],
    ),
    Row(
        route="dashboard/webhooks/deliveries/resend/",
        post=[302, 302, 302, 403, 403, 302, 403],
        form={"delivery": "{delivery}"},
    ),
    # Settings: all members can view, owners can change
    Row(
        route="dashboard/settings/",
        get=MEMBERS,
        post=[302, 302, 403, 403, 403, 302, 403],
        form={"group": "zone", "time_zone": "Africa/Accra"},
    ),
    # Developers: all members can view, owners and developers can change
    Row(route="dashboard/developers/", get=MEMBERS),
    Row(
        route="dashboard/developers/keys/new/",
        get=[302, 200, 200, 403, 403, 200, 403],
        post=[302, 302, 302, 403, 403, 302, 403],  # as if the form was not loaded first
        form={"name": "till", "access": "full"},
    ),
    Row(
        route="dashboard/developers/keys/<int:key_id>/rotate/",
        path="dashboard/developers/keys/{key}/rotate/",
        get=[302, 200, 200, 403, 403, 404, 403],
        post=[302, 302, 302, 403, 403, 404, 403],
        form={"overlap": "24"},
    ),
    Row(
        route="dashboard/developers/keys/<int:key_id>/revoke/",
        path="dashboard/developers/keys/{key}/revoke/",
        get=[302, 200, 200, 403, 403, 404, 403],
        post=[302, 302, 302, 403, 403, 404, 403],
    ),
    Row(route="dashboard/developers/requests/", get=MEMBERS),
    Row(route="dashboard/developers/signature/", get=MEMBERS, post=MEMBERS),
    # Team: all members can view, owners can change
    Row(route="dashboard/team/", get=MEMBERS),
    Row(
        route="dashboard/team/invite/",
        get=[302, 200, 403, 403, 403, 200, 403],
        post=[302, 200, 403, 403, 403, 200, 403],
        form={"email": "new@example.com", "role": "viewer"},
    ),
    Row(
        route="dashboard/team/<int:member_id>/",
        path="dashboard/team/{member}/",
        get=[302, 200, 403, 403, 403, 404, 403],
        post=[302, 302, 403, 403, 403, 404, 403],
        form={"role": "finance"},
    ),
    Row(
        route="dashboard/team/<int:member_id>/remove/",
        path="dashboard/team/{leaver}/remove/",
        post=[302, 302, 403, 403, 403, 404, 403],
    ),
    Row(
        route="dashboard/team/invitations/<uuid:invitation_id>/withdraw/",
        path="dashboard/team/invitations/{invitation}/withdraw/",
        post=[302, 302, 403, 403, 403, 404, 403],
    ),
    Row(route="dashboard/invitation/<str:token>/", path="dashboard/invitation/{token}/", get=OPEN, post=OPEN),
    Row(route="dashboard/activity/", get=MEMBERS),
    # Saved views
    Row(
        route="dashboard/views/",
        post=[302, 302, 302, 302, 302, 302, 403],
        form={"list": "payments", "name": "Failed", "query": "status=failed"},
    ),
    Row(
        route="dashboard/views/<int:view_id>/",
        path="dashboard/views/{view}/",
        get=[302, 200, 404, 404, 404, 404, 403],
        post=[302, 302, 404, 404, 404, 404, 403],
        form={"name": "Renamed"},
    ),
    Row(
        route="dashboard/activity/export.<file_type:file_type>",
        path="dashboard/activity/export.csv",
        get=MEMBERS,
    ),
]

# Signed calls and payers' pages have their own tests; the other URLs are public and change nothing.
ELSEWHERE = (
    "api/",
    "docs",
    "3ds/",
    "pay/",
    "l/",
    "checkout/",
    "bank/",
    "livez",
    "readyz",
    "metrics",
    "favicon.ico",
    "robots.txt",
    ".well-known/",
    "admin/",
)
FRONT = ""


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
    return {
        "key": ada.pk,
        "member": MemberFactory(business=ada.business, role=Role.VIEWER).pk,
        "leaver": MemberFactory(business=ada.business, role=Role.VIEWER).pk,
        "invitation": offer.invitation.pk,
        "token": offer.token,
        "business": str(ada.business_id),
        "payment": captured_payment(business=ada.business, now=now).pk,
        "refund": refunds.refund(
            transaction=captured_payment(business=ada.business, now=now),
            request={"reference": "refund-0", "amount": 1},
            now=now,
        ).resource.pk,
        "authorised": authorised_payment(business=ada.business, now=now).pk,
        "challenged": challenged_payment(business=ada.business, now=now).pk,
        "payout": start(orders.payout(), business=ada.business, now=now).pk,
        "delivery": make_delivery(endpoint).pk,
        "exam": examine_endpoint(ada.business, actor=Actor(name="test"), now=now).pk,
        "account": account.pk,
        "link": link.pk,
        "attempt": pay_by_transfer(begin(link)).pk,
        "unapplied": mismatched_money(business=ada.business, now=now).pk,
        "batch": batch.pk,
        "key_made_at": endpoint.key_made_at.isoformat(),
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
    }


@pytest.fixture
def people(ada, bisi, members):
    clerk = UserFactory(is_staff=True, password=PASSWORD)
    clerk.user_permissions.set(Right.objects.all())
    return {
        "anonymous": Client(raise_request_exception=False),
        **{str(role): signed_in(user) for role, user in members.items()},
        "owner of B": signed_in(MemberFactory(business=bisi.business, user__password=PASSWORD).user),
        "staff": signed_in(UserFactory(is_staff=True, is_superuser=True, password=PASSWORD)),
        OTHER_STAFF[0]: signed_in(UserFactory(is_staff=True, password=PASSWORD)),
        OTHER_STAFF[1]: signed_in(clerk),
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.route)
class TestAddress:
    def test_responds_to_each_user_as_declared(self, row, method, people, here, request):
        path = "/" + (row.path or row.route).format_map(here)
        form = {name: str(value).format_map(here) for name, value in row.form.items()}
        answered = {}
        for name in [*PEOPLE, *OTHER_STAFF]:
            cache.clear()  # limits have their own tests
            LimitSlot.objects.all().delete()
            arguments = {"data": form} if method == "post" else {}
            answered[name] = getattr(people[name], method)(path, **arguments).status_code

        expected = dict(zip(PEOPLE, row.expected(method), strict=True))
        assert answered == expected | dict.fromkeys(OTHER_STAFF, expected["staff"])


class TestTable:
    def test_has_a_row_for_every_address(self):
        routes = {route.lstrip("^") for route, _ in access_rules.routes()}
        wanted = {route for route in routes if route != FRONT and not route.startswith(ELSEWHERE)}

        assert wanted == {row.route for row in TABLE}

    def test_lists_no_address_twice(self):
        routes = [row.route for row in TABLE]

        assert sorted(routes) == sorted(set(routes))


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
