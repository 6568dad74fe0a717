"""Every URL is requested by anonymous clients, API keys, members of each role, and staff with and without
permissions.

The ids belong to no rows: access is denied before any row is looked up. Responses to members for existing
rows are tested in tests/dashboard/test_authorisation.py.
"""

import pytest
from django.contrib.auth.models import Group
from django.contrib.auth.models import Permission as Right
from django.test import Client
from freezegun import freeze_time

from ledger.models import Entry
from merchants.models import ApiKey, AuditEntry, Business, Member, User
from merchants.people.access import Asks, Who
from tests.addresses import ADMINISTRATION, API, MEMBERS, RULES, is_asked, of_people, path_of, routes_of
from tests.bank_signing import KEY as KEY_OF_BANK
from tests.clients import Credentials, InProcessClient
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import signed_in
from tests.factories import ApiKeyFactory, MemberFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.long]

REFUSED = {401, 403, 405}
ANONYMOUS, KEY, READ_ONLY_KEY = "an anonymous client", "a key", "a read-only key"
OWNER = "an owner"  # other roles have fewer permissions, and are refused wherever an owner is
NO_RIGHTS, VIEWS, SUPERUSER = "staff without rights", "staff who may view", "a superuser"
STAFF = [NO_RIGHTS, VIEWS, SUPERUSER]


@pytest.fixture
def use(ada):
    """Return a function that returns the client of a user or key."""

    def client(who):
        if who == ANONYMOUS:
            return Client(raise_request_exception=False)
        if who in {KEY, READ_ONLY_KEY}:
            access = ApiKey.Access.FULL if who == KEY else ApiKey.Access.READ_ONLY
            key = ApiKeyFactory(business=ada.business, access=access)
            return InProcessClient(Credentials(key.public_id, key.secret))
        if who == OWNER:
            return signed_in(MemberFactory(business=ada.business, role=Member.Role.OWNER).user)
        person = UserFactory(is_staff=True, is_superuser=who == SUPERUSER)
        if who == VIEWS:
            person.user_permissions.set(Right.objects.filter(codename__startswith="view_"))
        return signed_in(person)

    return client


def stored():
    """Return the rows that only users with the permission may change."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (ApiKey, AuditEntry, Business, Entry, Group, Member)
    ] + [
        list(User.objects.order_by("pk").values("email", "is_staff", "is_superuser", "is_active", "password"))
    ]


PATCHED = {
    "api/payment-links/<str:reference>",
    "api/beneficiaries/<str:reference>",
    "api/webhook-endpoints/<uuid:id>",
}
ONLY_DELETED = {"api/disputes/<uuid:id>/evidence/<uuid:item>"}


def write(client, route):
    if route in ONLY_DELETED:
        return client.delete(path_of(route))
    return (client.patch if route in PATCHED else client.post)(path_of(route), {})


class TestApi:
    SIGNED = routes_of(Who.KEY, Who.FULL_KEY)

    @pytest.mark.parametrize("who", [ANONYMOUS, OWNER, SUPERUSER])
    def test_rejects_requests_without_a_key(self, use, who):
        client = use(who)

        answers = {client.get(path_of(route)).status_code for route in API}
        answers |= {client.post(path_of(route)).status_code for route in API}

        assert answers == {401}

    @pytest.mark.parametrize("who", [KEY, READ_ONLY_KEY])
    def test_allows_keys_to_read_as_declared(self, use, who):
        client = use(who)

        for route in self.SIGNED:
            is_open = client.get(path_of(route)).status_code not in REFUSED
            assert is_open == (RULES[route].readers == Who.KEY), route

    @pytest.mark.parametrize(("who", "writes"), [(KEY, True), (READ_ONLY_KEY, False)])
    def test_allows_full_keys_to_write_as_declared(self, use, ada, who, writes):
        Business.objects.update(keys_decide_unapplied=True)
        client = use(who)

        for route in self.SIGNED:
            is_open = write(client, route).status_code not in REFUSED
            assert is_open == (writes and RULES[route].writers == Who.FULL_KEY), route


class TestBank:
    @pytest.mark.parametrize("who", [ANONYMOUS, KEY, OWNER, SUPERUSER])
    def test_is_the_only_sender_of_notifications(self, use, settings, who):
        settings.BANK_NOTIFICATION_KEYS = [KEY_OF_BANK]
        client = use(who)

        assert {client.post(path_of(route), {}).status_code for route in routes_of(Who.BANK)} == {401}


class TestProviders:
    @pytest.mark.parametrize("who", [ANONYMOUS, KEY, OWNER, SUPERUSER])
    def test_are_the_only_senders_of_their_events(self, use, settings, who):
        settings.CHECKOUT_WEBHOOK_KEYS = ["a-key-of-a-workflow"]
        client = use(who)

        for route in routes_of(Who.PROVIDER):
            assert client.post(f"/{route.replace('<str:provider>', 'checkout')}", {}).status_code == 401


class TestPublic:
    @pytest.mark.parametrize("who", [KEY, OWNER, SUPERUSER])
    def test_pages_are_the_same_for_everyone(self, use, who):
        client, anonymous = use(who), use(ANONYMOUS)

        for route in routes_of(Who.PUBLIC, Who.PAYER, Who.MONITORING):
            if route.startswith(("dashboard", "admin/")):
                continue  # sign-in redirects signed-in users
            assert client.get(path_of(route)).status_code == anonymous.get(path_of(route)).status_code, route


class TestDashboard:
    def test_ignores_keys(self, use):
        client, anonymous = use(KEY), use(ANONYMOUS)

        for route in [route for route in RULES if route.startswith("dashboard")]:
            for method in ("get", "post"):
                answered = getattr(client, method)(path_of(route)).status_code
                assert answered == getattr(anonymous, method)(path_of(route)).status_code, (method, route)

    def test_is_not_available_to_staff_without_membership(self, use):
        client, before = use(SUPERUSER), stored()

        for route in MEMBERS:
            assert client.get(path_of(route)).status_code in {403, 405}, route
            assert client.post(path_of(route)).status_code in {403, 405}, route
        assert stored() == before


def may(who, people):
    """Return whether this kind of staff is among the people that a rule names."""
    if people is None or who == SUPERUSER or people in {Who.PUBLIC, Who.STAFF}:
        return people is not None
    return who == VIEWS and people.rpartition(".")[2].startswith("view_")


def is_list(route):
    """Return whether a URL is the list of a model: staff who may view it get it, without an action."""
    return f"{route}add/" in RULES


class TestAdministration:
    @pytest.mark.parametrize("who", [ANONYMOUS, KEY, OWNER])
    def test_redirects_everyone_but_staff(self, use, who):
        client, before = use(who), stored()

        for route in ADMINISTRATION:
            for method in ("get", "post"):
                answer = getattr(client, method)(path_of(route))
                assert answer.status_code == 302, (method, route)
        assert stored() == before

    @pytest.mark.parametrize("who", STAFF)
    def test_can_be_viewed_as_declared(self, use, who):
        client = use(who)

        for route in ADMINISTRATION:
            if route.endswith(("/history/", "autocomplete/", "password_change/done/")):
                continue  # these respond as for a missing row, or a missing query
            status = client.get(path_of(route)).status_code
            assert (status not in REFUSED) == may(who, RULES[route].readers), (route, status)

    @pytest.mark.parametrize("who", STAFF)
    def test_can_be_changed_as_declared(self, use, who):
        client, before = use(who), stored()

        for route in ADMINISTRATION:
            status = client.post(path_of(route), {"reason": "x"}).status_code
            if route == "admin/logout/":
                client = use(who)
                before = stored()
            elif "/proposal/<uuid:" in route:  # the permission is that of a row
                assert status == 404, route
            elif RULES[route].writers and not is_list(route):
                assert (status not in REFUSED) == may(who, RULES[route].writers), (route, status)
        assert who == SUPERUSER or stored() == before

    @pytest.mark.parametrize("who", [NO_RIGHTS, VIEWS])
    def test_shows_the_history_of_a_row_to_users_who_may_view_it(self, use, who, ada):
        client, person = use(who), UserFactory()

        for path in (f"merchants/user/{person.pk}", f"merchants/business/{ada.business_id}"):
            assert client.get(f"/admin/{path}/history/").status_code == (403 if who == NO_RIGHTS else 200)


class TestStaleSession:
    """A session lasts 12 hours, but allows changes only for ten minutes after sign-in."""

    NOON = "2026-11-22T12:00:00Z"

    @pytest.mark.parametrize(
        ("at", "is_recent"), [("2026-11-22T12:09:59Z", True), ("2026-11-22T12:10:01Z", False)]
    )
    def test_must_reauthenticate_for_every_action(self, ada, at, is_recent):
        user = UserFactory(email="both@example.com", is_staff=True, is_superuser=True, password=PASSWORD)
        MemberFactory(business=ada.business, role=Member.Role.OWNER, user=user)
        client = Client(raise_request_exception=False)
        with freeze_time(self.NOON):
            client.post("/dashboard/login/", {"email": user.email, "password": PASSWORD})
            assert client.get("/dashboard/").status_code == 200
        before = stored()

        with freeze_time(at):
            acts = {
                route: each for route, each in of_people().items() if each.writers and each.asks != Asks.NEVER
            }
            asked = [route for route in acts if is_asked(client.post(path_of(route), {"reason": "x"}))]

        assert asked == ([] if is_recent else list(acts))
        assert len(acts) > 40
        assert is_recent or stored() == before
