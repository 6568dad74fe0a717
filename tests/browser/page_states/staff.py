"""Page states of staff: the administration."""

from datetime import UTC, datetime

from playwright.sync_api import Page

from payments.rules.settlement.business_days import business_day
from tests.browser.page_states.actions import hrefs, signed_in_as
from tests.browser.page_states.state import PageState, Persona
from tests.browser.people import press
from tests.browser.sample_data import SampleData

BATCHES = "/admin/payments/settlementbatch/"
OPEN_BATCHES = f"{BATCHES}?state__exact=pending"


def select_all(page: Page) -> None:
    for box in page.locator("#result_list input.action-select").all():
        box.check()


def review(page: Page) -> None:
    select_all(page)
    press(page, "Approve batches")


def approve(page: Page) -> None:
    review(page)
    page.get_by_label("Reason").fill("The bank has received the money.")
    press(page, "Approve batches")


def for_staff(data: SampleData, page: Page) -> list[PageState]:
    """The administration: the models listed on its first page, and the newest row of each."""
    page.goto(f"{data.service.base_url}/admin/")
    lists = hrefs(page.locator("#content-main th[scope=row] a[href^='/admin/']"))
    last = business_day(datetime.now(tz=UTC))
    first = last.replace(day=1)
    unanswered = "/admin/payments/transaction/?unanswered=all"
    return [
        PageState("staff-no-business", "/dashboard/"),
        PageState("admin", "/admin/"),
        PageState("admin-search", "/admin/search/?q=ada"),
        PageState("admin-search-none", "/admin/search/?q=nothing+like+it"),
        PageState("admin-unanswered", unanswered),
        PageState("admin-cash", "/admin/cash/"),
        PageState("admin-cash-not-asked", "/admin/cash/?currency=USD"),
        PageState("admin-statement-upload", "/admin/cash/statement/upload/"),
        PageState("admin-bankaccount-add", "/admin/cash/bankaccount/add/"),
        PageState("admin-match-add", "/admin/cash/match/add/"),
        PageState("admin-journal-add", "/admin/payments/journal/add/"),
        PageState("admin-top-up", "/admin/ledger/entry/add/"),
        PageState("admin-riskterms-add", "/admin/payments/riskterms/add/"),
        PageState("admin-connectors", "/admin/connector/"),
        PageState("admin-taxes", f"/admin/taxes/?first={first:%Y-%m-%d}&last={last:%Y-%m-%d}"),
        PageState("admin-taxes-refused", "/admin/taxes/?first=2026-02-01&last=2026-01-01"),
        PageState(
            "admin-link-blocked", f"/admin/payments/paymentlink/{data.ids['payment_link_blocked']}/change/"
        ),
        PageState("admin-queried-one", f"/admin/payments/transaction/{data.ids['queried']}/change/"),
        PageState("admin-batches-selected", OPEN_BATCHES, select_all),
        PageState("admin-batches-review", OPEN_BATCHES, review),
        PageState("admin-batch-release-proposed", f"{BATCHES}{data.ids['batches']['approved']}/change/"),
        *[
            PageState(f"admin-proposal-{name}", f"/admin/payments/proposal/{proposal}/change/")
            for name, proposal in data.ids["proposals"].items()
        ],
        *models(data, page, list(dict.fromkeys(each.partition("?")[0] for each in lists))),
        PageState("admin-batches-approved", OPEN_BATCHES, approve),
        PageState("admin-batches-none", OPEN_BATCHES),
    ]


def models(data: SampleData, page: Page, lists: list[str]) -> list[PageState]:
    states = []
    for path in lists:
        name = "admin-" + path.strip("/").split("/")[-1]
        states.append(PageState(name, path))
        page.goto(data.service.base_url + path)
        newest = page.locator("#result_list tbody th a").first
        if newest.count():
            states.append(PageState(f"{name}-one", newest.get_attribute("href") or ""))
    return states


STAFF = {"staff": Persona(for_staff, signed_in_as("staff@example.com"))}
