"""Who may do what: every address of ours that a browser reaches, by every method, for everybody.

A row is an address, the methods it answers, and for each method the status that each person is answered
with, in the order of PEOPLE. A method that no row names is answered 405. An address of `config.urls`
without a row fails. `{…}` in a path is taken from `here`: things of business A, which the owner of B must
not find. A form is what makes a post get past validation, so that a 200 of a refused form is not taken for
leave to change something; an empty one is enough where the answer tells the two apart.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from config.urls import urlpatterns
from merchants.models import Member
from merchants.roles import GRANTS, Permission, Role, may, why_not
from tests.factories import MemberFactory, UserFactory

pytestmark = pytest.mark.django_db

PEOPLE = ["anonymous", "owner", "developer", "finance", "viewer", "owner of B", "staff"]
METHODS = ["get", "post", "put", "patch", "delete"]

OPEN = [200, 200, 200, 200, 200, 200, 200]
MEMBERS = [302, 200, 200, 200, 200, 200, 403]
NOBODY = [405, 405, 405, 405, 405, 405, 405]


@dataclass(frozen=True, kw_only=True)
class Row:
    route: str  # as in `config.urls`
    path: str = ""  # where it differs from the route
    get: list[int] = field(default_factory=lambda: NOBODY)
    post: list[int] = field(default_factory=lambda: NOBODY)
    other: list[int] = field(default_factory=lambda: NOBODY)  # put, patch, delete
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
    Row(route="dashboard/login/", get=[200, 302, 302, 302, 302, 302, 302], post=[200] * 7),
    Row(route="dashboard/logout/", post=[302] * 7),
]

# Signed calls have tests of their own; these pages are open to everybody and change nothing.
ELSEWHERE = ("api/", "docs/", "3ds/", "livez", "readyz", "admin/")
FRONT = ""


@pytest.fixture
def here(ada, bisi):
    """What the paths and forms of the table refer to, all of it business A's."""
    return {"business": str(ada.business_id)}


@pytest.fixture
def people(ada, bisi):
    def signed_in(user):
        client = Client(raise_request_exception=False)
        client.force_login(user)
        return client

    members = {role: MemberFactory(business=ada.business, role=role).user for role in Role}
    return {
        "anonymous": Client(raise_request_exception=False),
        **{str(role): signed_in(user) for role, user in members.items()},
        "owner of B": signed_in(MemberFactory(business=bisi.business).user),
        "staff": signed_in(UserFactory(is_staff=True, is_superuser=True)),
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.route)
class TestAddress:
    def test_answers_each_person_as_the_table_says(self, row, method, people, here, request):
        path = "/" + (row.path or row.route).format_map(here)
        form = {name: str(value).format_map(here) for name, value in row.form.items()}
        answered = {}
        for name in PEOPLE:
            cache.clear()  # how often somebody may try is told elsewhere
            arguments = {"data": form} if method == "post" else {}
            answered[name] = getattr(people[name], method)(path, **arguments).status_code

        assert answered == dict(zip(PEOPLE, row.expected(method), strict=True))


class TestTable:
    def test_has_a_row_for_every_address(self):
        routes = {str(each.pattern).lstrip("^") for each in urlpatterns}
        wanted = {route for route in routes if route != FRONT and not route.startswith(ELSEWHERE)}

        assert wanted == {row.route for row in TABLE}

    def test_names_no_address_twice(self):
        routes = [row.route for row in TABLE]

        assert sorted(routes) == sorted(set(routes))


class TestRoles:
    def test_grant_every_permission_to_somebody_and_always_to_owners(self):
        assert set(GRANTS) == set(Permission)
        assert all(may(Role.OWNER, permission) for permission in Permission)

    def test_let_viewers_only_look(self):
        assert [each for each in Permission if may(Role.VIEWER, each)] == [Permission.LOOK]

    @pytest.mark.parametrize("permission", Permission)
    def test_have_a_sentence_for_those_who_may_not(self, permission):
        sentence = why_not(permission)

        assert sentence.startswith("Only owners")
        assert sentence.endswith(".")

    def test_are_the_roles_of_members(self):
        assert set(Role) == set(Member.Role)
