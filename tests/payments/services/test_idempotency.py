import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from payments.models import CardOperation, ReservedReference, Transaction
from tests import orders
from tests.factories import BusinessFactory


@pytest.mark.django_db
class TestSameRequest:
    def test_may_have_its_keys_in_another_order(self, api):
        order = orders.card_payment(customer={"reference": "c", "email": "c@example.com", "name": "C"})
        turned = dict(reversed(order.items()))
        turned["source"] = dict(reversed(order["source"].items()))

        first, again = api.post("/api/payments", order), api.post("/api/payments", turned)

        assert (first.status_code, again.status_code) == (201, 200)
        assert again["Idempotent-Replayed"] == "true"
        assert "Idempotent-Replayed" not in first
        assert again.json() == first.json()

    @pytest.mark.parametrize("spelling", ["1000.0", "1e3", "1000.000", "10E2"])
    def test_may_write_its_amount_differently(self, api, spelling):
        order = orders.card_payment(amount=1000)
        body = json.dumps(order).replace('"amount": 1000', f'"amount": {spelling}').encode()

        first, again = api.post("/api/payments", order), api.post("/api/payments", body)

        shown = again.json()
        assert [each["code"] for each in shown.pop("warnings")] == ["amount_written_as_decimal"]
        assert (again.status_code, shown) == (200, first.json())
        assert isinstance(shown["amount"], int)

    @pytest.mark.parametrize("change", [{"cvv": "999"}, {"cvv": "1234"}, {"pan": "4084 0840 8408 4081"}])
    def test_may_have_another_cvv_or_spaces_in_its_number(self, api, change):
        order = orders.card_payment()

        first = api.post("/api/payments", order)
        again = api.post("/api/payments", order | {"source": orders.card_source(**change)})

        assert (again.status_code, again.json()) == (200, first.json())

    @pytest.mark.parametrize(
        "order",
        [
            orders.card_payment(amount=10_051),
            orders.payout(),
            orders.card_check(),
            orders.card_payment(amount=10_098),
        ],
    )
    def test_returns_the_current_status(self, api, order):
        first, again = api.post("/api/payments", order), api.post("/api/payments", order)

        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        assert Transaction.objects.count() == 1

    def test_returns_the_current_resource(self, api):
        order = orders.card_payment(capture=False)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/void")

        assert api.post("/api/payments", order).json()["response_code"] == "20090"


@pytest.mark.django_db
class TestDifferentRequest:
    @pytest.mark.parametrize(
        "change",
        [
            {"amount": 50_001},
            {"currency": "USD"},
            {"capture": False},
            {"narration": "other"},
            {"redirect_url": "https://shop.example/other"},
            {"three_ds": {"enabled": True}},
            {"payment_ip": "192.0.2.1"},
            {"customer": {"reference": "c", "email": "c@example.com"}},
            {"source": orders.card_source(pan=orders.DECLINED_CARD)},
            # The first six and last four digits are those of the first card.
            {"source": orders.card_source(pan="4084088408404081")},
            {"source": orders.card_source(expiry_year="2036")},
            {"source": orders.card_source(billing_address={"city": "Lagos"})},
        ],
    )
    def test_with_the_same_reference_is_rejected_with_the_firsts_id_and_status(self, api, change):
        order = orders.card_payment(reference="order-1")
        first = api.post("/api/payments", order).json()

        answer = api.post("/api/payments", orders.card_payment(reference="order-1", **change))

        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (409, "duplicate_reference")
        assert problem["status"] == 409
        assert problem["existing"] == {"id": first["id"], "status": "success"}
        assert Transaction.objects.count() == 1
        assert orders.GOOD_CARD not in answer.content.decode()

    def test_of_another_kind_is_also_rejected(self, api):
        wanted = [
            orders.card_payment(reference="order-1", amount=10_098),
            orders.payout(reference="order-1"),
            orders.card_check(reference="order-1"),
        ]
        first = api.post("/api/payments", wanted[0]).json()

        answers = [api.post("/api/payments", order) for order in wanted[1:]]

        assert [answer.status_code for answer in answers] == [409, 409]
        expected = {"id": first["id"], "status": "pending"}
        assert [answer.json()["existing"] for answer in answers] == [expected] * 2

    def test_that_is_invalid_does_not_use_up_its_reference(self, api):
        invalid = api.post("/api/payments", orders.card_payment(reference="order-1", amount=0))
        valid = api.post("/api/payments", orders.card_payment(reference="order-1"))

        assert (invalid.status_code, valid.status_code) == (400, 201)


def disconnect(settings):
    """Disconnect every rail."""
    settings.CARD_ACQUIRER = settings.PAYOUT_BANK = settings.ACCOUNT_PROVIDER = ""


def transfer_payment(api):
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
    return orders.transfer_payment(account["id"])


@pytest.mark.django_db
class TestWhileTheRailIsUnavailable:
    """503 means that nothing was stored, so a repeated request never gets it."""

    @pytest.mark.parametrize(
        "order",
        [
            orders.card_payment(),
            orders.card_payment(amount=10_051),
            orders.card_payment(three_ds={"enabled": True}),
            orders.payout(),
            orders.card_check(),
        ],
        ids=["card", "declined", "3-D Secure", "payout", "card check"],
    )
    def test_a_repeated_request_is_replayed(self, api, settings, order):
        first = api.post("/api/payments", order)
        disconnect(settings)

        again = api.post("/api/payments", order)

        assert (again.status_code, again.json()) == (200, first.json())
        assert again["Idempotent-Replayed"] == "true"

    def test_a_repeated_transfer_payment_is_replayed(self, api, settings):
        order = transfer_payment(api)
        first = api.post("/api/payments", order)
        disconnect(settings)

        again = api.post("/api/payments", order)

        assert (again.status_code, again.json()) == (200, first.json())

    def test_a_payment_with_3d_secure_is_replayed_by_an_acquirer_without_it(self, api, settings):
        order = orders.card_payment(three_ds={"enabled": True})
        first = api.post("/api/payments", order)
        settings.CARD_ACQUIRER = "tests.rails.AcquirerWithoutThreeDSecure"

        again = api.post("/api/payments", order)

        assert (again.status_code, again.json()) == (200, first.json())

    @pytest.mark.parametrize(
        ("order", "change"),
        [
            (orders.card_payment(), {"currency": "USD"}),
            (orders.payout(), {"amount": 250_001}),
            (orders.card_check(), {"currency": "USD"}),
        ],
    )
    def test_a_different_request_with_a_used_reference_is_rejected(self, api, settings, order, change):
        first = api.post("/api/payments", order).json()
        disconnect(settings)

        answer = api.post("/api/payments", order | change)

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert answer.json()["existing"]["id"] == first["id"]

    @pytest.mark.parametrize(
        "order", [orders.card_payment(), orders.payout(), orders.card_check(reference=...)]
    )
    def test_a_new_request_stores_nothing(self, api, settings, order):
        disconnect(settings)

        answer = api.post("/api/payments", order)

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert not Transaction.objects.exists()

    def test_a_repeated_refund_is_replayed(self, api, settings):
        address = f"/api/payments/{api.post('/api/payments', orders.card_payment()).json()['reference']}"
        first = api.post(f"{address}/refunds", {"reference": "rf-1", "amount": 500})
        disconnect(settings)

        again = api.post(f"{address}/refunds", {"reference": "rf-1", "amount": 500})
        different = api.post(f"{address}/refunds", {"reference": "rf-1", "amount": 501})
        new = api.post(f"{address}/refunds", {"reference": "rf-2", "amount": 500})

        assert (again.status_code, again.json()) == (200, first.json())
        assert (different.status_code, different.json()["code"]) == (409, "duplicate_reference")
        assert (new.status_code, new.json()["code"]) == (503, "rail_unavailable")
        assert CardOperation.objects.count() == 1

    @pytest.mark.parametrize("action", ["capture", "void", "refunds"])
    def test_a_request_that_the_state_forbids_is_rejected_as_usual(self, api, settings, action):
        declined = api.post("/api/payments", orders.card_payment(amount=10_051)).json()
        disconnect(settings)

        body = {"reference": "rf-1"} if action == "refunds" else None
        answer = api.post(f"/api/payments/{declined['reference']}/{action}", body)

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")

    @pytest.mark.parametrize("action", ["capture", "void"])
    def test_a_new_capture_or_void_stores_nothing(self, api, settings, action):
        payment = api.post("/api/payments", orders.card_payment(capture=False)).json()
        disconnect(settings)

        answer = api.post(f"/api/payments/{payment['reference']}/{action}")

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert not CardOperation.objects.exists()

    @pytest.mark.parametrize("account", [orders.static_account(), orders.dynamic_account()])
    def test_a_repeated_virtual_account_is_replayed(self, api, settings, account):
        first = api.post("/api/virtual-accounts", account)
        disconnect(settings)

        again = api.post("/api/virtual-accounts", account)
        different = api.post("/api/virtual-accounts", account | {"email": "bisi@shop.example"})

        assert (again.status_code, again.json()) == (200, first.json())
        assert (different.status_code, different.json()["code"]) == (409, "duplicate_reference")


@pytest.mark.django_db
class TestReservedReference:
    def test_is_rejected(self, subtests, api):
        for prefix in ["va_", "chk_", "pl_", "return_", "settlement_"]:
            for make in [orders.card_payment, orders.payout, orders.card_check]:
                with subtests.test(prefix=prefix, make=make):
                    answer = api.post("/api/payments", make(reference=f"{prefix}1"))

                    problem = answer.json()
                    assert (answer.status_code, problem["code"]) == (400, "reserved_reference")
                    assert [error["field"] for error in problem["errors"]] == ["reference"]
                    assert not Transaction.objects.exists()

    @pytest.mark.parametrize("make", [orders.card_payment, orders.payout])
    def test_of_a_batch_is_rejected(self, api, ada, make):
        """A batch reserved it for a payout that it has yet to send."""
        ReservedReference.objects.create(business=ada.business, reference="salary-1")

        answer = api.post("/api/payments", make(reference="salary-1"))

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert "payout of a batch" in answer.json()["detail"]
        assert not Transaction.objects.exists()

    def test_of_another_business_is_free(self, api):
        ReservedReference.objects.create(business=BusinessFactory(), reference="salary-1")

        assert api.post("/api/payments", orders.card_payment(reference="salary-1")).status_code == 201

    @pytest.mark.parametrize("reference", ["va-1", "vachk_", "VA_1", "pl", "...", ".a", "a_va_"])
    def test_applies_to_generated_prefixes_only(self, api, reference):
        assert api.post("/api/payments", orders.payout(reference=reference)).status_code == 201

    def test_is_allowed_for_refunds_and_virtual_accounts(self, api):
        payment = api.post("/api/payments", orders.card_payment()).json()
        refund = {"reference": "va_1", "amount": 5}

        account = api.post("/api/virtual-accounts", orders.dynamic_account(reference="chk_1"))
        refunded = api.post(f"/api/payments/{payment['reference']}/refunds", refund)

        assert (account.status_code, refunded.status_code) == (201, 201)

    @pytest.mark.parametrize("reference", [".", ".."])
    def test_of_dots_only_finds_nothing(self, api, reference):
        payment = api.post("/api/payments", orders.card_payment()).json()
        refund = {"reference": reference, "amount": 5}

        answers = [
            api.post("/api/payments", orders.payout(reference=reference)),
            api.post("/api/virtual-accounts", orders.dynamic_account(reference=reference)),
            api.post(f"/api/payments/{payment['reference']}/refunds", refund),
        ]

        assert [answer.json()["errors"][0]["field"] for answer in answers] == ["reference"] * 3

    def test_that_was_generated_can_be_found(self, api):
        check = api.post("/api/payments", orders.card_check(reference=...)).json()

        assert api.get(f"/api/payments/{check['reference']}").json() == check


@pytest.mark.django_db
class TestStatements:
    def test_new_payment_needs_no_lookup_for_replays(self, api):
        """The reference of a new payment is looked up only if the connector is unavailable."""
        api.post("/api/payments", orders.card_payment())

        with CaptureQueriesContext(connection) as statements:
            api.post("/api/payments", orders.card_payment())

        looked_up = [
            each["sql"]
            for each in statements
            if each["sql"].startswith("SELECT") and '"reference" =' in each["sql"]
        ]
        assert looked_up == []


@pytest.mark.django_db
class TestStoredRow:
    def test_holds_no_card_number_and_no_cvv(self, api):
        api.post("/api/payments", orders.card_payment(source=orders.card_source(cvv="8317")))

        [row] = Transaction.objects.values_list()

        text = " ".join(map(str, row))
        assert orders.GOOD_CARD not in text
        assert "8317" not in row
