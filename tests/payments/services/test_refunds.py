import pytest
from django.core.management import call_command

from payments.models import CardOperation
from tests import orders
from tests.refunds import ask_for_refund, assert_refunded, refunded_amounts


def paid(api, amount=50_000, **changes):
    answer = api.post("/api/payments", orders.card_payment(amount=amount, **changes))
    assert answer.json()["status"] == "success"
    return f"/api/payments/{answer.json()['reference']}"


@pytest.mark.django_db
class TestRefund:
    def test_returns_the_refund(self, api):
        address = paid(api)
        wanted = {"reference": "rf-1", "amount": 20_000, "reason": "too small"}

        answer = api.post(f"{address}/refunds", wanted)

        assert_refunded(answer, wanted | {"payment_reference": address.rpartition("/")[2]})

    def test_updates_the_payment_step_by_step(self, api):
        address = paid(api)

        seen = [refunded_amounts(api, address)]
        for amount in (20_000, 25_000, 5_000):
            ask_for_refund(api, address, amount=amount)
            seen.append(refunded_amounts(api, address))

        assert seen == [
            ("none", 0, 50_000),
            ("partially_refunded", 20_000, 30_000),
            ("partially_refunded", 45_000, 5_000),
            ("refunded", 50_000, 0),
        ]
        assert api.get(address).json()["status"] == "success"

    def test_without_an_amount_refunds_the_rest(self, api):
        address = paid(api)
        ask_for_refund(api, address, amount=20_000)

        refund = ask_for_refund(api, address).json()

        assert refund["amount"] == 30_000
        assert refunded_amounts(api, address) == ("refunded", 50_000, 0)

    def test_of_a_partial_capture_is_limited_to_the_captured_amount(self, api):
        order = orders.card_payment(capture=False, amount=50_000)
        api.post("/api/payments", order)
        address = f"/api/payments/{order['reference']}"
        api.post(f"{address}/capture", {"amount": 20_000})

        too_much = ask_for_refund(api, address, amount=20_001)
        ask_for_refund(api, address, amount=20_000)

        assert (too_much.status_code, too_much.json()["code"]) == (400, "amount_too_large")
        assert refunded_amounts(api, address) == ("refunded", 20_000, 0)

    @pytest.mark.parametrize("amount", [50_001, 10**12])
    def test_never_exceeds_the_rest(self, api, amount):
        address = paid(api)

        answer = ask_for_refund(api, address, amount=amount)

        assert (answer.status_code, answer.json()["code"]) == (400, "amount_too_large")
        assert refunded_amounts(api, address) == ("none", 0, 50_000)
        assert not CardOperation.objects.exists()

    @pytest.mark.parametrize("amount", [0, -5, 0.5, "5", False, None])
    def test_rejects_an_invalid_amount(self, api, amount):
        address = paid(api)

        answer = ask_for_refund(api, address, amount=amount)

        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == ["amount"]

    def test_of_a_fully_refunded_payment_is_rejected(self, api):
        address = paid(api)
        ask_for_refund(api, address)

        rest, part = ask_for_refund(api, address), ask_for_refund(api, address, amount=1)

        assert (rest.status_code, rest.json()["code"]) == (409, "invalid_state")
        assert (part.status_code, part.json()["code"]) == (400, "amount_too_large")

    @pytest.mark.parametrize(
        "order",
        [
            orders.card_payment(capture=False),
            orders.card_payment(amount=10_051),
            orders.card_payment(amount=10_098),
        ],
        ids=["authorised", "declined", "unknown"],
    )
    def test_requires_a_successful_payment(self, api, order):
        api.post("/api/payments", order)

        answer = ask_for_refund(api, f"/api/payments/{order['reference']}", amount=100)

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")

    def test_requires_a_reference(self, api):
        answer = api.post(f"{paid(api)}/refunds", {"amount": 5})

        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "reference"


@pytest.mark.django_db
class TestFailedRefund:
    def test_keeps_the_amounts_and_allows_a_later_success(self, api):
        address = paid(api)

        failed = ask_for_refund(api, address, amount=20_005)
        after_failure = refunded_amounts(api, address)
        ask_for_refund(api, address, amount=20_000)

        assert (failed.status_code, failed.json()["status"]) == (201, "failed")
        assert (failed.json()["response_code"], failed.json()["gateway_code"]) == ("20005", "05")
        assert after_failure == ("refund_failed", 0, 50_000)
        assert refunded_amounts(api, address) == ("partially_refunded", 20_000, 30_000)

    def test_after_a_success_keeps_the_refunded_amount(self, api):
        address = paid(api)
        ask_for_refund(api, address, amount=10_000)

        ask_for_refund(api, address, amount=10_005)

        assert refunded_amounts(api, address) == ("refund_failed", 10_000, 40_000)


@pytest.mark.django_db
class TestLostRefund:
    def test_reserves_its_amount_until_the_acquirer_answers(self, api):
        address = paid(api)

        lost = ask_for_refund(api, address, amount=20_098)
        meanwhile = refunded_amounts(api, address)
        too_much = ask_for_refund(api, address, amount=29_903)
        call_command("requery_pending")

        assert (lost.status_code, lost.json()["status"]) == (201, "pending")
        assert (lost.json()["response_code"], lost.json()["response_summary"]) == ("10001", "Processing")
        assert meanwhile == ("none", 0, 29_902)
        assert too_much.json()["code"] == "amount_too_large"
        assert refunded_amounts(api, address) == ("partially_refunded", 20_098, 29_902)
        [found] = api.get(f"{address}/refunds").json()["data"]
        assert (found["id"], found["status"]) == (lost.json()["id"], "success")

    def test_repeated_is_the_same_refund(self, api):
        address = paid(api)
        wanted = {"reference": "rf-1", "amount": 20_098}

        first, again = api.post(f"{address}/refunds", wanted), api.post(f"{address}/refunds", wanted)

        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        assert CardOperation.objects.count() == 1


@pytest.mark.django_db
class TestRefundReference:
    def test_is_the_idempotency_key(self, api):
        address = paid(api)
        wanted = {"reference": "rf-1", "amount": 20_000}

        first, again = api.post(f"{address}/refunds", wanted), api.post(f"{address}/refunds", wanted)

        assert (first.status_code, again.status_code) == (201, 200)
        assert again["Idempotent-Replayed"] == "true"
        assert again.json() == first.json()
        assert refunded_amounts(api, address) == ("partially_refunded", 20_000, 30_000)

    def test_replays_even_if_nothing_is_left(self, api):
        address = paid(api)
        wanted = {"reference": "rf-1"}

        first, again = api.post(f"{address}/refunds", wanted), api.post(f"{address}/refunds", wanted)

        assert (again.status_code, again.json()) == (200, first.json())

    @pytest.mark.parametrize("change", [{"amount": 20_001}, {"reason": "another"}])
    def test_belongs_to_one_request(self, api, change):
        address = paid(api)
        wanted = {"reference": "rf-1", "amount": 20_000}
        first = api.post(f"{address}/refunds", wanted).json()

        answer = api.post(f"{address}/refunds", wanted | change)

        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (409, "duplicate_reference")
        assert problem["existing"] == {"id": first["id"], "status": "success"}

    def test_belongs_to_one_payment(self, api):
        wanted = {"reference": "rf-1", "amount": 100}
        api.post(f"{paid(api)}/refunds", wanted)

        answer = api.post(f"{paid(api)}/refunds", wanted)

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")

    def test_is_independent_of_payment_references(self, api):
        address = paid(api)
        reference = address.rpartition("/")[2]

        assert ask_for_refund(api, address, reference=reference, amount=5).status_code == 201


@pytest.mark.django_db
class TestLookUp:
    def test_returns_the_same_as_the_refund_request(self, api):
        refund = ask_for_refund(api, paid(api), reference="rf-1", amount=20_000).json()

        answer = api.get("/api/refunds/rf-1")

        assert (answer.status_code, answer.json()) == (200, refund)

    def test_returns_the_current_refund(self, api):
        ask_for_refund(api, paid(api), reference="rf-1", amount=20_098)
        call_command("requery_pending")

        assert api.get("/api/refunds/rf-1").json()["status"] == "success"

    def test_finds_no_payments_or_refunds_of_other_businesses(self, api, other_api):
        address = paid(api)
        ask_for_refund(api, address, reference="rf-1", amount=20_000)

        answers = [
            other_api.get("/api/refunds/rf-1"),
            api.get("/api/refunds/rf-2"),
            api.get(f"/api/refunds/{address.rpartition('/')[2]}"),
        ]

        assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(404, "not_found")] * 3


@pytest.mark.django_db
class TestRefundsOfAPayment:
    def test_are_listed_newest_first(self, api):
        address = paid(api)
        made = [ask_for_refund(api, address, amount=amount).json() for amount in (100, 200, 20_005)]

        listed = api.get(f"{address}/refunds").json()

        assert listed == {"data": made[::-1], "next": None, "previous": None}

    def test_are_empty_at_first(self, api):
        assert api.get(f"{paid(api)}/refunds").json() == {"data": [], "next": None, "previous": None}

    def test_omit_captures(self, api):
        order = orders.card_payment(capture=False)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/capture")

        assert api.get(f"/api/payments/{order['reference']}/refunds").json()["data"] == []
