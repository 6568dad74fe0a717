"""Disputes at Paystack through the whole service: signed webhooks and requests in, rows and its books out."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from connectors.models import ProviderEvent
from connectors.paystack.api.client import PaystackClient
from connectors.paystack.disputes import PaystackDisputes
from connectors.services import event_processing
from disputes.models import AnswerSending, CaseQuery, Dispute, DisputeReport
from disputes.rails import dispute_rail
from disputes.rails.protocol import NoSuchCase, UnreadableCase
from disputes.services.rails import cases
from kit.connectors.http_client import HttpAnswer
from merchants.people.audit import Actor
from payments.models import RailChoice
from payments.rails import AnotherAccount
from payments.services.rails import rail_choices
from tests.connectors.paystack import documents
from tests.connectors.paystack.connected import paystack_connected
from tests.connectors.paystack.desk import Desk
from tests.connectors.paystack.shop import AMOUNT, Shop
from tests.disputed import add_file, declare_moved, disputed
from tests.uploads import PDF, PNG

pytestmark = pytest.mark.django_db


@pytest.fixture
def variants():
    """Return what Paystack does where its documents leave it open. Tests parametrise it."""
    return {}


@pytest.fixture
def desk(settings, api, variants, takes_cards):
    with paystack_connected(settings, api, standing_at=timezone.now(), **variants) as paystack:
        shop = Shop(paystack)
        shop.come_back(shop.enter(shop.go()))
        yield Desk(paystack, shop.payment)
    call_command("check_ledger")


@pytest.fixture
def dispute(desk):
    """Return the path of a dispute that awaits an answer."""
    desk.open(category="fraud")
    desk.deliver()
    return f"/api/disputes/{Dispute.objects.get().pk}"


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Return the bodies that are sent to Paystack about disputes, by path."""
    calls = []
    for name in ("post", "put"):
        real = getattr(PaystackClient, name)

        def recorded(self, path, document, *, real=real, name=name, **options):
            if path.startswith("/dispute/"):
                calls.append((name.upper(), "/dispute/{id}/" + path.split("/")[-1], document))
            return real(self, path, document, **options)

        monkeypatch.setattr(PaystackClient, name, recorded)
    yield calls
    assert not documents.are_here() or [documents.request_complaints(*call) for call in calls] == [[]] * len(
        calls
    )


def state():
    return list(Dispute.objects.order_by("id").values_list("stage", "status"))


class TestCase:
    def test_is_taken_after_its_webhook(self, desk):
        desk.open(category="fraud")

        desk.deliver()

        dispute = Dispute.objects.get()
        assert (dispute.transaction_id, dispute.case_number) == (desk.payment.pk, str(desk.case().id))
        assert (dispute.status, dispute.reason, dispute.network_reason) == (
            "needs_response",
            "fraudulent",
            "fraud",
        )
        assert (dispute.amount, dispute.currency) == (AMOUNT, "NGN")
        assert abs(dispute.respond_by - desk.case().due_at) < timedelta(seconds=1)

    def test_is_found_without_any_webhook(self, desk):
        desk.open()
        cases.query_due()

        desk.look_again()

        assert state() == [("chargeback", "needs_response")]

    def test_is_found_at_the_acquirer_that_a_business_has_chosen(self, desk, settings):
        rail_choices.choose(
            RailChoice(business=desk.payment.business, card_acquirer="paystack"),
            actor=Actor(name="test"),
            now=timezone.now(),
        )
        settings.CARD_ACQUIRER = "sandbox"
        desk.open()
        cases.query_due()

        desk.look_again()

        assert state() == [("chargeback", "needs_response")]

    def test_is_found_after_another_account_was_configured(self, desk):
        CaseQuery.objects.create(connector="paystack", account="paystack:1", next_at=timezone.now())
        desk.open()
        cases.query_due()

        desk.look_again()

        assert state() == [("chargeback", "needs_response")]

    def test_is_queried_after_its_account_was_declared_to_be_another_one(self, desk):
        declare_moved(desk.payment, former="paystack:1", present=desk.payment.account)

        assert dispute_rail("paystack", account="paystack:1").account == desk.payment.account
        with pytest.raises(AnotherAccount):
            dispute_rail("paystack", account="paystack:2")

    def test_from_before_its_account_moved_is_found_by_its_events(self, desk):
        declare_moved(desk.payment, former="paystack:1", present=desk.payment.account)
        desk.open()
        disputed(desk.payment, account="paystack:1", case_number=str(desk.case().id), amount=AMOUNT)
        desk.decide("declined")

        desk.deliver()

        assert state() == [("chargeback", "won")]
        ProviderEvent.objects.exclude(next_attempt_at=None).update(next_attempt_at=timezone.now())
        event_processing.process_due()
        event = ProviderEvent.objects.latest("received_at")
        assert (event.outcome, event.transaction) == ("dispute: closed", desk.payment)

    @pytest.mark.parametrize(
        ("resolution", "status"),
        [("declined", "won"), ("merchant-accepted", "accepted"), ("auto-accepted", "expired")],
    )
    def test_ends_as_the_bank_decides(self, desk, resolution, status):
        desk.open()
        desk.deliver()

        desk.decide(resolution)
        desk.deliver()

        assert state() == [("chargeback", status)]

    def test_that_ended_before_it_was_known_is_opened_and_closed(self, desk):
        desk.open()
        desk.decide("declined")

        desk.deliver()

        assert state() == [("chargeback", "won")]
        kinds = Dispute.objects.get().steps.values_list("kind", flat=True)
        assert sorted(kinds) == ["closed", "opened"]

    @pytest.mark.usefixtures("dispute")
    def test_that_expired_here_and_was_conceded_in_part_there_is_for_staff(self, desk):
        """The rest was never taken, so the business must not lose it unseen."""
        Dispute.objects.update(respond_by=timezone.now())
        call_command("expire_due")
        desk.case().amount = 20_000
        desk.decide("merchant-accepted")

        desk.deliver()
        desk.look_again()

        assert state() == [("chargeback", "expired")]
        report = DisputeReport.objects.exclude(why="").get()
        assert (report.why, report.amount_in_suspense) == ("contradiction", AMOUNT - 20_000)

    def test_repeated_webhooks_change_nothing(self, desk):
        desk.open()
        desk.deliver()
        desk.decide("declined")
        desk.deliver()

        desk.paystack.command(replay=True)
        desk.deliver()

        assert state() == [("chargeback", "won")]
        assert DisputeReport.objects.count() == 2

    def test_over_a_part_holds_that_part(self, desk):
        desk.open(amount=20_000)

        desk.deliver()

        assert Dispute.objects.get().amount == 20_000


class TestAnswer:
    def test_defence_is_sent_and_decided(self, api, desk, dispute, sent):
        api.post(f"{dispute}/evidence", {"kind": "delivery", "text": "Signed by Ada."})
        api.post(f"{dispute}/submit", {})

        desk.send()
        assert desk.case().status == "awaiting-bank-feedback"
        desk.decide("declined")
        desk.deliver()

        resolved = sent[-1][2]
        assert (resolved["resolution"], resolved["refund_amount"]) == ("declined", 0)
        assert "Signed by Ada." in resolved["message"]
        [file] = desk.paystack.simulator.integration.uploads.values()
        assert file.startswith(b"%PDF-")
        assert sending() == ("delivered", None)
        assert state() == [("chargeback", "won")]

    def test_file_of_the_business_is_sent(self, api, desk, dispute, sent):
        assert add_file(api, dispute, content=PDF).status_code == 201
        api.post(f"{dispute}/submit", {})

        desk.send()

        uploads = desk.paystack.simulator.integration.uploads
        assert uploads == {sent[-1][2]["uploaded_filename"]: PDF}

    def test_takes_one_file_and_no_png(self, api, dispute):
        assert add_file(api, dispute, content=PNG).status_code == 415
        assert add_file(api, dispute, content=PDF).status_code == 201
        assert add_file(api, dispute, content=PDF).status_code == 409

    @pytest.mark.parametrize(("conceded", "lost"), [({}, AMOUNT), ({"amount": 20_000}, 20_000)])
    def test_acceptance_is_sent(self, api, desk, dispute, conceded, lost):
        api.post(f"{dispute}/accept", conceded)

        desk.send()
        desk.deliver()

        assert (desk.case().resolution, desk.case().amount) == ("merchant-accepted", lost)
        assert sending() == ("delivered", None)
        assert state() == [("chargeback", "accepted")]
        assert DisputeReport.objects.exclude(why="").count() == 0
        desk.payment.refresh_from_db()
        assert desk.payment.amount_disputed == lost

    @pytest.mark.parametrize("answer", [("submit", {}), ("accept", {"amount": 20_000})])
    def test_whose_confirmation_is_lost_is_sent_once(self, api, desk, dispute, sent, answer):
        path, body = answer
        api.post(f"{dispute}/{path}", body)
        desk.paystack.plan("PUT /dispute: cut")

        desk.send()
        assert sending() == ("", "AnswerLost")
        desk.send()

        assert sending() == ("delivered", None)
        assert [path for _, path, _ in sent].count("/dispute/{id}/resolve") == 1

    def test_that_the_rate_limit_stops_is_sent_later(self, api, desk, dispute):
        """Such a call has no effect, so that the next one needn't wait until it has settled."""
        api.post(f"{dispute}/submit", {})
        desk.paystack.plan(*["PUT /dispute: refuse 429"] * 2)

        desk.send()
        assert (sending(), AnswerSending.objects.get().sent_at) == (("", "RateLimited"), None)
        desk.send()

        assert sending() == ("delivered", None)
        assert desk.case().status == "awaiting-bank-feedback"

    @pytest.mark.parametrize("variants", [{"declined_amount": "replaced"}])
    @pytest.mark.parametrize(
        ("resolution", "end"), [("declined", ("won", 0)), ("merchant-accepted", ("lost", AMOUNT))]
    )
    def test_whose_amount_replaces_the_disputed_one_ends_over_the_disputed_one(
        self, api, desk, dispute, resolution, end
    ):
        api.post(f"{dispute}/submit", {})
        desk.send()
        desk.look_again()
        desk.decide(resolution)
        desk.deliver()

        assert DisputeReport.objects.exclude(why="").count() == 0
        desk.payment.refresh_from_db()
        assert (Dispute.objects.get().status, desk.payment.amount_disputed) == end

    @pytest.mark.parametrize("variants", [{"answered_dispute": "pending"}])
    def test_that_may_have_arrived_is_not_sent_again(self, api, desk, dispute, sent):
        api.post(f"{dispute}/submit", {})
        desk.paystack.plan("PUT /dispute: cut")
        desk.send()
        AnswerSending.objects.update(sent_at=timezone.now() - timedelta(hours=1))

        desk.send()
        assert sending() == ("", "not confirmed yet")
        desk.decide("declined")
        desk.send()

        assert sending() == ("delivered", None)
        assert state() == [("chargeback", "won")]
        assert [path for _, path, _ in sent].count("/dispute/{id}/resolve") == 1

    def test_that_comes_too_late_loses(self, api, desk, dispute):
        api.post(f"{dispute}/submit", {})
        desk.decide("auto-accepted")

        desk.send()

        assert sending() == ("not_sent", None)
        assert state() == [("chargeback", "lost")]


def sending():
    found = AnswerSending.objects.get()
    return found.result, found.last_error or None


@pytest.mark.skipif(not documents.are_here(), reason=documents.MISSING)
class TestPublishedSamples:
    @pytest.fixture
    def ask(self, settings, monkeypatch):
        """Return a function that has Paystack answer with a published case, and asks about it."""
        settings.PAYSTACK_SECRET_KEY, settings.PAYSTACK_INTEGRATION = "sk_live_key", "463433"

        def answered(case, **changes):
            rail, payment = PaystackDisputes(), case["transaction"] | {"reference": "0" * 32}
            document = {"status": True, "message": "ok", "data": case | {"transaction": payment} | changes}
            answer = HttpAnswer(200, {}, json.dumps(document).encode())
            monkeypatch.setattr(rail._client._http, "call", lambda *_, **__: answer)
            return rail.case("624")

        return answered

    @pytest.mark.parametrize(
        ("event", "status", "amount", "conceded"),
        [
            ("charge.dispute.create", "needs_response", 5_800, None),
            ("charge.dispute.remind", "needs_response", 5_800, None),
            ("charge.dispute.resolve", "expired", 5_700, None),
        ],
    )
    def test_of_an_event_is_read(self, ask, event, status, amount, conceded):
        case = ask(documents.event(event)["data"])

        assert (case.reported.status, case.reported.amount, case.conceded) == (status, amount, conceded)
        assert case.reported.respond_by is not None

    def test_of_an_accepted_one_is_read(self, ask):
        case = ask(documents.sample("api.disputes.resolve", 200)["data"], domain="live")

        assert (case.reported.status, case.conceded) == ("accepted", 1_002)

    @pytest.mark.parametrize("resolution", ["declined", "merchant-accepted"])
    def test_without_an_amount_is_over_the_payment(self, ask, resolution):
        case = ask(
            documents.sample("api.disputes.resolve", 200)["data"],
            domain="live",
            resolution=resolution,
            refund_amount=0,
        )

        assert (case.reported.amount, case.conceded, case.tells_amount) == (39_100, None, False)

    def test_that_does_not_tell_how_it_ended_is_for_staff(self, ask):
        with pytest.raises(UnreadableCase, match="archived"):
            ask(documents.sample("api.disputes.fetch", 200)["data"], domain="live")

    @pytest.mark.parametrize("member", ["status", "resolution"])
    def test_with_a_list_in_place_of_a_text_is_for_staff(self, ask, member):
        with pytest.raises(UnreadableCase, match="isn't known"):
            ask(documents.event("charge.dispute.resolve")["data"], **{member: ["declined"]})

    def test_of_another_system_is_left_alone(self, ask):
        found = documents.sample("api.disputes.fetch", 200)["data"]

        with pytest.raises(NoSuchCase):
            ask(found, transaction=found["transaction"], domain="live")
