"""Every failed payment says whose fault it was and whether a retry helps."""

import pytest

from payments.rules import outcomes
from payments.rules.words.failure_advice import UNEXPLAINED, advice_on
from tests import orders
from tests.transactions import start

ACCOUNTS = "/api/virtual-accounts"

OF_CARDS = [
    *(each for each in outcomes.CARD_DECLINES if each is not outcomes.UNSPECIFIED_FAILURE),
    outcomes.REVERSED,
    outcomes.PARTLY_APPROVED,
    outcomes.AUTHORISATION_EXPIRED,
    outcomes.VOIDED,
    outcomes.CANCELLED,
]
OF_TRANSFERS = [
    outcomes.amount_mismatch(expected=50_000, received=40_000, currency="NGN"),
    outcomes.TRANSFER_EXPIRED,
    outcomes.ACCOUNT_DEACTIVATED,
    outcomes.CANCELLED,
]


@pytest.mark.parametrize(
    ("is_transfer", "failures"), [(False, OF_CARDS), (True, OF_TRANSFERS)], ids=["cards", "transfers"]
)
def test_every_outcome_has_its_own(is_transfer, failures):
    found = [
        advice_on(each.code, gateway_code=each.gateway_code, is_transfer=is_transfer) for each in failures
    ]

    assert UNEXPLAINED not in found
    assert len({each.cause for each in found}) == len(failures)


@pytest.mark.parametrize("each", [outcomes.UNSPECIFIED_FAILURE, outcomes.NOTHING_CHARGED])
def test_without_a_reason_names_no_bank(each):
    assert advice_on(each.code, gateway_code=each.gateway_code) == UNEXPLAINED
    assert "bank" not in UNEXPLAINED.cause


@pytest.mark.django_db
class TestPage:
    def test_of_an_account_that_was_deactivated(self, browser, api):
        account = api.post(ACCOUNTS, orders.static_account()).json()
        payment = api.post("/api/payments", orders.transfer_payment(account["id"])).json()
        api.post(f"{ACCOUNTS}/{account['reference']}/deactivate")

        page = browser.get(f"/dashboard/payments/{payment['id']}/").content.decode()

        assert "The account was deactivated before the money arrived." in page
        assert "Send a new link" in page

    def test_of_a_card_does_not_speak_of_transfers(self, browser, ada, now):
        payment = start(orders.card_payment(amount=250_051), business=ada.business, now=now)
        type(payment).objects.filter(pk=payment.pk).update(response_code="20013", gateway_code="10")

        page = browser.get(f"/dashboard/payments/{payment.pk}/").content.decode()

        assert "approved only a part" in page
