"""Twelve suppliers from a spreadsheet, paid by two people, with the number of clicks of each.

Both begin on the overview. A page that adds a click fails its journey.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.people import open_navigation, sign_in
from tests.browser.sample_data import PASSWORD
from tests.browser.test_support_journeys import Hands

pytestmark = pytest.mark.e2e

HEADINGS = "Supplier\tBank\tAccount No\tAmount (NGN)\tNarration\tPurpose"
ROWS = [
    f"Supplier {number}\tGTBank\t01245598{number:02}\t{number},500.00\tWeek 48\tSupplier"
    for number in range(1, 13)
]
TWELVE = "\n".join([HEADINGS, *ROWS])
SETTINGS = """
from merchants.models import Business, Member, User
from payments.models import PayoutControls
business = Business.objects.get(pk="{business}")
PayoutControls.objects.update_or_create(business=business, defaults={{"approval": "always"}})
checker = User.objects.create_user("{email}", "{password}")
Member.objects.create(business=business, user=checker, role="finance")
"""


def open_payouts(hands):
    """Open the list of payouts from the navigation, which takes a click more on a phone."""
    button = hands.page.get_by_role("button", name="Menu")
    hands.clicks += button.is_visible()
    open_navigation(hands.page)
    hands.click("link", "Payouts")


def reload_until(page, shown):
    while not shown.is_visible():
        page.wait_for_timeout(1_000)
        page.reload()


def test_twelve_suppliers_take_five_clicks_to_make_and_three_to_approve(request, service, owner, seen):
    email = f"checker-{owner.email}"
    made = service.command(
        "shell", "-v0", "-c", SETTINGS.format(business=owner.business, email=email, password=PASSWORD)
    )
    assert made.returncode == 0, made.stderr
    page, maker = seen.page, Hands(seen.page)
    owner.sign_in(page)

    open_payouts(maker)
    maker.click("link", "Pay many")
    maker.type("Title", "Suppliers, week 48")
    maker.type("Rows from your spreadsheet", TWELVE)
    maker.click("button", "Check payouts")
    approve = page.get_by_role("button", name="Request approval of NGN 84,000.00")
    if request.node.callspec.params["seen"] == "without JavaScript":
        reload_until(page, approve)
    expect(approve).to_be_visible()  # the page shows it itself, once the checks have ended
    maker.click("button", re.compile("Request approval"))
    expect(page.get_by_text("Approval requested.")).to_be_visible()
    assert (maker.clicks <= 5, maker.fields) == (True, 2)

    page.context.clear_cookies()
    page.goto(f"{service.base_url}/dashboard/")
    sign_in(page, email, PASSWORD)
    checker = Hands(page)
    checker.clicks = 1  # "Sign in"
    checker.click("link", re.compile("Suppliers, week 48"))
    expect(page.get_by_text("12 new beneficiaries")).to_be_visible()
    checker.click("button", re.compile("Approve"))
    expect(page.get_by_text("Approved.")).to_be_visible()
    assert checker.clicks <= 3
    assert seen.complaints == []
