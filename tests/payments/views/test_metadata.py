"""`metadata`: the merchant's own keys, stored and returned unchanged."""

import json
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.search import indexer
from payments.models import Transaction
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import VirtualAccount
from webhooks.models import Delivery

PAYMENTS, ACCOUNTS = "/api/payments", "/api/virtual-accounts"
METADATA = {"order": "1042", "items": "2 books", "é ключ 🔑": "", "x" * 40: "y" * 500, "pair": "a=b&c='%s"}

REQUESTS = [orders.card_payment, orders.payout, orders.card_check]
ACCOUNT_REQUESTS = [orders.dynamic_account, orders.static_account, orders.business_account]

BAD = [
    (None, "metadata"),
    ("text", "metadata"),
    (5, "metadata"),
    ([], "metadata"),
    ([["a", "b"]], "metadata"),
    ({"": "x"}, "metadata"),
    ({"x" * 41: "x"}, "metadata"),
    ({"a\x00": "x"}, "metadata"),
    ({str(place): "x" for place in range(21)}, "metadata"),
    ({"a": 5}, "metadata.a"),
    ({"a": None}, "metadata.a"),
    ({"a": True}, "metadata.a"),
    ({"a": ["x"]}, "metadata.a"),
    ({"a": {"b": "c"}}, "metadata.a"),
    ({"a": "x" * 501}, "metadata.a"),
    ({"a": "x\x00"}, "metadata.a"),
]


@pytest.mark.django_db
class TestOfATransaction:
    @pytest.mark.parametrize("request_of", REQUESTS)
    @pytest.mark.parametrize("metadata", [METADATA, {}, {str(place): "x" for place in range(20)}])
    def test_is_returned_unchanged(self, api, request_of, metadata):
        order = request_of(metadata=metadata)

        created = api.post(PAYMENTS, order)

        assert created.status_code == 201
        assert created.json()["metadata"] == metadata
        assert api.get(f"{PAYMENTS}/{order['reference']}").json()["metadata"] == metadata
        assert api.get(PAYMENTS).json()["data"][0]["metadata"] == metadata

    @pytest.mark.parametrize("request_of", REQUESTS)
    def test_is_omitted_if_not_sent(self, api, request_of):
        assert "metadata" not in api.post(PAYMENTS, request_of()).json()

    def test_of_a_transfer_payment_is_returned(self, api):
        account = api.post(ACCOUNTS, orders.dynamic_account()).json()["id"]

        payment = api.post(PAYMENTS, orders.transfer_payment(account, metadata=METADATA)).json()

        assert payment["metadata"] == METADATA

    @pytest.mark.parametrize("request_of", [orders.card_payment, orders.payout])
    def test_is_in_the_event(self, api, ada, request_of):
        make_endpoint(business=ada.business)

        api.post(PAYMENTS, request_of(metadata=METADATA))

        assert json.loads(Delivery.objects.get().body)["data"]["metadata"] == METADATA

    @pytest.mark.parametrize("request_of", REQUESTS)
    def test_is_part_of_the_fingerprint(self, api, request_of):
        order = request_of(metadata={"order": "1", "shop": "2"})
        api.post(PAYMENTS, order)

        again = api.post(PAYMENTS, order | {"metadata": {"shop": "2", "order": "1"}})
        others = [api.post(PAYMENTS, order | {"metadata": other}) for other in ({}, {"order": "1"})]
        without = api.post(PAYMENTS, {name: value for name, value in order.items() if name != "metadata"})

        assert again.headers["Idempotent-Replayed"] == "true"
        assert [answer.status_code for answer in [*others, without]] == [409, 409, 409]

    def test_that_is_invalid_is_rejected(self, subtests, api):
        for request_of in REQUESTS:
            for metadata, field in BAD:
                with subtests.test(request_of=request_of, metadata=metadata, field=field):
                    answer = api.post(PAYMENTS, request_of(metadata=metadata))

                    assert answer.status_code == 400
                    assert [error["field"] for error in answer.json()["errors"]] == [field]
                    assert not Transaction.objects.exists()

    def test_errors_of_keys_and_values_are_reported_together(self, api):
        answer = api.post(PAYMENTS, orders.payout(metadata={"": "x", "k" * 41: "x", "a": 5, "b": "x" * 501}))

        named = [(error["field"], error["code"]) for error in answer.json()["errors"]]
        assert named[0] == ("metadata", "invalid_key")
        assert {field for field, _ in named} == {"metadata", "metadata.a", "metadata.b"}

    def test_error_does_not_repeat_a_card_number_in_a_key(self, api):
        answer = api.post(PAYMENTS, orders.payout(metadata={orders.GOOD_CARD: 5}))

        assert answer.status_code == 400
        assert orders.GOOD_CARD not in answer.content.decode()

    def test_needs_no_additional_query(self, api, django_assert_num_queries):
        api.post(PAYMENTS, orders.card_payment())
        with CaptureQueriesContext(connection) as plain:
            api.post(PAYMENTS, orders.card_payment())
        with django_assert_num_queries(len(plain)):
            api.post(PAYMENTS, orders.card_payment(metadata=METADATA))


@pytest.mark.django_db
class TestOfAVirtualAccount:
    @pytest.mark.parametrize("request_of", ACCOUNT_REQUESTS)
    def test_is_returned_unchanged(self, api, request_of):
        order = request_of(metadata=METADATA)

        created = api.post(ACCOUNTS, order)

        assert created.status_code == 201
        assert created.json()["metadata"] == METADATA
        assert api.get(f"{ACCOUNTS}/{order['reference']}").json()["metadata"] == METADATA
        assert api.post(ACCOUNTS, order).headers["Idempotent-Replayed"] == "true"
        assert api.post(ACCOUNTS, order | {"metadata": {}}).status_code == 409

    def test_is_omitted_if_not_sent(self, api):
        assert "metadata" not in api.post(ACCOUNTS, orders.dynamic_account()).json()

    def test_that_is_invalid_is_rejected(self, subtests, api):
        for request_of in ACCOUNT_REQUESTS:
            for metadata, field in BAD:
                with subtests.test(request_of=request_of, metadata=metadata, field=field):
                    answer = api.post(ACCOUNTS, request_of(metadata=metadata))

                    assert answer.status_code == 400
                    assert [error["field"] for error in answer.json()["errors"]] == [field]
                    assert not VirtualAccount.objects.exists()


@pytest.mark.django_db
class TestOnPages:
    NASTY = {
        "<script>alert(1)</script>": "<b>x</b>",
        "items": "a key that templates could mistake",
        "keys": "k",
    }

    @pytest.mark.parametrize("request_of", [orders.card_payment, orders.payout])
    def test_is_shown_with_its_transaction(self, api, ada, request_of):
        browser = signed_in(MemberFactory(business=ada.business).user)
        made = api.post(PAYMENTS, request_of(metadata=self.NASTY)).json()
        kind = "payouts" if made["request_type"] == "payout" else "payments"

        self.assert_shown(browser.get(f"/dashboard/{kind}/{made['id']}/"))

    def test_is_shown_with_its_virtual_account(self, api, ada):
        browser = signed_in(MemberFactory(business=ada.business).user)
        made = api.post(ACCOUNTS, orders.dynamic_account(metadata=self.NASTY)).json()

        self.assert_shown(browser.get(f"/dashboard/virtual-accounts/{made['id']}/"))

    def assert_shown(self, page):
        shown = page.content.decode()
        assert page.status_code == 200
        assert "<script>alert" not in shown
        for key, value in self.NASTY.items():
            assert key in unescape(shown)
            assert value in unescape(shown)


@pytest.mark.django_db
class TestSearch:
    """The dashboard finds rows with exactly the pair `key=value` in the business's own lists."""

    AREAS = [
        (PAYMENTS, orders.card_payment, "/dashboard/payments/"),
        (PAYMENTS, orders.card_check, "/dashboard/payments/?request_type=card_check"),
        (PAYMENTS, orders.payout, "/dashboard/payouts/"),
        (ACCOUNTS, orders.dynamic_account, "/dashboard/virtual-accounts/"),
    ]
    PAIRS = {
        "order": "1042",
        "7": "seven",
        "note": "a=b",
        "a=b": "c",
        "q'\"%_": "é🔑",
        "empty": "",
        "long": "y" * 500,
    }

    @pytest.fixture
    def browser(self, ada):
        return signed_in(MemberFactory(business=ada.business).user)

    def found(self, browser, area, text):
        list(indexer.run(now=timezone.now()))
        address, _, query = area.partition("?")
        asked = dict(pair.split("=") for pair in query.split("&") if pair) | {"q": text}
        return [row.reference for row in browser.get(address, asked).context["page"].rows]

    @pytest.mark.parametrize("listed", AREAS)
    def test_finds_each_pair(self, api, other_api, browser, listed):
        path, request_of, area = listed
        made = api.post(path, request_of(metadata=self.PAIRS)).json()
        api.post(path, request_of(metadata={"order": "10421"}))
        api.post(path, request_of())
        other_api.post(path, request_of(metadata=self.PAIRS))

        for key, value in self.PAIRS.items():
            assert self.found(browser, area, f"{key}={value}") == [made["reference"]], key

    def test_is_exact(self, subtests, api, browser):
        for path, request_of, area in self.AREAS:
            api.post(path, request_of(metadata=self.PAIRS))
            for text in ["order=104", "order", "1042", "Order=1042", "order=", "=1042", "order =1042"]:
                with subtests.test(area=area, text=text):
                    assert self.found(browser, area, text) == []

    def test_finds_common_pairs_newest_first(self, api, browser):
        made = [
            api.post(PAYMENTS, orders.card_payment(metadata={"channel": "web"})).json()["reference"]
            for _ in range(4)
        ]
        api.post(PAYMENTS, orders.card_payment(metadata={"channel": "shop"}))

        assert self.found(browser, "/dashboard/payments/", "channel=web") == made[::-1]
