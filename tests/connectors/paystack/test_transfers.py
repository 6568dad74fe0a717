"""Payouts: banks, name enquiry, recipients and transfers."""

import pytest

from tests.connectors.paystack.client import LIVE_KEY, REFERENCE, Client

OPENING = 100_000_000


@pytest.fixture
def slow(live):
    """Return a client whose transfers stay pending."""
    live.command(default={"transfer": "pending"})
    return live


def status(client, reference=REFERENCE):
    return client.get(f"/transfer/verify/{reference}").data["status"]


class TestBanks:
    def test_codes_are_texts_of_many_forms(self, paystack):
        listed = {each["code"]: each for each in paystack.get("/bank", perPage=1_000).data}

        assert {"044", "058", "50211", "MFB50094", "035A", "09"} <= set(listed)
        assert "001" not in listed
        assert listed["99058"]["active"] is False
        assert "nip_sort_code" not in listed["058"]

    @pytest.mark.parametrize("member", ["nip_sort_code", "nip_code"])
    def test_nip_codes(self, member):
        paystack = Client(variants={"nip_member": member})

        listed = paystack.get("/bank", perPage=1_000, include_nip_sort_code="true").data

        assert {each["code"]: each[member] for each in listed}["058"] == "000013"

    def test_cursor_reads_all(self, paystack):
        seen, cursor = [], ""
        while cursor is not None:
            listed = paystack.get("/bank", perPage=20, use_cursor="true", next=cursor)
            seen += listed.data
            cursor = listed.document["meta"]["next"]

        assert len({each["id"] for each in seen}) == len(seen) > 50


class TestNameEnquiry:
    def test_names_the_holder_or_does_not_tell_why_not(self, live):
        live.command(names={"0000000007": None, "0000000008": ""})

        def name(number, bank="058"):
            found = live.get("/bank/resolve", account_number=number, bank_code=bank)
            return (found.status, found.data and found.data["account_name"])

        assert name("0123456789")[0] == 200
        assert name("0000000007") == (200, None)
        assert {name("0000000008"), name("0000000000"), name("0123456789", "44")} == {(422, None)}

    @pytest.mark.parametrize("code", ["429", "400"])
    def test_test_mode_resolves_three_a_day(self, code):
        paystack = Client(variants={"resolve_limit": code})

        said = [
            paystack.get("/bank/resolve", account_number="0123456789", bank_code="058").status
            for _ in range(4)
        ]
        unlimited = paystack.get("/bank/resolve", account_number="0123456789", bank_code="001")

        assert said == [200, 200, 200, int(code)]
        assert unlimited.status == 200


class TestRecipients:
    def test_same_account_is_the_existing_record(self, paystack):
        assert paystack.recipient() == paystack.recipient()

    @pytest.mark.parametrize(
        ("number", "bank", "message"),
        [("0123456789", "44", "Bank is invalid"), ("0000000000", "058", "Account details are invalid")],
    )
    def test_refuses_wrong_accounts(self, paystack, number, bank, message):
        refused = paystack.post(
            "/transferrecipient", type="nuban", name="Ada", account_number=number, bank_code=bank
        )

        assert (refused.status, refused.message) == (400, message)


class TestTransfer:
    def test_succeeds_at_once_in_test_mode(self, paystack):
        sent = paystack.transfer()

        assert (sent.message, sent.data["status"]) == ("Transfer has been queued", "success")
        assert paystack.books()["paid_out"] == {REFERENCE: 50_000}
        assert paystack.books()["balance"] == OPENING - 50_000 - 1_000
        assert paystack.events() == ["transfer.success"]
        assert paystack.get(f"/transfer/verify/{REFERENCE}").data["session"] == {"provider": None, "id": None}

    def test_succeeds_later_in_live_mode(self, live):
        assert live.transfer().data["status"] == "pending"
        live.simulator.advance(3)

        found = live.get(f"/transfer/verify/{REFERENCE}").data
        assert (found["status"], found["fee_charged"], len(found["session"]["id"])) == ("success", 1_000, 30)

    @pytest.mark.parametrize(
        ("variant", "expected"),
        [("400", (400, True)), ("404", (404, True)), ("without_code", (400, False))],
    )
    def test_repeated_reference_pays_once(self, variant, expected):
        paystack = Client(variants={"transfer_repeated": variant})
        paystack.transfer()

        again = paystack.transfer(amount=70_000)

        assert (again.status, again.code == "duplicate_transfer_reference") == expected
        assert "Reference already exists on a transfer" in again.message
        assert paystack.books()["paid_out"] == {REFERENCE: 50_000}

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"recipient": "RCP_unknown"}, "Recipient specified is invalid"),
            ({"reference": "SHORT"}, "Your reference contains illegal special characters"),
            ({"amount": 9_999}, "Invalid amount passed"),
            ({"amount": 2 * OPENING}, "Your balance is not enough to fulfil this request"),
        ],
    )
    def test_refuses_invalid_requests_without_a_trace(self, paystack, changes, message):
        refused = paystack.transfer(**({"reference": REFERENCE} | changes))

        assert (refused.status, refused.message) == (400, message)
        assert paystack.get(f"/transfer/verify/{REFERENCE}").status == 404
        assert paystack.books()["balance"] == OPENING

    @pytest.mark.parametrize("final", ["failed", "abandoned", "blocked", "rejected"])
    def test_final_without_success_returns_amount_and_fee(self, slow, final):
        slow.transfer()

        slow.command(transfer={"reference": REFERENCE, "status": final})

        assert status(slow) == final
        assert slow.books()["balance"] == OPENING
        assert slow.events() == (["transfer.failed"] if final == "failed" else [])
        with pytest.raises(ValueError, match="cannot become"):
            slow.command(transfer={"reference": REFERENCE, "status": "success"})

    def test_fee_of_a_failed_transfer_may_be_kept(self):
        paystack = Client(key=LIVE_KEY, variants={"failed_transfer_fee": "kept"})
        paystack.command(script={"transfer": ["failed"]})
        paystack.transfer()

        assert paystack.books()["balance"] == OPENING - 1_000

    def test_success_can_be_reversed(self, slow):
        slow.transfer()
        slow.command(transfer={"reference": REFERENCE, "status": "success"})
        slow.command(transfer={"reference": REFERENCE, "status": "reversed"})

        assert slow.events() == ["transfer.success", "transfer.reversed"]
        assert slow.books()["paid_out"] == {}
        assert slow.books()["balance"] == OPENING

    def test_waits_for_a_one_time_password_and_is_abandoned(self, paystack):
        paystack.command(switch={"otp": True})

        assert paystack.transfer().data["status"] == "otp"
        paystack.simulator.advance(30 * 60)
        assert status(paystack) == "abandoned"

    @pytest.mark.parametrize("switch", ["starter", "on_hold"])
    def test_faults_of_the_business(self, paystack, switch):
        paystack.command(switch={switch: True})

        assert paystack.transfer().status == 400
        assert paystack.books()["transfers"] == {}


class TestBalance:
    def test_ledger_lists_changes_by_day(self, paystack):
        paystack.simulator.advance(86_400)
        paystack.transfer()
        paystack.command(top_up=5_000_000)

        rows = paystack.get("/balance/ledger").data
        of_today = paystack.get("/balance/ledger", **{"from": "2026-03-10", "to": "2026-03-11"}).data

        assert [(each["model_responsible"], each["difference"]) for each in rows] == [
            ("TopUp", 5_000_000),
            ("Transfer", -51_000),
            ("TopUp", OPENING),
        ]
        assert len(of_today) == 2  # `from` is exclusive
        assert paystack.get("/balance").data == [{"currency": "NGN", "balance": rows[0]["balance"]}]
