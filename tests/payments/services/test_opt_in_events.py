"""Events that merchants opt in to: refunds, returned payouts, unapplied transfers and settlements."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments.models import CardOperation, InvalidState, Transaction
from payments.rails.protocol import RailAnswer
from payments.rules.outcomes import COMPLETED
from payments.services.payouts import payout_returns
from payments.services.payouts.payout_returns import ReturnNotice
from payments.services.settlement.batches import batch_decisions
from payments.services.transactions import operations
from payments.services.transactions.transitions import Cause
from tests import orders
from tests.batches import completed_batch
from tests.disputed import disputed
from tests.journals import debited_by_staff
from tests.opening import open_later
from tests.racing import racers
from tests.refunds import pay
from tests.settling import STAFF, decide, settle
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_endpoint
from webhooks.models import Category, Delivery

pytestmark = pytest.mark.django_db

OPT_IN = [category for category in Category if category not in {Category.PAYMENT, Category.PAYOUT}]


@pytest.fixture
def endpoint(ada):
    """An endpoint that is subscribed to all events."""
    return make_endpoint(business=ada.business, events=Category.values)


def events():
    """Return the envelopes of all opt-in deliveries, oldest first."""
    bodies = Delivery.objects.order_by("created_at", "id").values_list("body", flat=True)
    found = [json.loads(body) for body in bodies]
    return [each for each in found if each["event"] not in FIVE]


FIVE = {"payment.success", "payment.failed", "payment.mismatch", "payout.success", "payout.failed"}


def refund(api, payment, **order):
    return api.post(
        f"/api/payments/{payment}/refunds", {"reference": orders.new_reference("rf")} | order
    ).json()


def sent_payout(api):
    order = orders.payout(amount=250_000)
    api.post("/api/payments", order)
    return Transaction.objects.get(reference=order["reference"])


def return_payout(payout, amount, bank_reference="ret-1"):
    return payout_returns.receive(
        ReturnNotice(
            bank_reference=bank_reference,
            payout_reference=payout.pk.hex,
            amount=amount,
            currency=payout.currency,
            reason="Account closed",
        )
    )


@pytest.mark.usefixtures("endpoint")
class TestRefunds:
    def test_success_is_published_with_the_refund(self, api):
        shown = refund(api, pay(api), amount=20_000)

        (event,) = events()
        assert event["event"] == "refund.success"
        assert event["data"] == shown
        assert event["data"]["payment_reference"]

    def test_failure_is_published(self, api):
        refund(api, pay(api), amount=10_005)

        assert [event["event"] for event in events()] == ["refund.failed"]

    def test_unknown_refund_is_published_once_answered(self, api):
        refund(api, pay(api), amount=10_098)
        assert events() == []
        operation = CardOperation.objects.get(kind="refund")
        answer = RailAnswer(outcome=COMPLETED)

        for _ in range(2):
            operations.apply_answer(
                operation_id=operation.pk, answer=answer, cause=Cause.REQUERY, now=timezone.now()
            )

        (event,) = events()
        assert (event["event"], event["data"]["status"]) == ("refund.success", "success")

    def test_captures_are_not_published(self, api):
        order = orders.card_payment(capture=False)
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/capture", {"amount": 20_000})

        assert events() == []


@pytest.mark.usefixtures("endpoint")
class TestReversals:
    def test_each_return_is_published_with_the_payout(self, api):
        payout = sent_payout(api)

        return_payout(payout, 100_000, "ret-1")
        return_payout(payout, 150_000, "ret-2")
        return_payout(payout, 150_000, "ret-2")  # the bank repeats the notification

        first, second = events()
        assert {event["event"] for event in (first, second)} == {"payout.reversed"}
        assert first["data"]["reversal"]["amount"] == 100_000
        assert second["data"]["reversal"]["amount"] == 250_000
        assert second["data"]["reference"] == payout.reference
        assert second["data"]["status"] == "success"

    def test_reversal_by_staff_is_published(self, api):
        payout = sent_payout(api)

        payout_returns.reverse(
            transaction_id=payout.pk, reason="Account closed", actor=STAFF, now=timezone.now()
        )

        assert [event["event"] for event in events()] == ["payout.reversed"]

    def test_return_that_matches_nothing_is_not_published(self, api):
        payout = sent_payout(api)

        return_payout(payout, 250_001)

        assert events() == []


@pytest.mark.usefixtures("endpoint")
class TestUnappliedTransfers:
    def test_transfer_is_published_as_the_api_lists_it(self, ada, api):
        money = mismatched_money(business=ada.business, now=timezone.now())

        (event,) = events()
        (listed,) = api.get("/api/unapplied-transfers").json()["data"]
        assert event["event"] == "transfer.unapplied"
        assert event["data"] == listed
        assert event["data"]["id"] == str(money.pk)
        assert event["data"]["payment_reference"]

    def test_matching_transfer_is_not_published(self, api):
        account = api.post("/api/virtual-accounts", orders.static_account()).json()

        api.post(
            "/api/virtual-accounts/simulate",
            {"account_number": account["customer"]["account_number"], "amount": 50_000},
        )

        assert events() == []


@pytest.mark.usefixtures("endpoint")
class TestSettlements:
    def test_release_is_published_without_items(self, api):
        pay(api)

        batch = decide(*settle(), "approve", "release")

        (event,) = events()
        shown = api.get(f"/api/settlements/{batch.pk}").json()
        del shown["items"]
        assert event["event"] == "settlement.released"
        assert event["data"] == shown
        assert event["data"]["released_at"]


class TestSubscription:
    def everything_happens(self, api, business):
        reference = pay(api)
        refund(api, reference, amount=20_000)
        return_payout(sent_payout(api), 100_000, orders.new_reference("ret"))
        mismatched_money(business=business, now=timezone.now())
        open_later(business)
        completed_batch(business, orders.batch_item())
        disputed(Transaction.objects.get(reference=reference), amount=30_000)
        decide(*settle(), "approve", "release")
        debited_by_staff(business)

    def test_default_subscription_receives_the_five_kinds_only(self, ada, api):
        make_endpoint(business=ada.business)

        self.everything_happens(api, ada.business)

        assert events() == []
        assert Delivery.objects.count() == 4  # a payment, two payouts and a mismatch

    @pytest.mark.parametrize("category", OPT_IN)
    def test_one_category_receives_its_events_only(self, ada, api, category):
        make_endpoint(business=ada.business, events=[category])

        self.everything_happens(api, ada.business)

        (event,) = events()
        assert Delivery.objects.count() == 1
        assert event["event"] == EVENTS[category]

    def test_disabled_endpoint_holds_them(self, ada, api):
        make_endpoint(business=ada.business, events=["refund"], enabled=False)

        refund(api, pay(api), amount=20_000)

        assert [each.state for each in Delivery.objects.all()] == [Delivery.State.HELD]

    def test_other_business_receives_nothing(self, ada, api, bisi):
        make_endpoint(business=bisi.business, events=Category.values)

        self.everything_happens(api, ada.business)

        assert not Delivery.objects.exists()


EVENTS = {
    Category.REFUND: "refund.success",
    Category.REVERSAL: "payout.reversed",
    Category.UNAPPLIED: "transfer.unapplied",
    Category.SETTLEMENT: "settlement.released",
    Category.ACCOUNT: "account.active",
    Category.PAYOUT_BATCH: "payout_batch.completed",
    Category.DISPUTE: "dispute.opened",
    Category.BALANCE: "balance.adjusted",
}


class TestStatements:
    """In production, a business without a subscription needs no additional queries for these events.

    A sandbox also looks for listeners.
    """

    @pytest.fixture(autouse=True)
    def _production(self, settings):
        settings.SANDBOX = False

    def count(self, work):
        work()  # the first run fills caches
        with CaptureQueriesContext(connection) as captured:
            work()
        return [query["sql"] for query in captured.captured_queries]

    @pytest.mark.parametrize("order", [orders.card_payment, orders.payout])
    def test_payments_and_payouts_need_no_additional_query(self, ada, api, order):
        with_none = self.count(lambda: api.post("/api/payments", order()))
        make_endpoint(business=ada.business, events=["refund", "reversal", "unapplied", "settlement"])
        with_opt_in = self.count(lambda: api.post("/api/payments", order()))

        assert len(with_opt_in) == len(with_none)
        assert sum("webhooks_" in statement for statement in with_opt_in) == 1  # the endpoint, as always

    def test_refund_reads_the_endpoint_once_and_writes_nothing(self, ada, api):
        make_endpoint(business=ada.business)
        reference = pay(api, amount=500_000)

        statements = self.count(lambda: refund(api, reference, amount=20_000))

        assert [each.split()[0] for each in statements if "webhooks_" in each] == ["SELECT"]


class TestTransaction:
    def test_event_is_rolled_back_with_its_outcome(self, ada, api, endpoint, monkeypatch):
        payout = sent_payout(api)
        monkeypatch.setattr(payout_returns.ledger, "book", _fail)

        with pytest.raises(RuntimeError):
            return_payout(payout, 100_000)

        assert events() == []

    def test_an_outcome_has_at_most_one_per_endpoint(self, ada, endpoint):
        (only,) = (each for each in Delivery._meta.constraints if "subject" in getattr(each, "fields", ()))

        assert only.fields == ("subject", "endpoint_number")


def _fail(*_):
    raise RuntimeError


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_concurrent_answers_of_one_refund_publish_it_once(self, api, endpoint):
        refund(api, pay(api), amount=10_098)
        operation = CardOperation.objects.get(kind="refund")

        def answer():
            return operations.apply_answer(
                operation_id=operation.pk,
                answer=RailAnswer(outcome=COMPLETED),
                cause=Cause.REQUERY,
                now=timezone.now(),
            ).status

        with racers(4) as line:
            assert line.race(*[answer] * 4) == ["success"] * 4

        assert [event["event"] for event in events()] == ["refund.success"]

    def test_concurrent_returns_show_each_sum_once(self, api, endpoint):
        payout = sent_payout(api)
        calls = [
            (lambda place=place: return_payout(payout, 50_000, f"ret-{place}").resource.applied)
            for place in range(4)
        ]

        with racers(4) as line:
            assert line.race(*calls) == ["reversed"] * 4

        sums = sorted(event["data"]["reversal"]["amount"] for event in events())
        assert sums == [50_000, 100_000, 150_000, 200_000]

    def test_concurrent_releases_publish_it_once(self, api, endpoint):
        pay(api)
        (batch,) = settle()
        decide(batch, "approve")

        def release():
            return batch_decisions.release(batch.pk, actor=STAFF, now=timezone.now()).state

        with racers(2) as line:
            found = line.race(release, release)

        assert [isinstance(each, InvalidState) for each in found].count(True) == 1
        assert [event["event"] for event in events()] == ["settlement.released"]
