import pytest
from django.core.management import call_command

from payments.models import Challenge, Transaction
from payments.services.cards import challenges
from tests import orders
from tests.transactions import enter_code

NO_3DS = [{}, {"three_ds": {}}, {"three_ds": {"enabled": False}}]
PREFERENCES = ["challenge_mandated", "challenge_preferred", "no_preference", "no_challenge"]


def challenged(api, **changes):
    answer = api.post("/api/payments", orders.card_payment(three_ds={"enabled": True}, **changes))
    assert answer.json()["status"] == "pending"
    return answer.json()


def challenge_of(payment):
    return Challenge.objects.select_related("transaction__business").get(transaction_id=payment["id"])


@pytest.mark.django_db
class TestWhetherThePayerIsChallenged:
    @pytest.mark.parametrize("three_ds", NO_3DS)
    def test_not_for_an_ordinary_card_by_default(self, api, three_ds):
        payment = api.post("/api/payments", orders.card_payment(**three_ds)).json()

        assert payment["status"] == "success"
        assert "redirect_link" not in payment

    @pytest.mark.parametrize("preference", PREFERENCES)
    def test_not_if_3ds_is_off_with_any_preference(self, api, preference):
        three_ds = {"enabled": False, "challenge_preference": preference}

        payment = api.post("/api/payments", orders.card_payment(three_ds=three_ds)).json()

        assert payment["status"] == "success"

    @pytest.mark.parametrize("preference", [*PREFERENCES[:3], None])
    def test_if_3ds_is_on(self, api, preference):
        three_ds = {"enabled": True} | ({"challenge_preference": preference} if preference else {})

        payment = api.post("/api/payments", orders.card_payment(three_ds=three_ds)).json()

        assert (payment["status"], payment["response_code"]) == ("pending", "10001")
        token = Challenge.objects.get().token
        assert payment["redirect_link"] == f"http://127.0.0.1:8000/3ds/{token}"

    def test_not_if_no_challenge_is_preferred(self, api):
        three_ds = {"enabled": True, "challenge_preference": "no_challenge"}

        payment = api.post("/api/payments", orders.card_payment(three_ds=three_ds)).json()

        assert payment["status"] == "success"
        assert "redirect_link" not in payment

    def test_depends_on_a_test_card_first(self, subtests, api):
        for three_ds in [
            *NO_3DS,
            *[{"three_ds": {"enabled": True, "challenge_preference": p}} for p in PREFERENCES],
        ]:
            for number, code in [
                (orders.CHALLENGED_CARD, "10001"),
                (orders.FRICTIONLESS_CARD, "10000"),
                (orders.UNRECOGNISED_CARD, "20151"),
                (orders.DECLINED_CARD, "20051"),
            ]:
                with subtests.test(three_ds=three_ds, number=number, code=code):
                    source = orders.card_source(pan=number)

                    payment = api.post("/api/payments", orders.card_payment(source=source, **three_ds)).json()

                    assert payment["response_code"] == code
                    assert ("redirect_link" in payment) == (number == orders.CHALLENGED_CARD)


@pytest.mark.django_db
class TestChallenge:
    def test_ends_in_success_with_the_right_code(self, api, clock):
        payment = challenged(api)

        enter_code(challenge=challenge_of(payment), code="123456", now=clock.now)

        shown = api.get(f"/api/payments/{payment['reference']}").json()
        assert (shown["status"], shown["response_code"]) == ("success", "10000")
        assert "redirect_link" not in shown
        assert shown["total_amount_captured"] == payment["amount"]

    def test_continues_with_the_outcome_of_the_amount(self, api, clock):
        payment = challenged(api, amount=10_051)

        enter_code(challenge=challenge_of(payment), code="123456", now=clock.now)

        assert api.get(f"/api/payments/{payment['reference']}").json()["response_code"] == "20051"

    def test_only_authorises_if_the_capture_is_later(self, api, clock):
        payment = challenged(api, capture=False)

        enter_code(challenge=challenge_of(payment), code="123456", now=clock.now)

        shown = api.get(f"/api/payments/{payment['reference']}").json()
        assert (shown["status"], shown["total_amount_captured"]) == ("pending", 0)
        assert len(shown["authorization_code"]) == 6
        assert "redirect_link" not in shown

    def test_ends_in_20151_when_the_payer_declines(self, api, clock):
        payment = challenged(api)

        challenges.decline(challenge=challenge_of(payment), now=clock.now)

        shown = api.get(f"/api/payments/{payment['reference']}").json()
        assert (shown["status"], shown["response_code"]) == ("failed", "20151")
        assert shown["response_summary"] == "Declined - 3DS authentication failed"

    def test_ends_in_20151_with_the_third_wrong_code(self, api, clock):
        payment = challenged(api)
        challenge = challenge_of(payment)

        for _ in range(2):
            with pytest.raises(challenges.WrongInput):
                enter_code(challenge=challenge, code="000000", now=clock.now)
        enter_code(challenge=challenge, code="000000", now=clock.now)

        assert api.get(f"/api/payments/{payment['reference']}").json()["response_code"] == "20151"
        with pytest.raises(challenges.ChallengeClosed):
            enter_code(challenge=challenge, code="123456", now=clock.now)

    def test_ends_in_20151_after_fifteen_minutes_and_not_before(self, api, clock):
        payment = challenged(api)

        clock.advance(minutes=14, seconds=59)
        call_command("expire_due")
        before = api.get(f"/api/payments/{payment['reference']}").json()["status"]
        clock.advance(seconds=1)
        call_command("expire_due")

        after = api.get(f"/api/payments/{payment['reference']}").json()
        assert (before, after["status"], after["response_code"]) == ("pending", "failed", "20151")

    def test_accepts_no_code_after_its_deadline_even_before_expiry_runs(self, api, clock):
        payment = challenged(api)

        clock.advance(minutes=15)

        with pytest.raises(challenges.ChallengeClosed):
            enter_code(challenge=challenge_of(payment), code="123456", now=clock.now)
        assert Transaction.objects.get().status == "pending"

    def test_cannot_be_captured_voided_or_refunded(self, api):
        payment = challenged(api, capture=False)
        address = f"/api/payments/{payment['reference']}"

        refused = [
            api.post(f"{address}/capture"),
            api.post(f"{address}/void"),
            api.post(f"{address}/refunds", {"reference": orders.new_reference()}),
        ]

        assert [(one.status_code, one.json()["code"]) for one in refused] == [(409, "invalid_state")] * 3
