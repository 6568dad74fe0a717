"""Attempts at payment links: the use that each holds, takes or gives back, on every way it can end."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from payments.metrics import CHECKOUT_REFUSALS, CHECKOUT_STEPS
from payments.models import Challenge, Checkout, LinkCardAttempt, PaymentLink, Transaction
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkout_limits import CardRests, CardsRest, LimitReached
from payments.services.links import link_uses
from payments.services.links.link_uses import (
    AddressHoldsTooMany,
    AnotherAttempt,
    CheckoutClosed,
    LinkNotPayable,
)
from payments.services.rails import requery
from payments.services.transactions import cancellations, expiry
from tests import orders
from tests.links import begin, pay_by_card, pay_by_transfer
from tests.orders import CHALLENGED_CARD, DECLINED_CARD
from tests.racing import racers
from tests.transactions import enter_code
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

LINKS = "/api/payment-links"
STEPS = ("started", "attempted", "paid", "declined")


@pytest.fixture
def link(api):
    return make_link(api)


def make_link(api, **changes):
    answer = api.post(LINKS, orders.payment_link(**changes))
    assert answer.status_code == 201, answer.json()
    return PaymentLink.objects.select_related("business").get(pk=answer.json()["id"])


def uses(link):
    link.refresh_from_db()
    return link.uses_held, link.uses_paid, link.amount_paid


class TestByCard:
    def test_success_takes_the_use(self, link, api):
        payment = pay_by_card(begin(link))

        assert uses(link) == (0, 1, 1_500_000)
        shown = api.get(f"/api/payments/{payment.reference}").json()
        assert payment.reference == f"pl_{payment.pk.hex}"
        assert list(shown)[2:5] == ["reference", "payment_link_id", "payment_link_reference"]
        assert (shown["payment_link_id"], shown["payment_link_reference"]) == (str(link.pk), link.reference)
        assert (shown["status"], shown["amount"], shown["narration"]) == ("success", 1_500_000, link.title)
        assert shown["customer"] == {"name": "Ada Obi"}

    def test_decline_gives_the_use_back(self, link):
        payment = pay_by_card(begin(link), number=DECLINED_CARD)

        assert payment.status == "failed"
        assert uses(link) == (0, 0, 0)

    def test_challenge_holds_the_use_until_it_ends(self, link):
        payment = pay_by_card(begin(link), number=CHALLENGED_CARD)
        assert (payment.awaiting, uses(link)) == ("payer", (1, 0, 0))

        expiry.expire_one(payment.pk, now=payment.expires_at)

        assert uses(link) == (0, 0, 0)

    def test_unknown_outcome_holds_the_use_until_the_rail_has_said(self, api):
        link = make_link(api, amount=10_098)  # its answer is lost
        payment = pay_by_card(begin(link), number="4111111111111111")
        challenge = Challenge.objects.select_related("transaction__business").get(transaction=payment)
        payment = enter_code(challenge=challenge, code="123456", now=timezone.now())
        assert (payment.awaiting, uses(link)) == ("rail", (1, 0, 0))

        later = timezone.now() + timedelta(minutes=5)
        list(requery.query_leased(requery.unanswered(), clock=lambda: later))

        payment.refresh_from_db()
        assert (payment.status, uses(link)) == ("success", (0, 1, 10_098))

    def test_event_has_the_link(self, link, api, ada):
        make_endpoint(business=ada.business)
        payment = pay_by_card(begin(link))

        [delivery] = Delivery.objects.filter(subject=payment.pk)
        assert f'"payment_link_id":"{link.pk}"' in str(delivery.body).replace(": ", ":")


class TestByTransfer:
    def test_gets_an_account_that_is_made_at_first_need(self, link, api, ada):
        first, second = pay_by_transfer(begin(link, method="virtual_account")), pay_by_transfer(begin(link))

        assert uses(link) == (2, 0, 0)
        assert first.session.account_id == second.session.account_id
        account = api.get("/api/virtual-accounts/payment-links-NGN").json()
        assert (account["reference"], account["customer"]["name"]) == ("payment-links-NGN", ada.business.name)
        assert first.session.expires_at - first.created_at == timedelta(seconds=1_800)

    def test_transfer_takes_the_use(self, link, api):
        payment = pay_by_transfer(begin(link))

        api.post(
            "/api/virtual-accounts/simulate",
            {"account_number": payment.session.number_id, "amount": 1_500_000},
        )

        assert uses(link) == (0, 1, 1_500_000)

    def test_mismatch_gives_the_use_back(self, link, api):
        payment = pay_by_transfer(begin(link))

        api.post(
            "/api/virtual-accounts/simulate", {"account_number": payment.session.number_id, "amount": 5_000}
        )

        assert uses(link) == (0, 0, 0)

    def test_expiry_gives_the_uses_of_all_links_back(self, api):
        links = [make_link(api) for _ in range(3)]
        payments = [pay_by_transfer(begin(link)) for link in links for _ in range(2)]
        assert [uses(link)[0] for link in links] == [2, 2, 2]

        later = max(payment.session.expires_at for payment in payments)
        assert sum(expiry.expire_sessions(clock=lambda: later)) == 6

        assert [uses(link) for link in links] == [(0, 0, 0)] * 3

    def test_payer_and_merchant_can_end_it(self, link, api):
        first, second = pay_by_transfer(begin(link)), pay_by_transfer(begin(link))

        ended = checkouts.end_attempt(first)
        answer = api.post(f"/api/payments/{second.reference}/cancel", {})

        assert (ended.response_code, answer.json()["response_code"]) == ("20091", "20091")
        causes = {each.transitions.get(attribute="status").cause for each in (first, second)}
        assert causes == {"payer", "merchant"}
        assert uses(link) == (0, 0, 0)


class TestCheckout:
    def test_has_one_attempt_at_a_time(self, link):
        checkout = begin(link)
        pay_by_card(checkout, number=CHALLENGED_CARD)

        with pytest.raises(AnotherAttempt):
            pay_by_card(checkout, attempt=1)

        assert uses(link) == (1, 0, 0)

    def test_ignores_an_old_form(self, link):
        checkout = begin(link)
        pay_by_card(checkout, number=DECLINED_CARD)

        with pytest.raises(AnotherAttempt):
            pay_by_card(checkout, attempt=0)

        assert Transaction.objects.count() == 1

    def test_closes_after_five_failures_or_a_day(self, link):
        checkout, late = begin(link), begin(link, network="192.0.2.2")
        for attempt in range(5):
            cancellations.cancel(transaction_id=pay_by_transfer(checkout, attempt=attempt).pk)

        with pytest.raises(CheckoutClosed):
            pay_by_transfer(checkout, attempt=5)
        with pytest.raises(CheckoutClosed):
            checkouts.pay_by_transfer(checkout=late, attempt_number=0, now=late.expires_at)

    def test_never_pays_twice_in_the_database(self, link):
        checkout = begin(link)
        payment = pay_by_card(checkout)
        other = pay_by_card(begin(link))

        with pytest.raises(DatabaseError), transaction.atomic():
            Transaction.objects.filter(pk=other.pk).update(checkout=checkout)
        with pytest.raises(DatabaseError, match="keeps"), transaction.atomic():
            Transaction.objects.filter(pk=payment.pk).update(checkout=None, payment_link=None)


class TestLimits:
    @pytest.mark.parametrize(
        "columns",
        [
            {"is_switched_off": True},
            {"blocked_at": timezone.now()},
            {"expires_at": timezone.now() - timedelta(days=1)},
            {"max_uses": 1, "uses_paid": 1},
            {"max_uses": 3, "uses_paid": 1, "uses_held": 2},
        ],
    )
    def test_link_that_is_not_payable_holds_nothing(self, link, columns):
        checkout = begin(link)
        PaymentLink.objects.update(**columns)
        before = uses(link)

        with pytest.raises(LinkNotPayable):
            pay_by_card(checkout)

        assert uses(link) == before
        assert not Transaction.objects.exists()

    def test_inactive_business_holds_nothing(self, link):
        checkout = begin(link)
        link.business.is_active = False
        link.business.save()

        with pytest.raises(LinkNotPayable):
            pay_by_card(checkout)

    def test_address_holds_a_tenth_of_a_limited_link(self, api):
        link = make_link(api, max_uses=3)
        pay_by_transfer(begin(link))

        with pytest.raises(AddressHoldsTooMany):
            pay_by_transfer(begin(link))
        pay_by_transfer(begin(link, network="192.0.2.2"))

        assert uses(link) == (2, 0, 0)

    def test_first_failure_frees_the_only_use(self, api):
        link = make_link(api, max_uses=1)
        pay_by_card(begin(link), number=DECLINED_CARD)

        pay_by_card(begin(link, network="192.0.2.2"))

        assert uses(link) == (0, 1, 1_500_000)
        assert link.status_at(timezone.now()) == "used_up"

    def test_database_refuses_more_than_the_limit(self, api):
        make_link(api, max_uses=2)

        with pytest.raises(DatabaseError), transaction.atomic():
            PaymentLink.objects.update(uses_held=2, uses_paid=1)


class TestMetrics:
    def test_count_steps_and_refusals(self, link):
        def counted():
            steps = {step: CHECKOUT_STEPS.labels(step)._value.get() for step in STEPS}
            return steps | {"refused": CHECKOUT_REFUSALS.labels("declines_of_card")._value.get()}

        before = counted()
        pay_by_card(begin(link))
        for _ in range(3):
            pay_by_card(begin(link), number=DECLINED_CARD)
        with pytest.raises(CardRests):
            pay_by_card(begin(link), number=DECLINED_CARD)

        assert {name: value - before[name] for name, value in counted().items()} == {
            "started": 5, "attempted": 4, "paid": 1, "declined": 3, "refused": 1,
        }  # fmt: skip

    def test_count_declines_of_cards_only(self, link):
        def declined():
            return CHECKOUT_STEPS.labels("declined")._value.get()

        before = declined()
        payments = [pay_by_transfer(begin(link)) for _ in range(2)]
        cancellations.cancel(transaction_id=payments[0].pk)
        list(expiry.expire_sessions(clock=lambda: payments[1].session.expires_at))
        assert declined() == before

        cancellations.cancel(transaction_id=pay_by_card(begin(link), number=CHALLENGED_CARD).pk)
        assert declined() - before == 1

    def test_show_the_uses_that_are_held(self, link):
        pay_by_card(begin(link), number=CHALLENGED_CARD)
        ended = pay_by_transfer(begin(link))
        pay_by_transfer(begin(link))
        assert link_uses.held(most=100) == 3

        cancellations.cancel(transaction_id=ended.pk)

        assert link_uses.held(most=100) == uses(link)[0] == 2


class TestNewCheckouts:
    def test_stop_at_sixty_unpaid_ones_of_an_address(self, link):
        for _ in range(60):
            begin(link)

        with pytest.raises(LimitReached):
            begin(link)
        begin(link, network="192.0.2.2")

    def test_go_on_while_enough_are_paid(self, link):
        for turn in range(60):
            checkout = begin(link)
            if turn % 4 == 0:
                pay_by_card(checkout)
        for _ in range(15):
            begin(link)

        begin(link)


class TestDeclines:
    def test_card_rests_after_three_declines_at_a_business(self, link):
        for turn in range(3):
            pay_by_card(begin(link, network=f"192.0.2.{turn}"), number=DECLINED_CARD)

        with pytest.raises(CardRests):
            pay_by_card(begin(link, network="192.0.2.9"), number=DECLINED_CARD)
        pay_by_card(begin(link, network="192.0.2.9"))

        assert uses(link)[1] == 1

    def test_success_leaves_no_trace_of_the_card(self, link):
        pay_by_card(begin(link))
        payment = pay_by_card(begin(link), number=CHALLENGED_CARD)
        assert LinkCardAttempt.objects.get().declined_at is None

        cancellations.cancel(transaction_id=payment.pk)

        row = LinkCardAttempt.objects.get()
        assert row.declined_at is not None
        assert payment.pk.hex not in f"{row.attempt_key}{row.card_hash}"

    def test_address_rests_after_ten_declines(self, link):
        for turn in range(10):  # leaving the bank's page counts as declined
            payment = pay_by_card(begin(link), number=luhn(f"411111{turn:09d}"))
            cancellations.cancel(transaction_id=payment.pk)

        with pytest.raises(CardsRest):
            pay_by_card(begin(link))
        assert pay_by_transfer(begin(link)).status == "pending"


def luhn(digits):
    """Return digits with their check digit."""
    doubled = [int(each) * (2 - place % 2) for place, each in enumerate(reversed(digits))]
    return f"{digits}{-sum(sum(divmod(each, 10)) for each in doubled) % 10}"


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_fifty_payers_take_three_uses(self, api):
        """Tests the conditions of the UPDATE in `link_uses.hold`."""
        link = make_link(api, max_uses=3)
        made = [begin(link, network=f"192.0.2.{turn}") for turn in range(8)]
        with racers(8) as threads:
            results = threads.race(*[partial(pay_by_card, checkout) for checkout in made])

        paid = [each for each in results if isinstance(each, Transaction)]
        assert len(paid) == 3, results
        assert all(isinstance(each, Transaction | LinkNotPayable) for each in results)
        assert uses(link) == (0, 3, 4_500_000)

    def test_one_form_posted_often_begins_one_attempt(self, link):
        """Tests the lock on the checkout in `link_uses.hold`."""
        checkout = begin(link)
        with racers(8) as threads:
            results = threads.race(*[partial(pay_by_card, checkout)] * 8)

        assert sum(isinstance(each, Transaction) for each in results) == 1
        assert all(isinstance(each, Transaction | AnotherAttempt) for each in results), results
        assert Checkout.objects.get(pk=checkout.pk).attempts.count() == 1
