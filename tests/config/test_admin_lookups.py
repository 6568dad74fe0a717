"""Query strings of the admin use only the filters of the lists, and no other column."""

import re
import uuid
from collections import deque
from functools import cache

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db.models import Field
from django.test import Client, RequestFactory
from django.urls import reverse

from kit.db.encrypted_field import EncryptedTextField
from merchants.admin import StaffAdmin
from merchants.models import ApiKey, User
from payments.models import Transaction
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.packages import PACKAGES
from virtual_accounts.models import VirtualAccount

pytestmark = pytest.mark.django_db

PAGES = sorted(admin.site._registry.items(), key=lambda item: item[0]._meta.label)
IDS = [model._meta.label for model, _ in PAGES]
LOOKUPS = [
    "",
    "exact",
    "iexact",
    "contains",
    "startswith",
    "regex",
    "gt",
    "lte",
    "in",
    "range",
    "isnull",
    "pk",
]
# Names of secret columns; encrypted ones are found by their type.
SECRET = re.compile(
    r"password|secret|hash|fingerprint|token|nonce|session_key|session_data|^data$|^bvn|^code$|^key$"
)
RELATIONS_DEEP = 2


def is_secret(field):
    return isinstance(field, EncryptedTextField) or (bool(SECRET.search(field.name)) and not field.choices)


@cache
def columns(model):
    """Return all columns that a lookup of the model can name, including those across relations, by path."""
    found = []
    waiting = deque([("", model, 0)])
    while waiting:
        prefix, current, depth = waiting.popleft()
        for field in current._meta.get_fields(include_hidden=True):
            name = field.name
            if name.endswith("+"):
                continue
            path = f"{prefix}{name}"
            if isinstance(field, Field):
                found.append((path, field))
            if field.is_relation and field.related_model and depth < RELATIONS_DEEP:
                waiting.append((f"{path}__", field.related_model, depth + 1))
    return found


def offered(page):
    """Return the parameters that the list's own filters send."""
    named = {each for each in page.list_filter if isinstance(each, str)}
    custom = {each.parameter_name for each in page.list_filter if not isinstance(each, str)}
    return {f"{name}{end}" for name in named for end in ("", "__exact", "__isnull")} | custom


@pytest.fixture
def viewer():
    """Return a client of a member of staff who may view all models and change nothing."""
    person = UserFactory(email="views@example.com", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    return signed_in(person, client=Client())


def address(model):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def subclasses(of):
    for each in of.__subclasses__():
        yield each
        yield from subclasses(each)


class TestEveryPage:
    def test_derives_from_the_base_class(self, subtests):
        for model, page in PAGES:
            with subtests.test(model=model, page=page):
                assert isinstance(page, StaffAdmin)

    def test_of_ours_derives_from_the_base_class_and_is_registered(self):
        ours = {
            each for each in subclasses(admin.ModelAdmin) if each.__module__.partition(".")[0] in PACKAGES
        }

        assert ours
        assert [each for each in ours if not issubclass(each, StaffAdmin)] == []
        for each in ours:
            assert "lookup_allowed" not in vars(each) or each is StaffAdmin, each

    def test_is_not_protected_without_the_base_class(self):
        class WithoutBaseClass(admin.ModelAdmin):
            pass

        session = apps.get_model("sessions.Session")
        for page in (WithoutBaseClass, None):
            admin.site.register(session, page)
            assert session not in admin.site._registry

    def test_allows_no_lookup_but_those_of_its_filters(self, subtests):
        for model, page in PAGES:
            with subtests.test(model=model, page=page):
                request = RequestFactory().get("/")
                paths = [path for path, _ in columns(model)]
                lookups = {f"{path}__{end}".removesuffix("__") for path in paths for end in LOOKUPS}
                assert len(lookups) > len(LOOKUPS)

                allowed = {lookup for lookup in lookups if page.lookup_allowed(lookup, "x", request)}

                days = {f"{page.date_hierarchy}__{part}" for part in ("year", "month", "day")}
                assert allowed <= offered(page) | page.allowed_lookups | days

    def test_offers_no_secret_column(self, subtests):
        for model, page in PAGES:
            with subtests.test(model=model, page=page):
                secrets = {path for path, field in columns(model) if is_secret(field)}
                named = [
                    each
                    for each in (*page.list_filter, *page.list_display, *page.search_fields)
                    if isinstance(each, str)
                ]
                shown = {
                    *named,
                    *page.ordering,
                    *page.sortable_by,
                    *page.allowed_lookups,
                    page.date_hierarchy or "",
                }

                assert not {each.removeprefix("-").partition("__exact")[0] for each in shown} & secrets

    def test_searches_in_no_secret_column(self, subtests):
        for model, page in PAGES:
            with subtests.test(model=model, page=page):
                terms = [
                    str(uuid.uuid4()), "1234", "123456", "1234567890", "123456789012", "ada@example.com", "f" * 64, "12345678901",
                ]  # fmt: skip
                secrets = {field.column for _, field in columns(model) if is_secret(field)}

                for term in terms:
                    for look in page.searches:
                        for found in look(model, term):
                            condition = str(found.order_by().values("pk").query).partition(" WHERE ")[2]
                            assert not [name for name in secrets if f'"{name}"' in condition], (
                                term,
                                condition,
                            )

    @pytest.mark.long
    def test_rejects_lookups_of_secret_columns(self, subtests, viewer):
        for model, page in PAGES:
            with subtests.test(model=model, page=page):
                own = next(path for path, _ in columns(model))
                secrets = [path for path, field in columns(model) if is_secret(field)]

                for path in [own, *secrets[:3]]:  # the page allows no other one either
                    answer = viewer.get(address(model), {f"{path}__regex": "^x"})
                    assert answer.status_code == 400, path

    @pytest.mark.long
    def test_sorts_by_no_column_on_request(self, subtests, viewer):
        for model, page in PAGES:
            with subtests.test(model=model, page=page):
                usual = viewer.get(address(model)).context["cl"].queryset.query.order_by

                for wanted in ("2.-1", "99", "x"):
                    listed = viewer.get(address(model), {"o": wanted})
                    assert listed.status_code == 200
                    order = listed.context["cl"].queryset.query.order_by
                    assert order == usual or (
                        page.sortable_by and order[0].removeprefix("-") == usual[0].removeprefix("-")
                    )

    @pytest.mark.long
    def test_references_rows_by_id_only(self, subtests, viewer):
        for model, page in PAGES:
            with subtests.test(model=model, page=page):
                others = [field.name for field in model._meta.fields if not field.primary_key]

                assert not [name for name in others if page.to_field_allowed(RequestFactory().get("/"), name)]
                answer = viewer.get(address(model), {"_to_field": others[0], "_popup": "1"})
                assert answer.status_code == 400

    @pytest.mark.long
    def test_still_filters_by_its_own_filters(self, subtests, viewer):
        for model, page in PAGES:
            with subtests.test(model=model, page=page):
                listed = viewer.get(address(model)).context["cl"]

                for spec in listed.filter_specs:
                    for choice in spec.choices(listed):
                        assert viewer.get(address(model) + choice["query_string"]).status_code == 200


class TestSecrets:
    def guesses(self, viewer, model, lookup, right, wrong):
        """Return the responses to a right and a wrong guess of a value."""
        return [viewer.get(address(model), {lookup: guess}).status_code for guess in (right, wrong)]

    def test_of_users_cannot_be_guessed(self, viewer, ada):
        UserFactory(email="target@example.com")
        start = re.escape(User.objects.get(email="target@example.com").password[:25])

        assert self.guesses(viewer, User, "password__regex", f"^{start}", "^no") == [400, 400]
        assert self.guesses(viewer, Group, "user__password__regex", f"^{start}", "^no") == [400, 400]
        assert self.guesses(viewer, ApiKey, "business__members__user__password__regex", "^p", "^no") == [
            400,
            400,
        ]
        assert self.guesses(viewer, User, "authenticator__data__contains", "a", "b") == [400, 400]

    def test_of_accounts_and_payments_cannot_be_guessed(self, viewer, api):
        api.post("/api/virtual-accounts", orders.static_account())
        api.post("/api/payments", orders.card_payment())
        account, payment = VirtualAccount.objects.get(), Transaction.objects.get()

        for model, lookup, value in (
            (VirtualAccount, "bvn_hash__startswith", account.bvn_hash[:1]),
            (VirtualAccount, "fingerprint__startswith", account.fingerprint[:1]),
            (Transaction, "fingerprint__startswith", payment.fingerprint[:1]),
        ):
            assert self.guesses(viewer, model, lookup, value, "z") == [400, 400]

    def test_cannot_be_searched(self, viewer, ada, api):
        api.post("/api/virtual-accounts", orders.static_account())
        api.post("/api/payments", orders.card_payment())
        person = UserFactory()
        for model, _ in PAGES:
            for row in model.objects.all():
                for field in model._meta.fields:
                    value = getattr(row, field.name) if is_secret(field) and not field.primary_key else None
                    if isinstance(value, str) and value:
                        found = viewer.get(address(model), {"q": value}).context["cl"]
                        assert found.result_count == 0, (model, field)
        assert person.password
