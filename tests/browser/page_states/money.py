"""Page states of owners: payments, payouts, virtual accounts, settlements and the balance, with data and without."""

from playwright.sync_api import Page

from tests.browser.page_states.actions import (
    LET_THE_SERVER_VALIDATE,
    for_another_business,
    link_on,
    opening,
    pressing,
    signed_in_as,
)
from tests.browser.page_states.state import PageState, Persona
from tests.browser.people import press
from tests.browser.sample_data import LONG_NAME, SampleData

PAYMENTS, PAYOUTS = "/dashboard/payments/", "/dashboard/payouts/"
CUSTOMER, DISPUTES = f"{PAYMENTS}customer/", "/dashboard/disputes/"
BATCHES = f"{PAYOUTS}batches/"
BENEFICIARIES = f"{PAYOUTS}beneficiaries/"
LINKS = "/dashboard/payment-links/"
INVOICES = "/dashboard/settlements/invoices/"
STATEMENTS = "/dashboard/balance/statements/"
ACCOUNTS, UNAPPLIED = "/dashboard/virtual-accounts/", "/dashboard/virtual-accounts/unapplied/"


def write_a_payout(page: Page, **changes: str) -> None:
    given = {"Amount": "2500.00", "Account number": "0123456789", "Name in your records": LONG_NAME[:60]}
    page.get_by_label("Bank", exact=True).select_option("058")
    for label, text in (given | changes).items():
        page.get_by_label(label, exact=True).fill(text)
    press(page, "Review payout")


def look_up_a_holder(page: Page) -> None:
    page.get_by_label("Bank", exact=True).select_option("058")
    page.get_by_label("Account number", exact=True).fill("0123456789")
    press(page, "Look up")


def search_a_beneficiary(page: Page) -> None:
    page.get_by_label("Search beneficiaries").fill("Obi")
    with page.expect_navigation():  # not the search at the side
        page.get_by_role("main").get_by_role("button", name="Search", exact=True).click()


paste_wrong_rows = pressing(
    "Check payouts",
    Title="Suppliers, week 48",
    Rows_from_your_spreadsheet=f"Name\tBank\tAccount\tAmount\tPurpose\n{LONG_NAME[:60]}\t44\t690213447\t1.500,00\tRent\n",
)


def write_a_link(page: Page) -> None:
    given = {"Title": LONG_NAME[:80], "Amount": "99.99", "Maximum uses": "0", "Address": "Book--Binding"}
    page.evaluate(LET_THE_SERVER_VALIDATE)
    page.get_by_text("More options").click()
    for label, text in given.items():
        page.get_by_label(label, exact=True).or_(page.get_by_label(f"{label} (optional)")).first.fill(text)
    press(page, "Create payment link")


def open_the_menu(page: Page) -> None:
    page.locator(".side__foot summary").click()


def open_the_navigation(page: Page) -> None:
    page.get_by_role("button", name="Menu").click()


def save_a_view(page: Page) -> None:
    opening("Views")(page)
    page.get_by_label("Name").fill("Failed payments by transfer to the second account")
    press(page, "Save view")
    opening("Failed payments")(page)


def rename_the_view(page: Page, name: str) -> None:
    opening("Failed payments")(page)
    press(page, "Rename or delete view", "link")
    page.get_by_label("Name").fill(name)


def rename_to_nothing(page: Page) -> None:
    rename_the_view(page, " ")  # of the right length for the browser
    press(page, "Rename view")


def review_an_acceptance(page: Page) -> None:
    accept = page.get_by_role("region", name="Accept for")
    accept.get_by_label("Reason").fill("The customer pays the rest in cash")
    press(page, "Review acceptance")


def review_an_empty_return(page: Page) -> None:
    page.evaluate(LET_THE_SERVER_VALIDATE)
    press(page, "Review return", exact=False)


def return_to_the_sender(page: Page) -> None:
    page.get_by_label("Sender's account number").fill("0123456789")
    page.get_by_label("Sender's bank").select_option("058")
    page.locator("#return_reason").fill("Asked to send the right amount")
    press(page, "Review return", exact=False)
    press(page, "Return NGN", exact=False)


def reject_without_a_reason(page: Page) -> None:
    opening("Reject instead")(page)
    page.evaluate(LET_THE_SERVER_VALIDATE)
    press(page, "Reject payout")


def for_owners(data: SampleData, page: Page) -> list[PageState]:
    return [
        PageState("overview", "/dashboard/"),
        PageState("success-rates", f"{PAYMENTS}success-rates/"),
        PageState("overview-menu", "/dashboard/", open_the_menu),
        PageState("overview-businesses", "/dashboard/", opening("Ada Books")),
        PageState("overview-navigation", "/dashboard/", open_the_navigation, is_for_phones=True),
        *payment_lists(),
        *payment_details(data),
        *payment_actions(data, page),
        *payouts(data),
        *payment_links(data, page),
        *accounts(data),
        *unapplied(data, page),
        *disputes(data),
        PageState("customer", f"{CUSTOMER}?reference=cus-1"),
        PageState("customer-long", f"{CUSTOMER}?reference=cus-2"),
        PageState("customer-none", CUSTOMER),
        PageState("settlements", "/dashboard/settlements/"),
        PageState("settlements-none", "/dashboard/settlements/?until=2001-01-01"),
        *[
            PageState(f"settlement-{state}", f"/dashboard/settlements/{batch}/")
            for state, batch in data.ids["batches"].items()
        ],
        PageState("invoices", INVOICES),
        PageState("invoices-none", f"{INVOICES}?q=INV-999999"),
        PageState("invoice", f"{INVOICES}{data.ids['invoice']}/"),
        PageState("balance", "/dashboard/balance/"),
        *statements(data),
        PageState("search", "/dashboard/search/"),
        PageState("search-found", "/dashboard/search/?q=ada"),
        PageState("search-nothing", "/dashboard/search/?q=nothing+like+this"),
        PageState("failure-404-signed-in", f"{PAYMENTS}00000000-0000-4000-8000-000000000000/"),
    ]


def statements(data: SampleData) -> list[PageState]:
    month, links = data.ids["month"], f"{STATEMENTS}links/"
    return [
        PageState("statements", STATEMENTS),
        PageState("statement", f"{STATEMENTS}{month}/"),
        PageState("guest-links", links),
        PageState("guest-link-new", f"{links}new/"),
        PageState("guest-link-refused", f"{links}new/", refuse_a_guest_link),
        PageState("guest-link-made", f"{links}new/", pressing("Create guest link", Name_or_reason=LONG_NAME)),
    ]


def refuse_a_guest_link(page: Page) -> None:
    page.evaluate(LET_THE_SERVER_VALIDATE)
    page.get_by_label("Days until it expires").fill("91")
    press(page, "Create guest link")


def payment_lists() -> list[PageState]:
    failed = f"{PAYMENTS}?status=failed"
    return [
        PageState("payments", PAYMENTS),
        PageState("payments-none", f"{PAYMENTS}?q=nothing-like-it"),
        PageState("payments-failed", failed),
        PageState("payments-filter-open", PAYMENTS, opening("Created")),
        PageState("payments-filter-refused", f"{PAYMENTS}?amount_from=much"),
        PageState("payments-filtered", f"{PAYMENTS}?status=success&method=card&amount_from=10&currency=NGN"),
        PageState("payments-views", failed, opening("Views")),
        PageState("payments-view-saved", failed, save_a_view),
        PageState("saved-view", failed, lambda page: rename_the_view(page, "Failed by transfer")),
        PageState("saved-view-refused", failed, rename_to_nothing),
    ]


def payment_details(data: SampleData) -> list[PageState]:
    names = {
        "payment": "paid",
        "payment-partly-refunded": "refunded",
        "payment-refunded": "refunded_fully",
        "payment-failed": "failed",
        "payment-authorised": "authorised",
        "payment-queried": "queried",
        "payment-waiting": "waiting",
        "payment-mismatch": "mismatched",
        "payment-expired": "expired",
        "payment-transfer": "transferred",
        "payment-check": "check",
        "payment-of-link": "link_payment",
    }
    return [
        *[PageState(name, f"{PAYMENTS}{data.ids[key]}/") for name, key in names.items()],
        PageState("payments-of-link", f"{PAYMENTS}?payment_link_id={data.ids['payment_link']}"),
    ]


def payment_actions(data: SampleData, page: Page) -> list[PageState]:
    ids = data.ids
    capture = f"{PAYMENTS}{ids['authorised']}/capture/"
    refund = f"{PAYMENTS}{ids['paid']}/refund/"
    return [
        PageState(
            "payment-more",
            f"{PAYMENTS}{ids['authorised']}/",
            lambda page: page.locator("main .menu summary").click(),
        ),
        PageState("capture", capture),
        PageState("capture-refused", capture, pressing("Capture payment", Amount="1,0")),
        PageState("void", f"{PAYMENTS}{ids['authorised']}/void/"),
        PageState("cancel", f"{PAYMENTS}{ids['waiting']}/cancel/"),
        PageState("refund", refund),
        PageState(
            "refund-refused",
            f"{PAYMENTS}{ids['refunded']}/refund/",
            pressing("Review refund", **{"Amount to refund": "75000.00"}),
        ),
        PageState("refund-review", refund, pressing("Review refund")),
        PageState("refund-transfer", f"{PAYMENTS}{ids['transferred']}/refund/"),
        *refunds(data, page),
        PageState("refund-nothing-left", f"{PAYMENTS}{ids['refunded_fully']}/refund/"),
        PageState("failure-409-other-business", refund, for_another_business("Review refund")),
    ]


def refunds(data: SampleData, page: Page) -> list[PageState]:
    link = "a[href^='/dashboard/refunds/']"
    return [
        PageState(f"refund-of-{name}", link_on(data, page, f"{PAYMENTS}{data.ids[name]}/", link))
        for name in ("refunded", "refunded_fully")
    ]


def payouts(data: SampleData) -> list[PageState]:
    ids, new = data.ids, f"{PAYOUTS}new/"
    return [
        PageState("payouts", PAYOUTS),
        PageState("payouts-none", f"{PAYOUTS}?q=nothing-like-it"),
        PageState("payout", f"{PAYOUTS}{ids['payout']}/"),
        PageState("payout-failed", f"{PAYOUTS}{ids['payout_failed']}/"),
        PageState("payout-queried", f"{PAYOUTS}{ids['payout_queried']}/"),
        PageState("payout-returned", f"{PAYOUTS}{ids['payout_returned']}/"),
        PageState("payout-approval", f"{PAYOUTS}{ids['payout_waiting']}/approval/"),
        PageState(
            "payout-approval-refused",
            f"{PAYOUTS}{ids['payout_waiting']}/approval/",
            reject_without_a_reason,
        ),
        PageState("payouts-new", new),
        PageState("payouts-new-refused", new, lambda page: write_a_payout(page, Amount="none")),
        PageState("payouts-new-looked-up", new, look_up_a_holder),
        PageState("payouts-new-searched", new, search_a_beneficiary),
        PageState("payouts-confirm", new, write_a_payout),
        PageState("batches", BATCHES),
        PageState("batch-new", f"{BATCHES}new/"),
        PageState("batch-new-refused", f"{BATCHES}new/", paste_wrong_rows),
        PageState("batch", f"{BATCHES}{ids['payout_batch']}/"),
        PageState("batch-cancel", f"{BATCHES}{ids['payout_batch']}/cancel/"),
        PageState("batch-approval", f"{BATCHES}{ids['payout_batch_waiting']}/"),
        PageState("batch-completed", f"{BATCHES}{ids['payout_batch_completed']}/"),
        PageState("batch-failed-ones", f"{BATCHES}{ids['payout_batch_completed']}/?state=failed"),
        PageState("batch-cancelled", f"{BATCHES}{ids['payout_batch_cancelled']}/"),
        PageState("beneficiaries", BENEFICIARIES),
        PageState("beneficiaries-none", f"{BENEFICIARIES}?q=nothing-like-it"),
        PageState("beneficiary-new", f"{BENEFICIARIES}new/"),
        PageState("beneficiary", f"{BENEFICIARIES}{ids['beneficiary']}/"),
        PageState("beneficiary-block", f"{BENEFICIARIES}{ids['beneficiary']}/block/"),
    ]


def payment_links(data: SampleData, page: Page) -> list[PageState]:
    new = f"{LINKS}new/"
    link, off, blocked = (
        f"{LINKS}{data.ids[name]}/" for name in ("payment_link", "payment_link_off", "payment_link_blocked")
    )
    return [
        PageState("payment-links", LINKS),
        PageState("payment-links-none", f"{LINKS}?q=nothing-like-it"),
        PageState("payment-link", link),
        PageState("payment-link-checkouts", f"{link}checkouts/"),
        PageState("payment-link-checkouts-none", f"{off}checkouts/"),
        PageState("payment-link-waiting", f"{link}attempts/"),
        PageState("payment-link-waiting-none", f"{off}attempts/"),
        PageState("payment-link-end-attempt", link_on(data, page, link, "a[href$='/end/']")),
        PageState("payment-link-attempt-over", f"{link}attempts/{data.ids['link_payment']}/end/"),
        PageState("payment-link-poster", f"{link}poster/"),
        PageState("payment-link-poster-long", f"{off}poster/"),
        PageState("payment-links-new", new),
        PageState(
            "payment-links-new-range", new, lambda page: page.get_by_label("The payer chooses").check()
        ),
        PageState("payment-links-new-refused", new, write_a_link),
        PageState("payment-links-new-for-one", f"{new}?for=one"),
        PageState("payment-link-edit", f"{link}edit/"),
        PageState(
            "payment-link-edit-refused", f"{link}edit/", pressing("Save changes", Maximum_uses="0", Title=" ")
        ),
        PageState("payment-link-edit-long", f"{off}edit/"),
        PageState("payment-link-deactivate", f"{link}deactivate/"),
        PageState("payment-link-deactivated", f"{off}"),
        PageState("payment-link-activate", f"{off}activate/"),
        PageState("payment-link-blocked", f"{blocked}"),
        PageState("payment-link-activate-blocked", f"{blocked}activate/"),
    ]


def accounts(data: SampleData) -> list[PageState]:
    account = f"{ACCOUNTS}{data.ids['account']}/"
    new = f"{ACCOUNTS}new/"
    return [
        PageState("virtual-accounts", ACCOUNTS),
        PageState("virtual-accounts-none", f"{ACCOUNTS}?q=nothing-like-it"),
        PageState("virtual-accounts-new", new),
        PageState("virtual-accounts-new-refused", new, pressing("Create account", Email="none")),
        PageState("virtual-accounts-new-static", f"{new}?kind=static"),
        PageState("virtual-account", account),
        PageState("virtual-account-off", f"{account}deactivate/"),
    ]


def unapplied(data: SampleData, page: Page) -> list[PageState]:
    to_credit, to_return, undecided = (
        link_on(data, page, f"{UNAPPLIED}?state=open", number=number) for number in range(3)
    )
    return [
        PageState("unapplied", UNAPPLIED),
        PageState("unapplied-item", undecided),
        PageState("unapplied-refused", undecided, review_an_empty_return),
        PageState("unapplied-review", to_credit, review_an_acceptance),
        PageState("unapplied-returned", to_return, return_to_the_sender),
        PageState("unapplied-decided", f"{UNAPPLIED}?state=returned"),
    ]


def disputes(data: SampleData) -> list[PageState]:
    dispute = f"{DISPUTES}{data.ids['dispute']}/"
    return [
        PageState("disputes", DISPUTES),
        PageState("disputes-to-answer", f"{DISPUTES}?status=needs_response"),
        PageState("disputes-none", f"{DISPUTES}?q=nothing-like-it"),
        PageState("dispute", dispute),
        PageState("dispute-refused", dispute, pressing("Add to evidence")),
        PageState("dispute-refused-kind", dispute, pressing("Add to evidence", Text="Handed over")),
        PageState("dispute-submit", f"{dispute}submit/"),
        PageState("dispute-accept", f"{dispute}accept/"),
        PageState("dispute-accept-refused", f"{dispute}accept/", pressing("Review", Amount="much")),
        PageState("dispute-accept-review", f"{dispute}accept/", pressing("Review", Amount="1,000.00")),
        PageState("dispute-submitted", f"{DISPUTES}{data.ids['dispute_submitted']}/"),
        PageState("dispute-submitted-accept", f"{DISPUTES}{data.ids['dispute_submitted']}/accept/"),
        PageState("dispute-won", f"{DISPUTES}{data.ids['dispute_won']}/"),
    ]


def for_new_owners(_data: SampleData, _page: Page) -> list[PageState]:
    areas = ["payments", "payments/customer", "payment-links", "payouts", "disputes", "virtual-accounts", "virtual-accounts/unapplied", "webhooks",
             "webhooks/deliveries", "settlements", "balance", "developers", "developers/requests", "team", "activity",
             "search", "sandbox", "settings"]  # fmt: skip
    return [
        PageState("empty-overview", "/dashboard/"),
        *[PageState(f"empty-{area.replace('/', '-')}", f"/dashboard/{area}/") for area in areas],
    ]


MONEY = {
    "owners: money": Persona(for_owners, signed_in_as("ada@example.com")),
    "new owners": Persona(for_new_owners, signed_in_as("new@example.com")),
}
