"""Refunds, disputes, settlements, and what the provider's books say of them."""

import pytest

from tests.connectors.paystack.client import REFERENCE, Client

HOUR = 3600
ANSWER = {"message": "Delivered", "refund_amount": 50_000, "uploaded_filename": "receipt.pdf"}


@pytest.fixture
def paid(paystack):
    """Return a client with a paid transaction."""
    paystack.charge()
    paystack.deliver()
    return paystack


def refund(client, **more):
    return client.post("/refund", transaction=REFERENCE, **more)


def dispute(client, **more):
    return client.command(dispute={"reference": REFERENCE, **more})["dispute"]


class TestRefunds:
    def test_is_processed_later(self, paid):
        made = refund(paid, merchant_note="operation-1")

        assert (made.message, made.data["status"]) == ("Refund has been queued for processing", "pending")
        paid.simulator.advance(6)
        found = paid.get(f"/refund/{made.data['id']}").data
        assert (found["status"], found["amount"], found["merchant_note"]) == (
            "processed",
            50_000,
            "operation-1",
        )
        assert paid.events() == ["refund.pending", "refund.processing", "refund.processed"]
        assert paid.verify().data["status"] == "reversed"
        assert paid.books()["refunded"] == {REFERENCE: 50_000}

    def test_repeat_makes_a_second_refund_up_to_the_sum(self, paid):
        assert [refund(paid, amount=20_000).status for _ in range(3)] == [200, 200, 400]

        number = paid.verify().data["id"]
        assert len(paid.get("/refund", transaction=number).data) == 2
        assert paid.get("/refund", transaction=REFERENCE).data == []

    def test_refusals(self, paid):
        assert refund(paid, currency="USD").status == 400
        assert paid.post("/refund", transaction="unknown").status == 404
        refund(paid)
        again = refund(paid)
        assert (again.message, again.code) == ("Transaction has been fully reversed", "transaction_reversed")

    def test_open_refund_may_refuse_another(self):
        client = Client(variants={"open_refund": "refuses_another"})
        client.charge()
        refund(client, amount=1_000)

        assert refund(client, amount=1_000).message.startswith("Refund already exist")

    @pytest.mark.parametrize(
        ("variants", "open_status", "partial_status"),
        [
            ({}, "success", "reversed"),
            (
                {"pending_refund": "reversal-pending", "partial_refund": "success"},
                "reversal-pending",
                "success",
            ),
        ],
    )
    def test_status_of_the_transaction(self, variants, open_status, partial_status):
        client = Client(variants=variants)
        client.charge()

        refund(client, amount=10_000)
        assert client.verify().data["status"] == open_status
        client.simulator.advance(6)
        assert client.verify().data["status"] == partial_status

    def test_failure_credits_the_amount_back(self, paid):
        paid.command(script={"refund": ["pending failed"]})
        before = paid.books()["unsettled"]

        refund(paid)

        assert (paid.verify().data["status"], paid.books()["unsettled"]) == ("success", before)
        assert refund(paid).status == 200

    @pytest.mark.parametrize("spelling", ["needs-attention", "needs_attention"])
    def test_needs_attention(self, spelling):
        client = Client(variants={"needs_attention": spelling})
        client.charge()
        client.command(script={"refund": ["pending needs-attention"]})
        number = refund(client).data["id"]
        details = {"currency": "NGN", "account_number": "0123456789", "bank_id": "5"}

        def retry(**changes):
            path = f"/refund/retry_with_customer_details/{number}"
            return client.post(path, refund_account_details=details | changes)

        assert client.get(f"/refund/{number}").data["status"] == spelling
        assert client.deliver()[-1][1]["id"] == str(number)
        assert retry(bank_id="058").status == 400
        assert retry().data["status"] == "processing"
        client.simulator.advance(3)
        assert client.get(f"/refund/{number}").data["status"] == "processed"
        assert retry().status == 422


class TestDisputes:
    def test_reminds_and_accepts_automatically(self, paid):
        number = dispute(paid)
        assert paid.events() == ["charge.dispute.create"]

        for _ in range(4):
            paid.simulator.advance(4 * HOUR)

        told = paid.deliver()
        assert [event for event, _ in told] == ["charge.dispute.remind"] * 3 + ["charge.dispute.resolve"]
        assert told[-1][1]["resolution"] == "auto-accepted"
        assert paid.get(f"/dispute/{number}").data["dueAt"] == "2026-03-11T04:00:00.000Z"
        assert paid.verify().data["status"] == "reversed"
        assert paid.books()["lost_disputes"] == {str(number): 50_000}
        assert refund(paid).status == 400

    def test_merchant_accepts_a_part(self, paid):
        number = dispute(paid)

        ended = paid.put(
            f"/dispute/{number}/resolve",
            **ANSWER | {"resolution": "merchant-accepted", "refund_amount": 20_000},
        )

        assert (ended.data["status"], ended.data["resolution"]) == ("resolved", "merchant-accepted")
        assert paid.books()["lost_disputes"] == {str(number): 20_000}
        assert paid.put(f"/dispute/{number}/resolve", **ANSWER, resolution="declined").status == 400

    @pytest.mark.parametrize(
        ("resolution", "status"), [("declined", "success"), ("merchant-accepted", "reversed")]
    )
    def test_bank_decides_what_the_merchant_declines(self, paid, resolution, status):
        number = dispute(paid, category="fraud")
        declined = paid.put(f"/dispute/{number}/resolve", **ANSWER, resolution="declined")
        assert declined.data["status"] == "awaiting-bank-feedback"
        paid.simulator.advance(16 * HOUR)
        assert paid.get("/dispute", status="awaiting-bank-feedback").data[0]["id"] == number

        paid.command(decide={"id": number, "resolution": resolution})

        assert paid.deliver()[-1][1]["resolution"] == resolution
        assert paid.verify().data["status"] == status

    def test_evidence_and_files(self, paid):
        number = dispute(paid)
        url = paid.get(f"/dispute/{number}/upload_url", upload_filename="a.pdf").data
        path = url["signedUrl"].removeprefix("http://127.0.0.1:8587")

        assert paid.simulator.handle("PUT", path, {}, b"%PDF").status == 200
        assert paid.simulator.integration.uploads == {url["fileName"]: b"%PDF"}
        assert paid.post(f"/dispute/{number}/evidence", customer_email="a@b.co").status == 400

    def test_refusals(self, paid):
        number = dispute(paid)
        too_much = ANSWER | {"resolution": "merchant-accepted", "refund_amount": 50_001}

        assert paid.put(f"/dispute/{number}/resolve", **too_much).status == 400
        assert paid.put(f"/dispute/{number}/resolve", resolution="declined", message="No").status == 400
        assert paid.get("/dispute/1").status == 404


class TestSettlements:
    def test_deducts_fees_refunds_and_lost_disputes(self, paid):
        paid.charge(reference="disputed")
        number = paid.command(dispute={"reference": "disputed", "amount": 30_000})["dispute"]
        paid.command(decide={"id": number, "resolution": "auto-accepted"})
        refund(paid, amount=5_000)
        paid.simulator.advance(6)

        settlement = paid.command(settle=True)["settle"]

        [shown] = paid.get("/settlement").data
        names = ("total_processed", "total_fees", "deductions", "effective_amount")
        assert [shown[name] for name in names] == [100_000, 1_500, 35_000, 63_500]
        rows = paid.get(f"/settlement/{settlement}/transactions")
        assert {each["reference"] for each in rows.data} == {REFERENCE, "disputed"}
        assert rows.document["meta"]["total_volume"] == 100_000
        assert paid.books()["settled_to_bank"] == 63_500
        assert paid.get("/settlement", **{"from": "2026-03-11"}).data == []

    def test_deducts_the_rest_next_time(self, paid):
        paid.command(settle=True)
        refund(paid)
        paid.simulator.advance(6)
        paid.command(settle=True)
        paid.charge(reference="next", amount=80_000)
        paid.command(settle=True)

        assert [(each["deductions"], each["effective_amount"]) for each in paid.get("/settlement").data] == [
            (50_000, 28_800),
            (None, 0),
            (None, 49_250),
        ]

    def test_can_be_kept_in_the_balance(self):
        client = Client(variants={"settles_to": "balance"})
        client.charge()
        before = client.books()["balance"]
        client.command(settle=True)

        assert client.books()["balance"] == before + 49_250


def test_books_lose_no_money(paid):
    """Each amount that came in is on the balance, unsettled, settled, refunded, paid out, or a fee."""
    paid.charge(reference="second", amount=400_000)
    paid.command(script={"refund": ["pending failed", "processed", "pending"]})
    for amount in (1_000, 2_000, 3_000):
        refund(paid, amount=amount)
    paid.transfer(amount=70_000)
    paid.command(transfer={"reference": REFERENCE, "status": "reversed"})
    paid.transfer("another-reference-0001", amount=90_000)
    dispute(paid, amount=9_000)
    paid.simulator.advance(16 * HOUR)
    paid.command(settle=True)

    books = paid.books()

    came = 100_000_000 + 450_000 - sum(books["fees"].values())
    went = 2_000 + 3_000 + 9_000 + 90_000 + 1_000
    assert books["balance"] + books["unsettled"] + books["settled_to_bank"] == came - went
