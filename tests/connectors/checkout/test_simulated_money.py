import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from connectors.checkout.simulator.simulator import Simulator
from payments.simulators.clock import Clock

DAY = 24 * 3600


@pytest.fixture
def simulator(inbox):
    start = datetime(2026, 3, 10, 12, tzinfo=UTC)
    made = Simulator(seed="a test's", sender=inbox, clock=Clock(start))
    made.outbox.notify("https://merchant.example/webhooks", "webhook-key")
    return made


def download(client, report):
    status, location = client.get(f"/reports/{report['id']}/files/{report['files'][0]['id']}"), None
    assert status[0] == 302
    headers = {"Authorization": f"Bearer {client.simulator.identity.secret_key}"}
    path = f"/reports/{report['id']}/files/{report['files'][0]['id']}"
    location = client.simulator.handle("GET", path, headers, b"").headers["Location"]
    path = location.removeprefix(client.simulator.account.base_url)
    assert client.get(path)[0] == 400  # with our key
    answer = client.simulator.handle("GET", path, {}, b"")
    assert answer.status == 200
    return list(csv.DictReader(io.StringIO(answer.body.decode())))


class TestReports:
    def test_split_a_capture_into_amount_and_fees(self, client):
        client.paid(amount=10_000, reference="ref")
        client.pass_time(DAY)
        reports = {one["type"]: one for one in client.get("/reports")[1]["data"]}

        rows = download(client, reports["FinancialActionsByPayoutId"])

        parts = [
            (row["Breakdown Type"], row["Processing Currency Amount"])
            for row in rows
            if row["Action Type"] == "Capture"
        ]
        assert parts == [
            ("Capture", "100"),
            ("Interchange Fee", "-1.15"),
            ("Scheme Variable Fee", "-0.123457"),
            ("Scheme Fixed Fee", "-0.01953694"),
        ]

    def test_come_in_pages(self, client):
        client.paid()
        client.pass_time(DAY)

        first = client.get("/reports?limit=1")[1]
        path = first["_links"]["next"]["href"].removeprefix(client.simulator.account.base_url)
        second = client.get(path)[1]

        assert {one["type"] for one in first["data"] + second["data"]} == {
            "FinancialActionsByPayoutId",
            "Payouts",
        }
        assert "next" not in second["_links"]

    def test_pay_out_each_day_with_every_part(self, client, simulator):
        payment = client.paid(amount=10_000)
        client.post(f"/payments/{payment}/refunds", {"amount": 4000})
        client.pass_time(1)
        assert client.get("/reports")[1]["data"] == []

        client.pass_time(DAY)
        reports = {one["type"]: one for one in client.get("/reports")[1]["data"]}

        rows = download(client, reports["FinancialActionsByPayoutId"])
        [payout] = download(client, reports["Payouts"])
        [settled] = simulator.ledger.payouts
        total = sum(Decimal(row["Holding Currency Amount"]) for row in rows)
        assert {row["Payout ID"] for row in rows} == {payout["Payout ID"]}
        assert settled.amount == Decimal(payout["Payout Amount"])
        assert 0 <= total - settled.amount < Decimal("0.01")
        assert (payout["Payments"], payout["Refunds"]) == ("100.00", "-40.00")

    def test_are_found_by_day(self, client):
        client.paid()
        client.pass_time(DAY)

        assert (
            client.get("/reports?created_after=2026-03-11T00:00:00&created_before=2026-03-12T00:00:00Z")[1][
                "count"
            ]
            == 2
        )
        assert client.get("/reports?created_after=2026-03-12T00:00:00Z")[1]["count"] == 0
        assert client.get("/reports?created_after=yesterday")[0] == 422
        assert client.get("/reports/rpt_none")[1]["error_codes"] == ["report_not_found"]


class TestBooks:
    def test_show_each_payment_and_balance(self, client, simulator):
        payment = client.paid(amount=10_000, reference="ref")
        client.post(f"/payments/{payment}/refunds", {"amount": 2500})
        client.pass_time(DAY)
        simulator.ledger.settle()

        books = simulator.books()

        assert books["payments"][payment] == {
            "reference": "ref",
            "currency": "NGN",
            "status": "Partially Refunded",
            "authorized": 10_000,
            "reserved": 0,
            "charged": 10_000,
            "voided": 0,
            "refunded": 2500,
            "disputed": 0,
        }
        line = books["balances"]["NGN"]
        assert line["gross"] == Decimal("75.00")
        assert 0 <= line["gross"] - line["fees"] - line["paid_out"] < Decimal("0.01")


class TestDisputes:
    @pytest.fixture
    def dispute(self, client, simulator):
        payment = client.paid(amount=10_000, reference="ref")
        return simulator.disputes.open(simulator.account.payments[payment])

    def status(self, client, dispute):
        return client.get(f"/disputes/{dispute.id}")[1]["status"]

    def disputed(self, simulator, dispute):
        return simulator.books()["payments"][dispute.payment]["disputed"]

    def submit(self, client, dispute, text):
        evidence = {"additional_evidence_text": text}
        assert client.call("PUT", f"/disputes/{dispute.id}/evidence", evidence)[0] == 204
        assert client.post(f"/disputes/{dispute.id}/evidence")[0] == 204

    def test_takes_amount_and_fee_at_once(self, client, simulator, dispute, inbox):
        [found] = client.get("/disputes?payment_reference=ref&statuses=evidence_required,won")[1]["data"]

        assert (found["id"], found["amount"], found["category"]) == (dispute.id, 10_000, "fraudulent")
        assert self.disputed(simulator, dispute) == 10_000
        assert simulator.ledger.entries[-1].net == Decimal(-115)
        kinds = [one.type for one in simulator.outbox.events]
        assert kinds[-2:] == ["dispute_received", "dispute_evidence_required"]

    @pytest.mark.parametrize(
        ("text", "status", "disputed"),
        [
            ("win", "won", 0),
            ("lose", "lost", 10_000),
            ("a receipt", "won", 0),
            ("escalate", "arbitration_under_review", 10_000),
        ],
    )
    def test_is_decided_by_the_evidence(self, client, dispute, text, status, disputed):
        self.submit(client, dispute, text)
        assert self.status(client, dispute) == "evidence_under_review"

        client.pass_time(60)

        assert self.status(client, dispute) == status
        assert self.disputed(client.simulator, dispute) == disputed

    def test_is_decided_again_in_arbitration(self, client, simulator, dispute):
        self.submit(client, dispute, "escalate")
        client.pass_time(60)
        client.call("PUT", f"/disputes/{dispute.id}/evidence", {"additional_evidence_text": "lose"})

        assert client.post(f"/disputes/{dispute.id}/evidence/arbitration")[0] == 204
        client.pass_time(60)

        assert self.status(client, dispute) == "arbitration_lost"
        assert self.disputed(simulator, dispute) == 10_000

    def test_is_answered_once(self, client, dispute):
        assert client.post(f"/disputes/{dispute.id}/evidence")[0] == 422  # there is none
        self.submit(client, dispute, "win")

        assert client.post(f"/disputes/{dispute.id}/evidence")[0] == 422
        assert client.post(f"/disputes/{dispute.id}/accept")[0] == 422

    def test_is_accepted(self, client, simulator, dispute):
        assert client.post(f"/disputes/{dispute.id}/accept")[0] == 204
        assert self.status(client, dispute) == "accepted"
        assert self.disputed(simulator, dispute) == 10_000

    def test_expires_unanswered(self, client, dispute):
        client.pass_time(7 * DAY)

        assert self.status(client, dispute) == "expired"

    def test_of_a_refunded_payment_is_resolved(self, client, simulator):
        payment = client.paid()
        client.post(f"/payments/{payment}/refunds")
        client.pass_time(1)

        dispute = simulator.disputes.open(simulator.account.payments[payment])

        assert (dispute.status, dispute.resolved_reason) == ("resolved", "already_refunded")
        assert self.disputed(simulator, dispute) == 0

    def test_follows_the_capture_of_a_test_card(self, client):
        payment = client.paid(amount=1040, currency="GBP", source={"expiry_month": 1, "expiry_year": 2099})

        client.pass_time(300)

        [found] = client.get(f"/disputes?payment_id={payment}")[1]["data"]
        assert found["reason_code"] == "10.4"

    def test_takes_files_as_evidence(self, client, simulator, dispute):
        form = (
            b'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\ndispute_evidence\r\n'
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="r.pdf"\r\n'
            b"Content-Type: application/pdf\r\n\r\n%PDF-1.7\r\n--x--\r\n"
        )
        headers = {
            "Authorization": f"Bearer {simulator.identity.secret_key}",
            "Content-Type": "multipart/form-data; boundary=x",
        }
        made = simulator.handle("POST", "/files", headers, form)
        [(file, upload)] = simulator.account.uploads.items()
        assert (made.status, upload.filename) == (200, "r.pdf")

        put = client.call("PUT", f"/disputes/{dispute.id}/evidence", {"invoice_or_receipt_file": file})

        assert put[0] == 204
        assert client.get(f"/disputes/{dispute.id}/evidence")[1] == {"invoice_or_receipt_file": file}
        assert simulator.handle("POST", "/files", headers, form.replace(b"dispute_e", b"e")).status == 422

    @pytest.mark.parametrize(
        "evidence", [{}, {"additional_evidence_text": "x" * 501}, {"additional_evidence_file": "file_none"}]
    )
    def test_refuses_other_evidence(self, client, dispute, evidence):
        assert client.call("PUT", f"/disputes/{dispute.id}/evidence", evidence)[0] == 422
