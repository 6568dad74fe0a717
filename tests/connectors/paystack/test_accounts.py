"""Customers, dedicated accounts, and one-time accounts of Pay with Transfer."""

from datetime import timedelta

import pytest

from tests.connectors.paystack.client import IDENTITY, LIVE_KEY, NOON, REFERENCE, Client

SENDER = {"sender_name": "BOLA ADE", "sender_account": "0690000011", "sender_bank": "Access Bank"}


def pay(client, number, amount, **more):
    return client.command(receive={"account_number": number, "amount": amount, **more})["receive"]


class TestCustomers:
    def test_email_decides_identity(self, paystack):
        assert paystack.customer()["customer_code"] == paystack.customer()["customer_code"]
        assert paystack.customer("other@example.com")["id"] != paystack.customer()["id"]

    def test_unknown(self, paystack):
        assert paystack.get("/customer/CUS_unknown").status == 404

    @pytest.mark.parametrize("result", ["success", "failed"])
    def test_identification_is_announced(self, live, result):
        code = live.customer()["customer_code"]
        live.command(script={"identification": [f"pending 5 {result}"]})

        asked = live.post(f"/customer/{code}/identification", **IDENTITY)
        assert (asked.status, live.events()) == (202, [])
        live.simulator.advance(5)

        [(event, data)] = live.deliver()
        assert (event, data["customer_code"]) == (f"customeridentification.{result}", code)
        assert "20012345677" not in str(data)
        assert live.get(f"/customer/{code}").data["identified"] is (result == "success")

    def test_invalid_bvn(self, live):
        code = live.customer()["customer_code"]

        assert (
            live.post(f"/customer/{code}/identification", **IDENTITY | {"bvn": "1"}).message == "Invalid BVN"
        )


class TestDedicatedAccounts:
    def test_is_opened_at_once_and_found_again(self, paystack):
        account = paystack.account(preferred_bank="test-bank")
        customer = paystack.get("/customer/shop+va-1@example.com").data

        assert account["account_name"] == "SIMULATED SHOP/Ada Obi"
        assert customer["dedicated_account"]["account_number"] == account["account_number"]
        found = paystack.get("/dedicated_account", customer=customer["id"]).data
        assert [each["id"] for each in found] == [account["id"]]
        assert paystack.get("/dedicated_account", customer=customer["customer_code"]).data == []

    @pytest.mark.parametrize(("variant", "status"), [("same", 200), ("refused", 400)])
    def test_second_account_of_a_customer(self, variant, status):
        paystack = Client(variants={"second_account": variant})
        paystack.account()

        again = paystack.post("/dedicated_account", customer=paystack.customer()["customer_code"])

        assert again.status == status
        assert len(paystack.get("/dedicated_account").data) == 1

    def test_refusals(self, paystack):
        paystack.charge()
        nameless = paystack.get("/customer/ada@example.com").data["customer_code"]
        assert paystack.post("/dedicated_account", customer=nameless).status == 400
        named = paystack.customer()["customer_code"]
        assert paystack.post("/dedicated_account", customer=named, preferred_bank="wema-bank").status == 400
        paystack.command(switch={"identification_required": True})
        assert paystack.post("/dedicated_account", customer=named).status == 400
        paystack.command(switch={"accounts_refused": True})
        assert paystack.post("/dedicated_account", customer=named).status == 403
        assert paystack.get("/dedicated_account/available_providers").status == 403

    def test_any_amount_becomes_a_transaction(self, paystack):
        number = paystack.account()["account_number"]

        assert [pay(paystack, number, amount, **SENDER) for amount in (1, 7_000_000)] == ["accepted"] * 2

        [(event, small), (_, large)] = paystack.deliver()
        assert (event, small["channel"], small["amount"]) == ("charge.success", "dedicated_nuban", 1)
        assert large["fees"] == 30_000  # 1 %, at most NGN 300
        told = large["authorization"]
        assert (told["sender_name"], told["sender_bank_account_number"]) == ("BOLA ADE", "XXXXXX0011")
        assert told["receiver_bank_account_number"] == number
        assert paystack.verify(large["reference"]).data["id"] == large["id"]

    def test_requery_finds_what_went_unnoticed_once_in_ten_minutes(self, paystack):
        number = paystack.account()["account_number"]
        assert pay(paystack, number, 50_000, unnoticed=True) == "unnoticed"
        assert paystack.events() == []

        assert paystack.get("/dedicated_account/requery", account_number=number).status == 200
        assert paystack.events() == ["charge.success"]
        assert paystack.get("/dedicated_account/requery", account_number=number).status == 429
        paystack.simulator.advance(600)
        assert paystack.get("/dedicated_account/requery", account_number=number).status == 200

    def test_money_for_a_deactivated_account_goes_back(self, paystack):
        account = paystack.account()
        closed = paystack.call("DELETE", f"/dedicated_account/{account['id']}")

        assert closed.data["assignment"]["assignee_type"] == "Integration"
        assert pay(paystack, account["account_number"], 50_000) == "rejected"
        assert paystack.books()["sent_back"] == [(account["account_number"], 50_000)]

    def test_assignment_is_announced(self, live):
        order = {"email": "a@b.co", "first_name": "A", "last_name": "B", "phone": "1", "country": "NG"}
        live.command(script={"assignment": ["pending 5 success", "failed"]})

        live.post("/dedicated_account/assign", **order, preferred_bank="wema-bank")
        live.post("/dedicated_account/assign", **order, preferred_bank="wema-bank")
        live.simulator.advance(5)

        told = {event: data["dedicated_account"] for event, data in live.deliver()}
        assert told["dedicatedaccount.assign.failed"] is None
        assert len(told["dedicatedaccount.assign.success"]["account_number"]) == 10

    def test_unknown_number(self, paystack):
        with pytest.raises(ValueError, match="no account"):
            pay(paystack, "0000000001", 50_000)


class TestSessions:
    @pytest.mark.parametrize(
        ("asked", "given"),
        [
            (timedelta(minutes=1), timedelta(minutes=15)),
            (timedelta(hours=1), timedelta(hours=1)),
            (timedelta(days=1), timedelta(hours=8)),
            (None, timedelta(hours=8)),
        ],
    )
    def test_expiry_is_clamped(self, paystack, asked, given):
        opened = paystack.session(expires_at=asked and (NOON + asked).isoformat()).data

        assert opened["status"] == "pending_bank_transfer"
        assert opened["account_expires_at"] == f"{NOON + given:%Y-%m-%dT%H:%M:%S}.000Z"
        assert paystack.verify().data["status"] == "ongoing"

    def test_exact_amount_succeeds(self, paystack):
        number = paystack.session().data["account_number"]

        assert pay(paystack, number, 50_000, **SENDER) == "accepted"

        [(event, data)] = paystack.deliver()
        assert (event, data["channel"], data["reference"]) == ("charge.success", "bank_transfer", REFERENCE)
        assert pay(paystack, number, 50_000) == "rejected"
        assert paystack.books()["charged"] == {REFERENCE: 50_000}

    @pytest.mark.parametrize(("told", "amount"), [("sent", "49999"), ("expected", "50000")])
    @pytest.mark.parametrize("after", ["failed", "ongoing"])
    def test_wrong_amount_goes_back(self, told, amount, after):
        paystack = Client(variants={"rejected_amount": told, "rejected_session": after})
        number = paystack.session().data["account_number"]

        assert pay(paystack, number, 49_999) == "rejected"

        [(event, data)] = paystack.deliver()
        assert (event, data["bank_transfer"]["amount"]) == ("bank.transfer.rejected", amount)
        found = paystack.get(f"/transaction/{data['bank_transfer']['transaction_id']}").data
        assert (found["reference"], found["status"]) == (REFERENCE, after)
        assert pay(paystack, number, 50_000) == {"failed": "rejected", "ongoing": "accepted"}[after]

    @pytest.mark.parametrize("variant", ["abandoned", "failed"])
    def test_late_money_goes_back_without_an_event(self, variant):
        paystack = Client(variants={"expired_session": variant})
        number = paystack.session().data["account_number"]
        paystack.simulator.advance(8 * 3600)

        assert pay(paystack, number, 50_000) == "rejected"

        assert paystack.verify().data["status"] == variant
        assert (paystack.events(), paystack.books()["charged"]) == ([], {})

    def test_numbers_can_be_reused(self):
        paystack = Client(key=LIVE_KEY, variants={"session_numbers": "reused"})
        first = paystack.session().data["account_number"]
        pay(paystack, first, 50_000)

        assert paystack.session(reference="next").data["account_number"] == first

    def test_smallest_amount(self, paystack):
        assert paystack.session(amount=9_999).status == 400
