"""The disputes API, from a payment of the sandbox that is disputed to its end."""

import hashlib
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from disputes.models import Dispute, DisputeFile
from disputes.services.answers import answers
from disputes.services.answers.packet import PARTS
from merchants.models import ApiKey
from merchants.people.audit import Actor
from payments.models import InvalidState
from payments.rules.words.dispute_words import Stage
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.disputed import disputed, payment_of
from tests.factories import ApiKeyFactory
from tests.uploads import PDF, PNG
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

DISPUTED = 50_077


def advance(api, name):
    return api.post("/api/sandbox/advance", {"payment": name})


@pytest.fixture
def dispute(api):
    """A dispute of the sandbox, as the API shows it."""
    payment = payment_of(api, amount=DISPUTED)
    assert advance(api, payment.reference).json()["advanced"] == "dispute"
    (shown,) = api.get(f"/api/disputes?payment={payment.reference}").json()["data"]
    return shown


def path(dispute, *parts):
    return "/".join([f"/api/disputes/{dispute['id']}", *parts])


def upload(api, dispute, content=PNG, *, kind="receipt", name="receipt.png", content_type="image/png"):
    return api.send(
        "POST",
        path(dispute, f"files?kind={kind}"),
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def refusal(answer):
    return answer.status_code, answer.json()["code"]


def answered(api, dispute, text):
    assert api.post(path(dispute, "evidence"), {"kind": "delivery", "text": text}).status_code == 201
    return api.post(path(dispute, "submit"), {})


class TestSandbox:
    def test_opens_a_dispute_that_ends_by_its_evidence(self, api, dispute):
        make_endpoint(business=Dispute.objects.get().business, events=["dispute"])
        assert (dispute["stage"], dispute["reason"], dispute["status"]) == (
            "chargeback",
            "fraudulent",
            "needs_response",
        )
        assert dispute["amount"] == DISPUTED
        assert answered(api, dispute, "win").json()["status"] == "under_review"

        assert advance(api, dispute["case_number"]).json()["advanced"] == "dispute"

        shown = api.get(path(dispute)).json()
        assert (shown["status"], shown["outcome_amount"]) == ("won", DISPUTED)
        events = list(Delivery.objects.order_by("created_at").values_list("event", flat=True))
        assert events == ["dispute.updated", "dispute.closed"]
        assert refusal(advance(api, dispute["payment_reference"])) == (409, "invalid_state")

    def test_expires_without_an_answer(self, api, dispute):
        advance(api, dispute["id"])

        assert api.get(path(dispute)).json()["status"] == "expired"
        shown = api.get(f"/api/payments/{dispute['payment_reference']}").json()
        assert (shown["status"], shown["amount_disputed"]) == ("success", DISPUTED)
        assert shown["disputes"][0]["status"] == "expired"

    def test_escalates_to_the_next_stage(self, api, dispute):
        answered(api, dispute, "escalate")
        make_endpoint(business=Dispute.objects.get().business, events=["dispute"])
        advance(api, dispute["payment_reference"])

        assert sorted(Delivery.objects.values_list("event", flat=True)) == [
            "dispute.closed",
            "dispute.opened",
        ]
        later, earlier = api.get("/api/disputes").json()["data"]
        assert (earlier["status"], later["stage"], later["previous"]) == (
            "won",
            "pre_arbitration",
            dispute["id"],
        )

    def test_decides_a_case_that_a_file_reported(self, api):
        dispute = disputed(payment_of(api), case_number="CB-7", amount=10_000)
        for text in ("escalate", "win"):
            answered(api, {"id": dispute.pk}, text)
            assert advance(api, "CB-7").json()["advanced"] == "dispute"
            dispute = Dispute.objects.latest("id")

        shown = api.get("/api/disputes").json()["data"]

        assert [(each["stage"], each["status"], each["amount"]) for each in shown] == [
            ("pre_arbitration", "won", 10_000),
            ("chargeback", "won", 10_000),
        ]
        assert {each["case_number"] for each in shown} == {"CB-7"}

    def test_advances_the_dispute_that_is_named(self, api):
        """Of two open cases of a payment, a name means one. The payment's reference means the newest that is open."""
        payment = payment_of(api)
        cases = ("CB-1", "CB-2", "CB-3", "CB-4")
        ids = {case: disputed(payment, case_number=case, amount=10_000).pk for case in cases}

        def ended():
            return {each["case_number"] for each in api.get("/api/disputes?status=expired").json()["data"]}

        for name, expected in (
            ("CB-1", {"CB-1"}),
            (str(ids["CB-4"]), {"CB-1", "CB-4"}),
            (payment.reference, {"CB-1", "CB-3", "CB-4"}),
        ):
            assert advance(api, name).json()["advanced"] == "dispute"
            assert ended() == expected
        assert refusal(advance(api, "CB-1")) == (409, "invalid_state")
        assert ended() == {"CB-1", "CB-3", "CB-4"}

    def test_advances_the_later_stage_of_the_dispute_that_is_named(self, api, dispute):
        answered(api, dispute, "escalate")
        advance(api, dispute["id"])

        assert advance(api, dispute["id"]).json()["advanced"] == "dispute"

        later, earlier = api.get("/api/disputes").json()["data"]
        assert (later["status"], earlier["status"]) == ("expired", "won")

    def test_comes_after_what_the_payment_waits_for(self, api):
        order = orders.card_payment(amount=DISPUTED, capture=False)
        api.post("/api/payments", order)
        assert advance(api, order["reference"]).json()["advanced"] == "authorisation"
        assert refusal(advance(api, order["reference"])) == (409, "invalid_state")

    def test_disputes_what_was_captured(self, api):
        order = orders.card_payment(amount=DISPUTED, capture=False)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/capture", {"amount": 20_000})

        (shown,) = advance(api, order["reference"]).json()["disputes"]

        assert shown["amount"] == 20_000

    def test_gives_seven_days(self, dispute):
        opened, until = (datetime.fromisoformat(dispute[name]) for name in ("opened_at", "respond_by"))
        assert until - opened == timedelta(days=7)

    def test_decides_by_the_last_text_that_is_exactly_a_word(self, api, dispute):
        for text in ("lose", "win", "Please let us win", "LOSE"):
            api.post(path(dispute, "evidence"), {"kind": "other", "text": text})
        api.post(path(dispute, "submit"), {})

        advance(api, dispute["id"])

        assert api.get(path(dispute)).json()["status"] == "won"

    def test_loses_without_a_word(self, api, dispute):
        answered(api, dispute, "We sent it.")
        advance(api, dispute["payment_reference"])
        assert api.get(path(dispute)).json()["status"] == "lost"

    def test_needs_the_ending_of_the_amount(self, api):
        assert refusal(advance(api, payment_of(api).reference)) == (409, "invalid_state")


class TestEvidence:
    def test_takes_texts_and_files_until_the_submission(self, api, dispute):
        text = api.post(
            path(dispute, "evidence"), {"kind": "delivery", "text": "Card 4084084084084081"}
        ).json()
        file = upload(api, dispute).json()

        assert text["text"] == "Card 408408******4081"
        assert file == file | {
            "kind": "receipt",
            "name": "receipt.png",
            "type": "image/png",
            "size": len(PNG),
            "sha256": hashlib.sha256(PNG).hexdigest(),
        }
        sent = api.get(path(dispute, "files", file["id"]))
        assert sent.content == PNG
        assert sent.headers["Content-Disposition"].startswith("attachment")
        assert sent.headers["X-Content-Type-Options"] == "nosniff"
        assert api.send("DELETE", path(dispute, "evidence", text["id"])).status_code == 204
        assert [item["id"] for item in api.get(path(dispute)).json()["evidence"]] == [file["id"]]

        api.post(path(dispute, "submit"), {})

        assert refusal(upload(api, dispute)) == (409, "invalid_state")
        assert refusal(api.send("DELETE", path(dispute, "evidence", file["id"]))) == (409, "invalid_state")

    def test_refuses_hostile_files(self, api, dispute, subtests):
        for content, name, expected in (
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "picture.png", (415, "unsupported_media_type")),
            (b"GIF89a" + PNG, "picture.png", (415, "unsupported_media_type")),
            (b"", "empty.pdf", (415, "unsupported_media_type")),
            (PDF + b"0" * 4 * 1024 * 1024, "large.pdf", (413, "body_too_large")),
        ):
            with subtests.test(name):
                assert refusal(upload(api, dispute, content, name=name)) == expected
        too_large = upload(api, dispute, PDF + b"0" * 4 * 1024 * 1024).json()
        assert "A file of a dispute has at most 4 MiB." in too_large["detail"]
        assert upload(api, dispute, b"<svg/>").json()["title"] == "The body has another media type"
        assert not DisputeFile.objects.exists()
        assert refusal(upload(api, dispute, kind="nonsense")) == (400, "invalid_request")

    def test_stores_names_without_paths_and_types_by_content(self, api, dispute):
        shown = upload(api, dispute, PDF, name="../../etc/pass\\wd.html", content_type="text/html").json()
        assert (shown["name"], shown["type"]) == ("wd.pdf", "application/pdf")

    def test_takes_texts_of_1_to_3_000_characters(self, api, dispute):
        for text, expected in (("", 400), ("é", 201), ("é" * 3_000, 201), ("é" * 3_001, 400)):
            answer = api.post(path(dispute, "evidence"), {"kind": "delivery", "text": text})
            assert answer.status_code == expected, len(text)

    def test_takes_ten_files(self, api, dispute):
        for _ in range(10):
            assert upload(api, dispute).status_code == 201
        assert refusal(upload(api, dispute)) == (409, "invalid_state")


class TestSubmission:
    def test_repeats_and_is_final(self, api, dispute):
        first = answered(api, dispute, "We sent it.")
        again = api.post(path(dispute, "submit"), {})

        assert "Idempotent-Replayed" not in first.headers
        assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
        assert refusal(api.post(path(dispute, "submit"), {"leave_out": ["receipt"]})) == (
            409,
            "invalid_state",
        )
        assert refusal(api.post(path(dispute, "accept"), {})) == (409, "invalid_state")

    def test_needs_something_to_submit(self, api, dispute):
        all_that_there_is = ["payment", "receipt"]
        for left_out in (list(PARTS), all_that_there_is):
            answer = api.post(path(dispute, "submit"), {"leave_out": left_out})
            assert refusal(answer) == (409, "invalid_state")
        assert api.post(path(dispute, "submit"), {"leave_out": ["receipt"]}).status_code == 200

    def test_is_refused_from_the_deadline_on(self, api, dispute):
        respond_by = Dispute.objects.get().respond_by
        for act in (answers.submit, answers.accept):
            with pytest.raises(InvalidState):
                act(dispute["id"], actor=Actor(name="test"), clock=lambda: respond_by)
        assert Dispute.objects.get().status == "needs_response"

    def test_needs_a_key_with_write_access(self, ada, api, dispute):
        key = ApiKeyFactory(business=ada.business, access=ApiKey.Access.READ_ONLY)
        reader = InProcessClient(Credentials(key.public_id, key.secret))
        item = api.post(path(dispute, "evidence"), {"kind": "other", "text": "x"}).json()["id"]
        assert reader.get(path(dispute)).status_code == 200
        for answer in (
            reader.post(path(dispute, "evidence"), {"kind": "other", "text": "x"}),
            reader.send("DELETE", path(dispute, "evidence", item)),
            upload(reader, dispute),
            reader.post(path(dispute, "submit"), {}),
            reader.post(path(dispute, "accept"), {}),
        ):
            assert refusal(answer) == (403, "key_may_not_write")


class TestAcceptance:
    def test_of_a_part_gives_the_rest_back(self, api, dispute):
        shown = api.post(path(dispute, "accept"), {"amount": 20_000}).json()

        assert (shown["status"], shown["outcome_amount"]) == ("accepted", DISPUTED - 20_000)
        assert api.post(path(dispute, "accept"), {"amount": 20_000}).headers["Idempotent-Replayed"] == "true"
        assert refusal(api.post(path(dispute, "accept"), {})) == (409, "invalid_state")
        payment = api.get(f"/api/payments/{dispute['payment_reference']}").json()
        assert payment["amount_disputed"] == 20_000
        assert payment["total_amount_available_to_refund"] == DISPUTED - 20_000

    def test_is_refused_above_the_amount_and_of_inquiries(self, api, dispute):
        too_much = api.post(path(dispute, "accept"), {"amount": DISPUTED + 1})
        assert refusal(too_much) == (400, "amount_too_large")
        inquiry = disputed(payment_of(api), stage=Stage.INQUIRY)
        assert refusal(api.post(path({"id": inquiry.pk}, "accept"), {})) == (409, "invalid_state")


class TestList:
    def test_filters(self, api, dispute):
        other = disputed(payment_of(api), respond_by=timezone.now() + timedelta(days=30))
        soon = (timezone.now() + timedelta(days=8)).strftime("%Y-%m-%dT%H:%M:%SZ")

        def ids(query):
            return [each["id"] for each in api.get(f"/api/disputes?{query}").json()["data"]]

        assert ids("status=needs_response") == [str(other.pk), dispute["id"]]
        assert ids(f"due_before={soon}") == ids(f"due_before={dispute['respond_by']}") == [dispute["id"]]
        assert ids(f"payment={dispute['payment_reference']}") == [dispute["id"]]
        assert ids("stage=inquiry") == []
        api.post(path(dispute, "accept"), {})
        assert ids(f"due_before={soon}") == []

    def test_is_of_ones_own_disputes(self, other_api, dispute):
        assert other_api.get("/api/disputes").json()["data"] == []
        for answer in (
            other_api.get(path(dispute)),
            other_api.post(path(dispute, "submit"), {}),
            upload(other_api, dispute),
        ):
            assert answer.status_code == 404
