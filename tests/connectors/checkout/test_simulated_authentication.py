from urllib.parse import parse_qs, urlsplit

import pytest

from tests.connectors.checkout.client import order, secure_order


def returned(answer):
    """Return the parameters of the payer's return."""
    assert answer.status == 303
    return parse_qs(urlsplit(answer.headers["Location"]).query)


class TestChallenge:
    def test_sends_the_payer_away_and_back(self, client):
        made = client.secured()
        assert made["status"] == "Pending"
        assert client.get(f"/payments/{made['id']}/actions")[0] == 404

        page = client.payer(made["_links"]["redirect"]["href"])
        back = client.approve(made)

        assert b"NGN 100.00" in page.body
        session = returned(back)["cko-session-id"][0]
        assert returned(back)["token"] == ["t"]
        found = client.get(f"/payments/{session}")[1]
        assert (found["id"], found["status"], found["3ds"]["authentication_response"]) == (
            made["id"],
            "Authorized",
            "Y",
        )
        assert [one["type"] for one in found["actions"]] == ["Authorization"]

    def test_that_the_payer_declines(self, client):
        made = client.secured()

        client.payer(made["_links"]["redirect"]["href"], result="decline")

        assert client.get(f"/payments/{made['id']}")[1]["status"] == "Declined"
        assert client.actions(made["id"])[0]["response_code"] == "20151"

    def test_answered_twice_counts_once(self, client, simulator):
        made = client.secured()
        client.approve(made)

        again = client.payer(made["_links"]["redirect"]["href"], result="decline")

        assert again.status == 303
        assert len(client.actions(made["id"])) == 1
        assert simulator.books()["payments"][made["id"]]["reserved"] == 10_000

    def test_with_a_wrong_password_is_asked_again(self, client):
        made = client.secured()

        page = client.payer(made["_links"]["redirect"]["href"], result="approve", password="x")

        assert (page.status, b"wrong" in page.body) == (200, True)
        assert client.get(f"/payments/{made['id']}")[1]["status"] == "Pending"

    @pytest.mark.parametrize(
        ("variant", "status", "events"),
        [
            ("declined", "Declined", ["payment_pending", "payment_declined"]),
            ("silent", "Declined", ["payment_pending"]),
            ("pending", "Pending", ["payment_pending"]),
        ],
    )
    def test_that_is_abandoned(self, client, simulator, variant, status, events):
        simulator.account.variants.change({"abandoned_challenge": variant})
        made = client.secured()

        client.pass_time(15 * 60)

        assert client.get(f"/payments/{made['id']}")[1]["status"] == status
        assert [one.type for one in simulator.outbox.events] == events
        assert client.approve(made).status in {303, 410}
        assert simulator.books()["payments"][made["id"]]["reserved"] == 0

    @pytest.mark.parametrize(
        ("card", "code"),
        [("4150561000000019", "20151"), ("4243754271700719", "20151"), ("4152868552773614", "10000")],
    )
    def test_whose_result_the_card_decides(self, client, card, code):
        made = client.secured(card)

        client.approve(made)

        assert client.actions(made["id"])[0]["response_code"] == code

    def test_success_can_still_be_declined_by_the_issuer(self, client):
        made = client.secured(amount=10_051)

        client.approve(made)

        assert client.actions(made["id"])[0]["response_code"] == "20051"

    def test_failure_has_one_event_or_two(self, client, simulator):
        for variant in ("one event", "two events"):
            simulator.account.variants.change({"failed_challenge": variant})
            client.payer(client.secured()["_links"]["redirect"]["href"], result="decline")

        kinds = [one.type for one in simulator.outbox.events if one.type != "payment_pending"]
        assert kinds == ["payment_authentication_failed", "payment_authentication_failed", "payment_declined"]

    def test_can_return_with_the_payments_id_too(self, client, simulator):
        simulator.account.variants.change({"challenge_ids": "sid and pay"})
        made = client.secured()

        assert returned(client.approve(made))["cko-payment-id"] == [made["id"]]

    def test_of_an_unknown_session(self, client):
        assert client.payer("/3ds/sid_none").status == 404


class TestFrictionless:
    def test_redirects_and_returns_at_once(self, client):
        made = client.secured("4485040371536584")

        back = client.payer(made["_links"]["redirect"]["href"])

        assert back.status == 303
        found = client.get(f"/payments/{made['id']}")[1]
        assert (found["status"], found["3ds"]["challenged"]) == ("Authorized", False)

    def test_answers_at_once_in_the_other_variant(self, client, simulator):
        simulator.account.variants.change({"frictionless": "answer"})

        assert client.post("/payments", secure_order("4485040371536584"))[0] == 201
        assert client.post("/payments", secure_order("4275765574319271"))[1]["response_code"] == "20151"


class TestWithoutIssuer:
    @pytest.mark.parametrize("card", ["4484070000035519", "4532432452900131"])
    def test_is_declined_or_attempted_without(self, client, card):
        assert client.post("/payments", secure_order(card))[1]["response_code"] == "20150"

        without = secure_order(card) | {"3ds": {"enabled": True, "attempt_n3d": True}}
        made = client.post("/payments", without)[1]

        assert (made["approved"], made["3ds"]["downgraded"]) == (True, True)


class TestUpgrade:
    def test_of_a_soft_decline_redirects_although_3ds_was_off(self, client):
        made = client.post("/payments", order(amount=6520, three_ds={"allow_upgrade": True}))[1]

        assert made["3ds"]["upgrade_reason"] == "sca_retry"
        client.approve(made)
        assert client.get(f"/payments/{made['id']}")[1]["status"] == "Authorized"

    def test_is_the_default(self, client):
        assert client.post("/payments", order(amount=6520) | {"3ds": {"enabled": False}})[0] == 202

    def test_can_be_forbidden(self, client):
        assert client.pay(amount=6520)[1]["response_code"] == "20154"


class TestHostedPage:
    ORDER = {
        "amount": 10_000,
        "currency": "NGN",
        "reference": "page-1",
        "capture": True,
        "billing": {"address": {"country": "NG"}},
        "processing_channel_id": order()["processing_channel_id"],
        "success_url": "https://merchant.example/good",
        "failure_url": "https://merchant.example/bad",
        "cancel_url": "https://merchant.example/cancelled",
    }
    CARD = {"number": "4242424242424242", "expiry": "12/30", "cvv": "100", "name": "Ada", "result": "pay"}
    BAD_CARD = CARD | {"number": "4544249167673670"}

    @pytest.fixture
    def page(self, client):
        status, made = client.post("/hosted-payments", self.ORDER)
        assert status == 201
        return made

    def state(self, client, page):
        return client.get(f"/hosted-payments/{page['id']}")[1]

    def test_takes_a_card(self, client, page):
        link = page["_links"]["redirect"]["href"]
        assert b"NGN 100.00" in client.payer(link).body
        assert self.state(client, page)["status"] == "Payment Pending"

        back = client.payer(link, **self.CARD)

        assert back.headers["Location"].startswith("https://merchant.example/good?cko-session-id=sid_")
        found = self.state(client, page)
        assert found["status"] == "Payment Received"
        assert client.get(f"/payments/{found['payment_id']}")[1]["reference"] == "page-1"

    def test_allows_another_try_after_a_decline(self, client, page):
        link = page["_links"]["redirect"]["href"]

        assert client.payer(link, **self.BAD_CARD).headers["Location"] == link
        assert b"declined" in client.payer(link).body
        assert self.state(client, page)["status"] == "Payment Pending"
        client.payer(link, **self.CARD)

        found = client.get("/payments?reference=page-1")[1]["data"]
        assert [one["status"] for one in found] == ["Authorized", "Declined"]

    def test_with_3ds_goes_through_the_challenge(self, client):
        page = client.post("/hosted-payments", self.ORDER | {"3ds": {"enabled": True}})[1]

        challenge = client.payer(page["_links"]["redirect"]["href"], **self.CARD).headers["Location"]
        back = client.payer(challenge, result="approve", password="Checkout1!")

        assert back.headers["Location"].startswith("https://merchant.example/good")

    @pytest.mark.parametrize(("variant", "charged"), [("refused", 1), ("charged", 2)])
    def test_submitted_in_two_tabs(self, client, simulator, page, variant, charged):
        simulator.account.variants.change({"second_page_payment": variant})
        for _ in range(2):
            client.payer(page["_links"]["redirect"]["href"], **self.CARD)
        client.pass_time(2)

        paid = [one for one in simulator.books()["payments"].values() if one["charged"]]
        assert len(paid) == charged

    def test_refuses_a_second_approval_after_the_challenge(self, client):
        page = client.post("/hosted-payments", self.ORDER | {"3ds": {"enabled": True}})[1]
        link = page["_links"]["redirect"]["href"]
        challenges = [client.payer(link, **self.CARD).headers["Location"] for _ in range(2)]

        for challenge in challenges:
            client.payer(challenge, result="approve", password="Checkout1!")

        found = client.get("/payments?reference=page-1")[1]["data"]
        assert sorted(one["status"] for one in found) == ["Authorized", "Canceled"]

    def test_can_be_cancelled_and_expires(self, client, page):
        link = page["_links"]["redirect"]["href"]
        assert client.payer(link, result="cancel").headers["Location"] == "https://merchant.example/cancelled"

        client.pass_time(30 * 60)

        assert client.payer(link, **self.CARD).status == 410
        assert self.state(client, page)["status"] == "Expired"

    def test_says_what_is_wrong_with_the_card(self, client, page):
        shown = client.payer(page["_links"]["redirect"]["href"], **(self.CARD | {"expiry": "soon"}))

        assert b"card_expiry_month_invalid" in shown.body

    def test_needs_addresses_and_a_country(self, client):
        refused = client.post("/hosted-payments", self.ORDER | {"cancel_url": "", "billing": {}})[1]

        assert refused["error_codes"] == ["cancel_url_required", "billing_address_country_required"]
