"""The global search of the administration."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from payments.models import Transaction
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.links import make_link

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff():
    return signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())


@pytest.fixture
def payment(api):
    api.post("/api/payments", orders.card_payment(reference="order-1"))
    return Transaction.objects.get()


def groups(browser, term):
    return {
        group.name: [hit.address for hit in group.hits]
        for group in browser.get("/admin/search/", {"q": term}).context["groups"]
    }


class TestSearch:
    @pytest.mark.parametrize("column", ["reference", "pk", "retrieval_reference_number"])
    def test_finds_a_payment(self, staff, payment, column):
        found = groups(staff, str(getattr(payment, column)))

        assert found["Transactions"] == [f"/admin/payments/transaction/{payment.pk}/change/"]

    @pytest.mark.parametrize(
        "term", ["workshop-may", "Bookbind", "https://pay.example/l/{slug}", "{SLUG}", "{link_id}"]
    )
    def test_finds_a_payment_link(self, staff, api, term):
        link = make_link(api, reference="workshop-may", title="Bookbinding workshop")
        make_link(api, title="Evening class")

        found = groups(staff, term.format(slug=link.slug, SLUG=link.slug.upper(), link_id=link.pk))

        assert found["Payment links"] == [f"/admin/payments/paymentlink/{link.pk}/change/"]

    def test_finds_a_business_by_its_name(self, staff, ada):
        ada.business.name = "Ɗan Òbi Ventures"
        ada.business.save()

        for term in ("ɗan Ò", "dan obi", "VENTURES", "ventures dan", "obi  ven dan", ada.business.name):
            assert groups(staff, term)["Businesses"] == [
                f"/admin/merchants/business/{ada.business_id}/change/"
            ]

    def test_finds_staff_by_words_of_their_name_in_any_order(self, staff):
        person = UserFactory(is_staff=True, name="Łukasz Grace O\u2019Brien")

        for term in ("obrien lukasz", "Grace O'Brien", "luk grace"):
            assert groups(staff, term)["Users"] == [f"/admin/merchants/user/{person.pk}/change/"]
        assert groups(staff, "lukasz obi") == {}

    def test_finds_keys_of_a_business_by_words_in_any_order(self, staff, ada):
        ada.business.name = "Danjuma Obi Ventures"
        ada.business.save()

        answer = staff.get("/admin/merchants/apikey/", {"q": "obi danjuma"})

        assert ada.public_id in answer.content.decode()

    def test_shows_only_models_that_the_user_may_view(self, payment):
        person = UserFactory(is_staff=True)
        person.user_permissions.set(Permission.objects.filter(codename="view_business"))
        browser = signed_in(person, client=Client())

        assert groups(browser, "order-1") == {}
        assert set(groups(browser, payment.business.name)) == {"Businesses"}

    @pytest.mark.parametrize("term", ["", "a\0b", "%", "x" * 300, "nothing-like-it"])
    def test_shows_what_can_be_searched_when_nothing_matches(self, staff, term):
        answer = staff.get("/admin/search/", {"q": term})

        assert answer.status_code == 200
        assert b"Enter a business" in answer.content
