"""A file of payouts has headings as on the dashboard's page, and `sluice payout-batches create` finds the same columns."""

import pytest
from sluice.cli.payout_batches import field_of

from dashboard.payout_batches.sheets import COLUMNS, HEADINGS, read_cells

FIELDS = {"bank": "bank_code", "account": "account_number"}  # that the API calls otherwise
KNOWN = [(heading, name) for name, headings in HEADINGS.items() for heading in headings]


@pytest.mark.parametrize(
    ("heading", "name"),
    [*KNOWN, *((title, name) for name, title in COLUMNS.items()), ("Amount (NGN)", "amount")],
)
def test_heading_means_the_same_column_as_on_the_page(heading, name):
    assert field_of(heading.title()) == FIELDS.get(name, name)


def test_other_columns_are_left_out():
    assert field_of("Branch") == ""


@pytest.mark.parametrize(
    "heading",
    [
        "Amount (kobo)",
        "Amount (USD)",
        "Amount (usd)",
        "Amount ($)",
        "Sum (minor units)",
        "Salary (in GHS)",
    ],
)
def test_amount_in_another_unit_is_left_out(heading):
    """NGN 2,500.00 would be paid for 2,500 kobo."""
    sheet = read_cells(
        [["Name", "Bank", "Account", heading], ["Ada", "058", "0123456789", "2500"]], currency="NGN"
    )

    assert field_of(heading) == ""
    assert sheet.problem.startswith("No column is headed Amount.")


def test_amount_in_naira_is_left_out_of_a_batch_in_dollars():
    """Also without brackets, which is a heading of its own."""
    row = ["Ada", "058", "0123456789", "2500"]
    sheet = read_cells([["Name", "Bank", "Account", "Amount NGN"], row], currency="USD")

    assert field_of("Amount NGN", "USD") == ""
    assert sheet.problem.startswith("No column is headed Amount.")
