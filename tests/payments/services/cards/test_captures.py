import pytest
from django.core.management import call_command

from kit.time.time_ordered_ids import new_id
from payments.models import CardOperation, Transaction
from tests import orders


def authorised(api, **changes):
    answer = api.post("/api/payments", orders.card_payment(capture=False, **{"amount": 50_000} | changes))
    assert (answer.status_code, answer.json()["status"]) == (201, "pending")
    return f"/api/payments/{answer.json()['reference']}"


def refused(answer):
    return answer.status_code, answer.json()["code"]


@pytest.mark.django_db
class TestAuthorisation:
    def test_awaits_its_capture(self, api):
        order = orders.card_payment(capture=False)

        payment = api.post("/api/payments", order).json()

        assert (payment["status"], payment["response_code"]) == ("pending", "10001")
        assert len(payment["authorization_code"]) == 6
        assert payment["gateway_code"] == "00"
        assert (payment["total_amount_captured"], payment["fee"]) == (0, 0)
        assert payment["total_amount_available_to_refund"] == 0

    def test_can_be_declined(self, api):
        payment = api.post("/api/payments", orders.card_payment(capture=False, amount=10_051)).json()

        assert (payment["status"], payment["response_code"]) == ("failed", "20051")

    def test_expires_after_seven_days_and_not_before(self, api, clock):
        address = authorised(api)

        clock.advance(days=6, hours=23, minutes=59)
        call_command("expire_due")
        before = api.get(address).json()["status"]
        clock.advance(minutes=1)
        call_command("expire_due")

        payment = api.get(address).json()
        assert (before, payment["status"], payment["response_code"]) == ("pending", "failed", "20068")
        assert payment["total_amount_captured"] == 0

    @pytest.mark.parametrize("action", ["capture", "void"])
    def test_is_expired_at_its_deadline_even_before_expiry_runs(self, api, clock, action):
        address = authorised(api)

        clock.advance(days=7)
        answer = api.post(f"{address}/{action}")

        assert refused(answer) == (409, "invalid_state")
        assert not CardOperation.objects.exists()


@pytest.mark.django_db
class TestCapture:
    @pytest.mark.parametrize("body", [None, {}, {"amount": 50_000}, b'{"amount": 50000.0}'])
    def test_captures_the_whole_amount(self, api, body):
        address = authorised(api)

        answer = api.post(f"{address}/capture", body)

        payment = answer.json()
        assert answer.status_code == 200
        assert (payment["status"], payment["response_code"]) == ("success", "10000")
        assert payment["total_amount_captured"] == payment["total_amount_available_to_refund"] == 50_000
        assert payment["fee"] == 750
        assert payment == api.get(address).json()

    def test_captures_a_part_and_releases_the_rest(self, api):
        address = authorised(api)

        payment = api.post(f"{address}/capture", {"amount": 20_000}).json()

        assert (payment["status"], payment["amount"]) == ("success", 50_000)
        assert payment["total_amount_captured"] == payment["total_amount_available_to_refund"] == 20_000
        assert payment["fee"] == 300
        assert len(payment["authorization_code"]) == 6

    def test_rejects_more_than_the_authorised_amount(self, api):
        address = authorised(api)

        answer = api.post(f"{address}/capture", {"amount": 50_001})

        assert refused(answer) == (400, "amount_too_large")
        assert api.get(address).json()["status"] == "pending"

    @pytest.mark.parametrize("amount", [0, -1, 10.5, "100", True, None])
    def test_rejects_an_invalid_amount(self, api, amount):
        address = authorised(api)

        answer = api.post(f"{address}/capture", {"amount": amount})

        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == ["amount"]

    @pytest.mark.parametrize("first", ["capture", "void"])
    @pytest.mark.parametrize("second", ["capture", "void"])
    def test_and_void_exclude_each_other_and_happen_once(self, api, first, second):
        address = authorised(api)
        api.post(f"{address}/{first}")
        before = api.get(address).json()

        answer = api.post(f"{address}/{second}")

        if first == second:
            assert (answer.status_code, answer["Idempotent-Replayed"]) == (200, "true")
            assert answer.json() == before
        else:
            assert refused(answer) == (409, "invalid_state")
        assert api.get(address).json() == before

    @pytest.mark.parametrize("first", [None, {"amount": 50_000}])
    @pytest.mark.parametrize("second", [None, {"amount": 50_000}, b'{"amount": 50000.0}'])
    def test_of_the_full_amount_is_replayed_with_or_without_the_amount(self, api, first, second):
        address = authorised(api)
        done = api.post(f"{address}/capture", first)

        again = api.post(f"{address}/capture", second)

        assert "Idempotent-Replayed" not in done
        assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
        assert again.json() == done.json()
        assert CardOperation.objects.count() == 1

    @pytest.mark.parametrize(
        ("first", "second"), [(20_000, None), (20_000, 20_001), (20_000, 50_001), (None, 20_000)]
    )
    def test_with_a_different_amount_is_rejected(self, api, first, second):
        address = authorised(api)
        api.post(f"{address}/capture", {"amount": first} if first else None)

        answer = api.post(f"{address}/capture", {"amount": second} if second else None)

        assert refused(answer) == (409, "invalid_state")

    @pytest.mark.parametrize(("action", "amount"), [("capture", 20_098), ("void", None)])
    def test_or_void_is_not_sent_twice_while_its_outcome_is_unknown(self, api, settings, action, amount):
        address = authorised(api)
        settings.CARD_ACQUIRER = "tests.rails.SlowAcquirer"
        body = {"amount": amount} if amount else None
        first = api.post(f"{address}/{action}", body)
        settings.CARD_ACQUIRER = "tests.rails.UncallableAcquirer"

        again = api.post(f"{address}/{action}", body)

        assert (first.status_code, first.json()["status"]) == (200, "pending")
        assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
        assert again.json() == first.json()
        assert CardOperation.objects.count() == 1

    @pytest.mark.parametrize("action", ["capture", "void"])
    def test_or_void_is_replayed_while_the_acquirer_is_unavailable(self, api, settings, action):
        address = authorised(api)
        first = api.post(f"{address}/{action}")
        settings.CARD_ACQUIRER = ""

        again = api.post(f"{address}/{action}")

        assert (again.status_code, again.json()) == (200, first.json())

    @pytest.mark.parametrize("action", ["capture", "void"])
    def test_or_void_that_was_declined_can_be_retried(self, api, settings, action):
        address = authorised(api)
        settings.CARD_ACQUIRER = "tests.rails.RefusingAcquirer"
        refusal = api.post(f"{address}/{action}")
        settings.CARD_ACQUIRER = "payments.rails.sandbox.SandboxAcquirer"

        answer = api.post(f"{address}/{action}")

        assert refused(refusal) == (409, "invalid_state")
        assert answer.status_code == 200
        assert "Idempotent-Replayed" not in answer
        assert CardOperation.objects.count() == 2

    def test_of_a_captured_or_declined_payment_is_rejected(self, api):
        paid = api.post("/api/payments", orders.card_payment()).json()
        declined = api.post("/api/payments", orders.card_payment(amount=10_051)).json()

        answers = [api.post(f"/api/payments/{one['reference']}/capture") for one in (paid, declined)]

        assert [refused(answer) for answer in answers] == [(409, "invalid_state")] * 2

    def test_without_an_answer_is_pending_until_requery(self, api, clock):
        address = authorised(api)

        unknown = api.post(f"{address}/capture", {"amount": 20_098})
        second = api.post(f"{address}/void")
        clock.advance(days=8)
        call_command("expire_due")
        still = api.get(address).json()
        call_command("requery_pending")

        assert (unknown.status_code, unknown.json()["status"]) == (200, "pending")
        assert refused(second) == (409, "invalid_state")
        assert still["status"] == "pending"
        payment = api.get(address).json()
        assert (payment["status"], payment["total_amount_captured"]) == ("success", 20_098)

    def test_declined_by_the_acquirer_leaves_the_authorisation_unchanged(self, api, settings):
        address = authorised(api)
        before = api.get(address).json()

        settings.CARD_ACQUIRER = "tests.rails.RefusingAcquirer"
        refusal = api.post(f"{address}/capture")
        after = api.get(address).json()
        settings.CARD_ACQUIRER = "payments.rails.sandbox.SandboxAcquirer"
        again = api.post(f"{address}/capture")

        assert refused(refusal) == (409, "invalid_state")
        assert after == before
        assert again.json()["status"] == "success"


@pytest.mark.django_db
class TestVoid:
    def test_of_an_expired_authorisation_is_not_a_replay(self, api, clock):
        """An expired authorisation is also released at the acquirer, but not at the merchant's request."""
        address = authorised(api)
        clock.advance(days=7)
        call_command("expire_due")
        payment = Transaction.objects.get()
        CardOperation.objects.get_or_create(
            transaction=payment,
            kind="void",
            defaults={
                "id": new_id(clock.now),
                "business": payment.business,
                "amount": payment.amount,
                "created_at": clock.now,
            },
        )

        answer = api.post(f"{address}/void")

        assert refused(answer) == (409, "invalid_state")

    def test_fails_the_payment(self, api):
        address = authorised(api)

        answer = api.post(f"{address}/void")

        payment = answer.json()
        assert answer.status_code == 200
        assert (payment["status"], payment["response_code"]) == ("failed", "20090")
        assert payment["response_summary"] == "Payment voided"
        assert (payment["total_amount_captured"], payment["fee"]) == (0, 0)

    def test_accepts_no_fields(self, api):
        address = authorised(api)

        answer = api.post(f"{address}/void", {"amount": 100})

        assert refused(answer) == (400, "unknown_field")
        assert Transaction.objects.get().status == "pending"
