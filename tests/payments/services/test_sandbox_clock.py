"""POST /api/sandbox/advance triggers the event that a payment waits for."""

import json

import pytest

from ledger.invariants import check
from merchants.api import rate_limits
from merchants.models import AuditEntry
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, PayoutReturn, Transaction, WatchedAuthorisation
from tests import orders
from tests.by_refund_acquirer import APPROVED, BY_REFUND, DONE, LOST, REDIRECT, UNKNOWN, ByRefundAcquirer
from tests.racing import racers
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

PATH = "/api/sandbox/advance"
LOST_AMOUNT = 10_098


def create(api, order):
    answer = api.post("/api/payments", order)
    assert answer.status_code == 201, answer.content
    return answer.json()


def advance(api, reference):
    return api.post(PATH, {"payment": reference})


def refusal(answer):
    return answer.status_code, answer.json()["code"]


def challenged(api):
    return create(api, orders.card_payment(source=orders.card_source(pan=orders.CHALLENGED_CARD)))


def authorised(api):
    return create(api, orders.card_payment(capture=False))


def waiting_for_transfer(api):
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
    return create(api, orders.transfer_payment(account["id"]))


def lost_payment(api):
    return create(api, orders.card_payment(amount=LOST_AMOUNT))


def lost_payout(api):
    order = orders.payout()
    order["customer"] |= {"account_number": "0000000097"}
    return create(api, order)


def returnable_payout(api, **changes):
    order = orders.payout(**changes)
    order["customer"] |= {"account_number": "0000000096"}
    return create(api, order)


def lost_check(api):
    return create(api, orders.card_check())


WAITING = {
    "challenge": (challenged, "failed", "20151"),
    "authorisation": (authorised, "failed", "20068"),
    "session": (waiting_for_transfer, "failed", "20068"),
    "question": (lost_payment, "success", "10000"),
    "return": (returnable_payout, "success", "10000"),
}


def drift():
    return [one.invariant.name for one in check(INVARIANTS) if not one.holds]


class TestPayment:
    @pytest.mark.parametrize("advanced", WAITING)
    def test_gets_the_event_it_waits_for(self, api, advanced):
        make, status, code = WAITING[advanced]
        payment = make(api)

        answer = advance(api, payment["reference"])

        shown = answer.json()
        assert answer.status_code == 200, answer.content
        assert (shown.pop("advanced"), shown["status"], shown["response_code"]) == (advanced, status, code)
        assert shown == api.get(f"/api/payments/{payment['reference']}").json()

    @pytest.mark.parametrize("advanced", WAITING)
    def test_is_advanced_once_with_at_most_one_event(self, api, ada, advanced):
        make_endpoint(business=ada.business)
        payment = WAITING[advanced][0](api)
        advance(api, payment["reference"])
        before = Transaction.objects.values().get()

        again = advance(api, payment["reference"])

        assert (again.status_code, again.json()["code"]) == (409, "invalid_state")
        assert Transaction.objects.values().get() == before
        assert Delivery.objects.count() == 1

    @pytest.mark.parametrize("advanced", WAITING)
    def test_is_in_the_audit_trail(self, api, ada, advanced):
        payment = WAITING[advanced][0](api)

        advance(api, payment["reference"])

        entry = AuditEntry.objects.get(action="sandbox.advanced")
        assert (entry.actor, entry.target, entry.after) == (
            ada.public_id, payment["reference"], {"advanced": advanced},
        )  # fmt: skip
        assert entry.business == ada.business

    @pytest.mark.parametrize(
        "order", [orders.card_payment(), orders.payout(), orders.payout(amount=250_051), orders.card_check()]
    )
    def test_that_waits_for_nothing_is_refused(self, api, order):
        payment = create(api, order)

        answer = advance(api, payment["reference"])

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
        assert not AuditEntry.objects.filter(action="sandbox.advanced").exists()

    def test_of_another_business_is_unknown(self, api, other_api):
        payment = challenged(api)

        assert advance(other_api, payment["reference"]).status_code == 404
        assert Transaction.objects.get().status == "pending"

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"payment": 7},
            {"payment": "a b"},
            {"event": "a"},
            {"event": None},
            {"day": "initiated"},
            {"dya": "x"},
        ],
    )
    def test_or_another_subject_is_required(self, api, body):
        assert api.post(PATH, body).status_code == 400

    def test_is_advanced_alone(self, api):
        payment = challenged(api)

        answer = api.post(PATH, {"payment": payment["reference"], "day": "released"})

        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
        assert {error["field"] for error in answer.json()["errors"]} == {"payment", "day"}
        assert api.get(f"/api/payments/{payment['reference']}").json()["status"] == "pending"

    def test_is_not_advanced_in_production(self, api, settings):
        payment = challenged(api)
        settings.SANDBOX = False

        for body in ({"payment": payment["reference"]}, b"{"):
            answer = api.post(PATH, body)
            assert (answer.status_code, answer.json()["code"]) == (403, "sandbox_only")


class TestLostAnswer:
    def test_of_a_payout_is_queried(self, api):
        payout = lost_payout(api)

        assert advance(api, payout["reference"]).json()["status"] == "success"

    @pytest.mark.parametrize("kind", ["capture", "refund"])
    def test_of_an_operation_is_queried(self, api, kind):
        payment = create(api, orders.card_payment(amount=50_000, capture=kind == "refund"))
        path = {"capture": "capture", "refund": "refunds"}[kind]
        body = {"amount": LOST_AMOUNT} | ({"reference": "refund-1"} if kind == "refund" else {})
        api.post(f"/api/payments/{payment['reference']}/{path}", body)
        assert CardOperation.objects.get().status == "pending"

        answer = advance(api, payment["reference"])

        assert (answer.status_code, answer.json()["advanced"]) == (200, "question")
        assert CardOperation.objects.get().status == "success"

    def test_is_queried_before_the_authorisation_expires(self, api):
        payment = authorised(api)
        api.post(f"/api/payments/{payment['reference']}/capture", {"amount": LOST_AMOUNT})

        shown = advance(api, payment["reference"]).json()

        assert (shown["advanced"], shown["status"], shown["total_amount_captured"]) == (
            "question", "success", LOST_AMOUNT,
        )  # fmt: skip


class TestReturn:
    def test_credits_the_wallet_and_keeps_the_status(self, api):
        payout = returnable_payout(api)

        shown = advance(api, payout["reference"]).json()

        assert (shown["status"], shown["reversal"]["amount"], shown["reversal"]["reason"]) == (
            "success", 250_000, "Account closed",
        )  # fmt: skip
        assert PayoutReturn.objects.get().bank_reference.startswith("sandbox-")
        assert api.get("/api/balance").json()["data"][0]["available"] == -1_000

    @pytest.mark.parametrize("ending", [5, 51, 91])
    def test_account_succeeds_at_any_amount(self, api, ending):
        assert returnable_payout(api, amount=250_000 + ending)["status"] == "success"

    def test_of_a_payout_to_another_account_is_refused(self, api):
        payout = create(api, orders.payout())

        assert advance(api, payout["reference"]).status_code == 409


def test_does_not_expire_the_session_of_another_payment(api):
    """Expiring a session leaves other sessions of the same account unchanged."""
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
    first, second = (create(api, orders.transfer_payment(account["id"])) for _ in range(2))

    advance(api, second["reference"])

    assert api.get(f"/api/payments/{first['reference']}").json()["status"] == "pending"


@pytest.mark.parametrize("advanced", WAITING)
def test_leaves_a_valid_ledger(api, advanced):
    payment = WAITING[advanced][0](api)
    advance(api, payment["reference"])

    assert not drift()


@pytest.mark.django_db(transaction=True)
class TestRaces:
    """Each test fails without the lock or lease, because several calls would return 200."""

    @pytest.mark.long
    @pytest.mark.sqlite
    @pytest.mark.parametrize("advanced", WAITING)
    def test_of_fifty_calls_one_advances(self, api, ada, advanced, monkeypatch):
        monkeypatch.setattr(rate_limits, "SANDBOX_CALLS", 50)
        make_endpoint(business=ada.business)
        payment = WAITING[advanced][0](api)

        with racers(10) as line:
            answers = [
                answer
                for _ in range(5)
                for answer in line.race(*[lambda: advance(api, payment["reference"])] * 10)
            ]

        assert sorted(answer.status_code for answer in answers) == [200] + [409] * 49
        assert AuditEntry.objects.filter(action="sandbox.advanced").count() == 1
        events = [json.loads(sent.body)["event"] for sent in Delivery.objects.all()]
        assert len(events) == 1
        assert not drift()


class TestUntilWatch:
    @pytest.fixture
    def acquirer(self, settings):
        settings.CARD_ACQUIRER = BY_REFUND
        ByRefundAcquirer.begin()
        ByRefundAcquirer.answers("authorise", LOST)
        ByRefundAcquirer.answers("query", UNKNOWN)
        ByRefundAcquirer.answers("reverse", DONE)
        return ByRefundAcquirer

    def advance(self, api, payment):
        return api.post(PATH, {"payment": payment["reference"], "until": "watch"})

    def test_fails_a_payment_without_a_record_and_then_looks(self, api, acquirer):
        payment = create(api, orders.card_payment())

        failed = self.advance(api, payment)
        looked = self.advance(api, payment)
        acquirer.answers("query", APPROVED)
        found = self.advance(api, payment)
        over = self.advance(api, payment)

        assert [one.json()["advanced"] for one in (failed, looked, found)] == ["watch"] * 3
        assert failed.json()["response_code"] == "20030"
        assert WatchedAuthorisation.objects.get().returned_at is not None
        assert acquirer.count("reverse") == 1
        assert refusal(over) == (409, "invalid_state")
        assert AuditEntry.objects.filter(action="sandbox.advanced").count() == 3

    def test_passes_the_time_of_a_payer_at_the_provider(self, api, acquirer):
        acquirer.answers("authorise", REDIRECT)
        acquirer.answers("query", REDIRECT)
        payment = create(api, orders.card_payment())

        answer = self.advance(api, payment)

        assert (answer.json()["advanced"], answer.json()["response_code"]) == ("watch", "20030")

    def test_tells_of_an_outcome_instead(self, api, acquirer):
        acquirer.answers("query", APPROVED)
        payment = create(api, orders.card_payment())

        answer = self.advance(api, payment)

        assert (answer.json()["advanced"], answer.json()["status"]) == ("question", "success")

    @pytest.mark.parametrize("state", [lost_payment, challenged, lost_payout])
    def test_is_refused_where_nothing_is_watched(self, api, state):
        assert refusal(self.advance(api, state(api))) == (409, "invalid_state")

    @pytest.mark.parametrize(
        "body",
        [{"day": "released", "until": "watch"}, {"until": "watch"}, {"payment": "x", "until": "success"}],
    )
    def test_is_refused_for_anything_but_a_payment(self, api, body):
        answer = api.post(PATH, body)

        assert (answer.status_code, [one["field"] for one in answer.json()["errors"]]) == (400, ["until"])
