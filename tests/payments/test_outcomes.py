"""The outcome table of the interface document and of contracts 5 and 7, as returned over HTTP."""

import pytest

from payments.rules import outcomes, sandbox_triggers
from tests import orders

# Repeated here, so that a mistake in `outcomes` is detected.
SUMMARIES = {
    "10000": "Payment completed",
    "10001": "Processing",
    "20005": "Declined - Do not honour",
    "20030": "Declined - Unspecified failure",
    "20041": "Declined - Lost Card",
    "20043": "Declined - Stolen Card, Pick up",
    "20051": "Declined - Not sufficient funds",
    "20054": "Declined - Expired card",
    "20083": "Declined - Suspected fraud",
    "20151": "Declined - 3DS authentication failed",
}
NEVER_RETRY = {"41", "43", "83", "54"}


def outcome(answer):
    assert answer.status_code == 201
    payment = answer.json()
    return payment["status"], payment["response_code"], payment["response_summary"]


@pytest.mark.django_db
class TestCardAmounts:
    def test_decline_from_ten_thousand_on(self, subtests, api):
        for ending in ["05", "41", "43", "51", "83", "30"]:
            for hundreds in [100, 123, 9_999_999_999]:
                with subtests.test(ending=ending, hundreds=hundreds):
                    amount = hundreds * 100 + int(ending)

                    answer = api.post("/api/payments", orders.card_payment(amount=amount))

                    code = f"200{ending}"
                    assert outcome(answer) == ("failed", code, SUMMARIES[code])
                    payment = answer.json()
                    assert payment["gateway_code"] == ending
                    advice = "do_not_retry" if ending in NEVER_RETRY else "retry"
                    assert payment["gateway_recommendation"] == advice
                    assert payment["total_amount_captured"] == payment["fee"] == 0

    @pytest.mark.parametrize("amount", [1, 5, 51, 998, 9_951, 9_998, 10_000, 10_007, 10_150, 10**12])
    def test_otherwise_succeed(self, api, amount):
        answer = api.post("/api/payments", orders.card_payment(amount=amount))

        assert outcome(answer) == ("success", "10000", "Payment completed")
        assert answer.json()["total_amount_captured"] == amount

    def test_ending_in_98_have_no_answer(self, api):
        answer = api.post("/api/payments", orders.card_payment(amount=10_098))

        assert outcome(answer) == ("pending", "10001", "Processing")
        assert not set(answer.json()) & {"redirect_link", "gateway_code", "authorization_code"}


@pytest.mark.django_db
class TestCardsOfTheTable:
    @pytest.mark.parametrize(
        ("number", "amount", "expected"),
        [
            (orders.DECLINED_CARD, 500, ("failed", "20051")),
            (orders.DECLINED_CARD, 10_041, ("failed", "20051")),
            (orders.DECLINED_CARD, 10_098, ("failed", "20051")),
            (orders.CHALLENGED_CARD, 10_051, ("pending", "10001")),
            (orders.FRICTIONLESS_CARD, 10_051, ("success", "10000")),
            (orders.FRICTIONLESS_CARD, 10_098, ("success", "10000")),
            (orders.UNRECOGNISED_CARD, 10_051, ("failed", "20151")),
            (orders.UNRECOGNISED_CARD, 500, ("failed", "20151")),
        ],
    )
    def test_take_precedence_over_the_amount(self, api, number, amount, expected):
        source = orders.card_source(pan=number)

        answer = api.post("/api/payments", orders.card_payment(source=source, amount=amount))

        assert outcome(answer) == (*expected, SUMMARIES[expected[1]])

    @pytest.mark.parametrize(
        "number", [orders.GOOD_CARD, orders.DECLINED_CARD, orders.CHALLENGED_CARD, orders.FRICTIONLESS_CARD]
    )
    def test_decline_when_expired_before_any_challenge(self, api, number):
        source = orders.card_source(pan=number, expiry_month="01", expiry_year="2020")
        order = orders.card_payment(source=source, three_ds={"enabled": True}, amount=10_051)

        answer = api.post("/api/payments", order)

        assert outcome(answer) == ("failed", "20054", "Declined - Expired card")
        assert "redirect_link" not in answer.json()
        assert answer.json()["gateway_recommendation"] == "do_not_retry"

    def test_accept_spaces_in_their_number(self, api):
        source = orders.card_source(pan="4084 0800 0000 5408")

        answer = api.post("/api/payments", orders.card_payment(source=source))

        assert answer.json()["response_code"] == "20051"


class TestTable:
    def test_matches_the_document_word_for_word(self):
        ours = {row.code: row.summary for row in outcomes.CARD_DECLINES}

        declines = {code: summary for code, summary in SUMMARIES.items() if code.startswith("2")}
        assert ours == declines
        assert outcomes.COMPLETED.summary == SUMMARIES["10000"]
        assert outcomes.PROCESSING.summary == SUMMARIES["10001"]

    def test_has_the_codes_of_the_contract(self):
        failed_payout = outcomes.payout_failure("07")

        assert outcomes.AUTHORISATION_EXPIRED.code == "20068"
        assert (outcomes.VOIDED.code, outcomes.VOIDED.summary) == ("20090", "Payment voided")
        assert (outcomes.CANCELLED.code, outcomes.CANCELLED.summary) == ("20091", "Payment cancelled")
        assert (failed_payout.code, failed_payout.summary) == ("20030", "Payment failed")

    def test_advises_against_a_retry_for_lost_stolen_or_suspect_cards(self):
        advice = {row.code: row.advice for row in outcomes.CARD_DECLINES}

        assert {advice[code] for code in ("20041", "20043", "20083")} == {"do_not_retry"}
        assert set(advice.values()) == {"retry", "do_not_retry"}

    def test_small_amounts_trigger_nothing(self):
        tables = (
            sandbox_triggers.CARD_AMOUNTS,
            sandbox_triggers.CAPTURE_AMOUNTS,
            sandbox_triggers.REFUND_AMOUNTS,
            sandbox_triggers.PAYOUT_AMOUNTS,
        )

        triggered = [sandbox_triggers.by_amount(n, table) for n in range(10_000) for table in tables]

        assert set(triggered) == {None}
