import pytest

from tests import orders

pytestmark = pytest.mark.django_db

AREA = "/dashboard/virtual-accounts/"


class TestNumberOfADynamicAccount:
    @pytest.fixture
    def account(self, api):
        return api.post("/api/virtual-accounts", orders.dynamic_account()).json()

    @pytest.fixture
    def number(self, api, account):
        payment = api.post("/api/payments", orders.transfer_payment(account["id"])).json()
        return payment["virtual_account_details"]["account_number"]

    def test_is_not_listed_without_a_session(self, browser, account):
        assert "One per payment" in browser.get(AREA).content.decode()

    def test_is_listed_while_one_session_is_open(self, browser, account, number):
        page = browser.get(AREA).content.decode()

        assert number in page
        assert "One per payment" not in page

    def test_is_shown_on_the_page_of_the_account(self, browser, account, number):
        page = browser.get(f"{AREA}{account['id']}/").content.decode()

        assert "<dt>Number</dt>" in page
        assert number in page

    def test_finds_the_account(self, browser, account, number):
        found = browser.get(AREA, {"q": number}).content.decode()

        assert account["id"] in found
        assert account["id"] not in browser.get(AREA, {"q": "1000000077"}).content.decode()
