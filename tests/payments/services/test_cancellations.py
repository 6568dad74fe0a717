"""POST /api/payments/{reference}/cancel: a payment that awaits its payer fails with 20091."""

from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.models import ApiKey
from payments.models import InvalidState, Transaction
from payments.services.transactions import cancellations
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import AccountNumber, Session, UnappliedMoney
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

SIMULATE = "/api/virtual-accounts/simulate"


def challenged(api):
    return api.post("/api/payments", orders.card_payment(three_ds={"enabled": True})).json()


def awaited(api, make=orders.dynamic_account):
    account = api.post("/api/virtual-accounts", make()).json()
    return api.post("/api/payments", orders.transfer_payment(account["id"])).json()


def cancel(api, payment, body=None):
    return api.post(f"/api/payments/{payment['reference']}/cancel", body)


def refusal(answer):
    return answer.status_code, answer.json()["code"]


class TestCancellation:
    @pytest.mark.parametrize("body", [None, {}])
    @pytest.mark.parametrize("begin", [challenged, awaited])
    def test_fails_the_payment(self, api, begin, body):
        payment = begin(api)

        answer = cancel(api, payment, body)

        cancelled = answer.json()
        assert answer.status_code == 200
        assert "Idempotent-Replayed" not in answer
        assert (cancelled["status"], cancelled["response_code"]) == ("failed", "20091")
        assert cancelled["response_summary"] == "Payment cancelled"
        assert cancelled == api.get(f"/api/payments/{payment['reference']}").json()
        assert "redirect_link" not in cancelled

    def test_fails_the_session_and_releases_its_number(self, api):
        payment = awaited(api)

        cancelled = cancel(api, payment).json()

        assert cancelled["virtual_account_details"]["status"] == "failed"
        assert cancelled["virtual_account_details"]["amount_received"] == ""
        number = AccountNumber.objects.get(pk=cancelled["virtual_account_details"]["account_number"])
        assert (number.holder, number.free_at is not None) == (None, True)

    @pytest.mark.parametrize("begin", [challenged, awaited])
    def test_sends_one_event(self, api, ada, begin):
        make_endpoint(business=ada.business)
        payment = begin(api)

        for _ in range(2):
            cancel(api, payment)

        [delivery] = Delivery.objects.filter(subject=payment["id"])
        assert delivery.event == "payment.failed"
        assert '"response_code":"20091"' in delivery.body

    @pytest.mark.parametrize("begin", [challenged, awaited])
    def test_is_logged_with_the_merchant_as_cause(self, api, begin):
        payment = begin(api)

        cancel(api, payment)

        [move] = Transaction.objects.get(pk=payment["id"]).transitions.filter(attribute="status")
        assert (move.after, move.cause) == ("failed", "merchant")

    @pytest.mark.parametrize("begin", [challenged, awaited])
    def test_is_replayed(self, api, begin):
        payment = begin(api)
        first = cancel(api, payment)

        again = cancel(api, payment)

        assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
        assert again.json() == first.json()

    @pytest.mark.parametrize(
        "order",
        [
            orders.card_payment(),
            orders.card_payment(amount=10_051),
            orders.card_payment(amount=10_098),
            orders.card_payment(capture=False),
            orders.payout(),
            orders.card_check(),
        ],
        ids=["paid", "declined", "unknown", "authorised", "payout", "card check"],
    )
    def test_requires_a_payment_that_awaits_its_payer(self, api, order):
        payment = api.post("/api/payments", order).json()

        answer = cancel(api, payment)

        assert refusal(answer) == (409, "invalid_state")
        assert api.get(f"/api/payments/{payment['reference']}").json() == payment

    def test_of_a_payment_whose_challenge_is_being_authorised_is_refused(self, api):
        payment = challenged(api)
        Transaction.objects.filter(pk=payment["id"]).update(
            awaiting="rail", expires_at=None, next_query_at=timezone.now()
        )

        assert refusal(cancel(api, payment)) == (409, "invalid_state")

    @pytest.mark.parametrize("begin", [challenged, awaited])
    def test_after_the_deadline_is_rejected(self, api, begin):
        payment = begin(api)
        later = timezone.now() + timedelta(days=1)

        with pytest.raises(InvalidState):
            cancellations.cancel(transaction_id=payment["id"], clock=lambda: later)

        assert api.get(f"/api/payments/{payment['reference']}").json()["status"] == "pending"

    def test_of_a_paid_payment_is_rejected(self, api):
        payment = awaited(api)
        number = payment["virtual_account_details"]["account_number"]
        api.post(SIMULATE, {"account_number": number, "amount": payment["amount"]})

        assert refusal(cancel(api, payment)) == (409, "invalid_state")

    def test_accepts_no_fields(self, api):
        payment = challenged(api)

        assert refusal(cancel(api, payment, {"reason": "changed my mind"})) == (400, "unknown_field")

    def test_of_another_businesss_payment_returns_404(self, api, other_api):
        payment = challenged(api)

        assert refusal(cancel(other_api, payment)) == (404, "not_found")
        assert api.get(f"/api/payments/{payment['reference']}").json()["status"] == "pending"

    def test_requires_a_key_with_write_access(self, api, ada):
        payment = challenged(api)
        reader = ApiKeyFactory(business=ada.business, access=ApiKey.Access.READ_ONLY)

        answer = cancel(InProcessClient(Credentials(reader.public_id, reader.secret)), payment)

        assert refusal(answer) == (403, "key_may_not_write")


class TestAfterACancellation:
    def test_the_payers_page_accepts_no_answer(self, api, client):
        payment = challenged(api)
        page = payment["redirect_link"].partition("/3ds/")[2]
        cancel(api, payment)

        client.post(f"/3ds/{page}", {"code": "123456", "answer": "approve"})

        assert client.get(f"/3ds/{page}").status_code == 200
        assert api.get(f"/api/payments/{payment['reference']}").json()["response_code"] == "20091"

    def test_a_transfer_to_its_number_is_unapplied(self, api):
        payment = awaited(api)
        cancel(api, payment)

        number = payment["virtual_account_details"]["account_number"]
        answer = api.post(SIMULATE, {"account_number": number, "amount": payment["amount"]})

        assert "the payment is over" in answer.json()["message"]
        [money] = UnappliedMoney.objects.all()
        assert (money.amount, money.transfer.reason) == (payment["amount"], "late")
        assert api.get(f"/api/payments/{payment['reference']}").json()["response_code"] == "20091"

    def test_a_static_account_accepts_the_next_payment(self, api):
        payment = awaited(api, orders.static_account)
        account = str(Session.objects.get().account_id)
        cancel(api, payment)

        answer = api.post("/api/payments", orders.transfer_payment(account))

        assert answer.status_code == 201
