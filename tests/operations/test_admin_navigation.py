"""The navigation at the side of the administration."""

import re
import uuid

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from payments.models import RailBlock
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.settling import settle
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db

HERE = re.compile(r'href="([^"]+)" aria-current="page"')


@pytest.fixture
def staff():
    return signed_in(UserFactory(is_staff=True, is_superuser=True))


def side(browser, path):
    text = browser.get(path).content.decode()
    return text.partition('class="side__nav"')[2].partition("</nav>")[0]


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("/admin/", "/admin/"),
        ("/admin/cash/", "/admin/cash/"),
        ("/admin/cash/bankaccount/", "/admin/cash/"),
        ("/admin/cash/statement/", "/admin/cash/statement/"),
        ("/admin/merchants/business/", "/admin/merchants/business/"),
    ],
)
def test_marks_the_area_of_a_page(staff, path, area):
    assert HERE.findall(side(staff, path)) == [area]


def test_marks_nothing_on_a_page_outside_of_its_areas(staff):
    assert HERE.findall(side(staff, "/admin/payments/tariff/")) == []


def test_counts_what_awaits_staff(staff, ada):
    captured_payment(business=ada.business, now=timezone.now())
    settle()
    RailBlock.objects.create(
        id=uuid.uuid4(),
        connector="paystack",
        account="paystack:1",
        reason="No balance",
        since=timezone.now(),
        probed_at=timezone.now(),
    )

    shown = side(staff, "/admin/merchants/business/")

    assert re.findall(r'title="([^"]+)">(\d+)<', shown) == [
        ("Batches awaiting approval", "1"),
        ("Blocked accounts", "1"),
    ]


def test_shows_areas_that_the_user_may_open(ada):
    person = UserFactory(is_staff=True)
    person.user_permissions.add(Permission.objects.get(codename="view_settlementbatch"))
    captured_payment(business=ada.business, now=timezone.now())
    settle()

    shown = side(signed_in(person), "/admin/")

    assert re.findall('href="([^"]+)"', shown) == [
        "/admin/",
        "/admin/payments/settlementbatch/",
        "/admin/connector/",
    ]
    assert 'title="Batches awaiting approval">1<' in shown


@pytest.mark.parametrize("path", ["/admin/payments/none/", "/admin/connector/none/"])
def test_stays_on_a_page_that_does_not_exist(staff, path):
    answer = staff.get(path)

    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()
    assert 'class="side__nav"' in answer.content.decode()


def test_stays_on_a_page_that_is_not_allowed():
    answer = signed_in(UserFactory(is_staff=True)).get("/admin/cash/")

    assert answer.status_code == 403
    assert "have permission to do this" in answer.content.decode()
    assert 'class="side__nav"' in answer.content.decode()


def test_is_not_shown_to_members(ada):
    answer = signed_in(UserFactory()).get("/admin/none/")

    assert 'class="side__nav"' not in answer.content.decode()
