"""Each limit against abuse of payment links, at its number and one beyond, a crowd of good payers, and card testers."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from payments.models import Challenge, LinkCardAttempt, Transaction
from payments.pages.card_form import read_card
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkout_limits import CardRests, CardsRest, LimitReached, resting_rule
from payments.services.checkouts.checkouts import Details
from payments.services.links.link_uses import AddressHoldsTooMany
from payments.services.transactions import expiry
from tests import orders
from tests.links import make_link
from tests.orders import DECLINED_CARD, FRICTIONLESS_CARD
from tests.payers import Payer, address_of, card_number
from tests.transactions import enter_code

pytestmark = pytest.mark.django_db

Status = Transaction.Status


@pytest.fixture
def link(api):
    return make_link(api)


def begin(link, turn, *, at=None):
    network = address_of(turn)
    details = Details(amount=link.amount, quantity=1, method="card", name="Ada Obi", email="ada@x.example")
    return checkouts.begin(
        link=link, details=details, address=network, network=network, now=at or timezone.now()
    )


def pay(link, turn, number=FRICTIONLESS_CARD, *, at=None):
    """Pay from the address of this turn."""
    now = at or timezone.now()
    _, card = read_card(orders.card_form(number), now=now)
    return checkouts.pay_by_card(checkout=begin(link, turn, at=now), card=card, attempt_number=0, now=now)


def decline(link, turn, number="", *, at=None):
    """Leave the bank's page, which counts as declined."""
    payment = pay(link, turn, number or card_number(turn), at=at)
    expiry.expire_one(payment.pk, now=payment.expires_at)


class TestDeclinesOfAnAddress:
    @pytest.mark.parametrize(("successes", "is_refused"), [(0, True), (2, True), (3, False)])
    def test_are_ten_in_ten_minutes_unless_enough_succeed(self, link, successes, is_refused):
        for _ in range(successes):
            pay(link, 1)
        for number in range(10):
            decline(link, 1, card_number(number))

        if is_refused:
            with pytest.raises(CardsRest):
                pay(link, 1)
        else:
            pay(link, 1)
        pay(link, 2)

    def test_are_forgotten_after_ten_minutes(self, link):
        before = timezone.now() - timedelta(minutes=10, seconds=1)
        for number in range(10):
            decline(link, 1, card_number(number), at=before)

        pay(link, 1)

    @pytest.mark.parametrize(("declines", "is_refused"), [(49, False), (50, True)])
    @pytest.mark.long
    def test_are_fifty_a_day(self, link, declines, is_refused):
        now = timezone.now()
        for number in range(declines):
            at = now - timedelta(minutes=20 + 5 * (declines - number))
            decline(link, 1, card_number(number), at=at)

        if is_refused:
            with pytest.raises(CardsRest):
                pay(link, 1)
        else:
            pay(link, 1)


class TestDeclinesOfALink:
    @pytest.mark.parametrize(("successes", "rule"), [(0, "link"), (4, "link"), (5, "")])
    def test_are_twenty_in_ten_minutes_unless_enough_succeed(self, link, successes, rule):
        for turn in range(100, 100 + successes):
            pay(link, turn)
        for turn in range(19):
            decline(link, turn)
        assert resting_rule(link, now=timezone.now()) == ""
        decline(link, 19)

        assert resting_rule(link, now=timezone.now()) == rule
        assert resting_rule(link, now=timezone.now() + timedelta(minutes=10, seconds=1)) == ""

    def test_leave_new_addresses_and_cards_one_decline_each(self, link):
        pay(link, 50)
        for turn in range(20):
            decline(link, turn)

        decline(link, 60)  # a new address and a new card
        with pytest.raises(CardsRest):
            pay(link, 60, card_number(61))
        with pytest.raises(CardRests):
            pay(link, 62, card_number(60))
        for _ in range(3):  # the address of a payer
            decline(link, 50, card_number(70))
        pay(link, 63)

    @pytest.mark.long
    def test_are_sixty_of_a_business(self, api, other_api, link):
        others = [make_link(api) for _ in range(5)]
        for turn in range(59):
            decline(others[turn % 5], turn)
        assert resting_rule(link, now=timezone.now()) == ""
        decline(link, 59)

        assert resting_rule(link, now=timezone.now()) == "business"
        assert resting_rule(make_link(other_api), now=timezone.now()) == ""
        with pytest.raises(CardsRest):
            pay(link, 59)


class TestDeclinesOfACard:
    def test_are_three_in_a_day_at_one_business(self, api, other_api, link):
        for turn in range(2):
            pay(link, turn, DECLINED_CARD)
        assert pay(link, 2, DECLINED_CARD).status == Status.FAILED

        with pytest.raises(CardRests):
            pay(make_link(api), 3, DECLINED_CARD)
        assert pay(make_link(other_api), 3, DECLINED_CARD).status == Status.FAILED
        LinkCardAttempt.objects.update(declined_at=timezone.now() - timedelta(hours=24, seconds=1))
        assert pay(link, 4, DECLINED_CARD).status == Status.FAILED

    def test_end_with_the_first_advice_not_to_retry(self, api):
        link = make_link(api, amount=10_043)  # the issuer says that the card was stolen
        payment = pay(link, 1, card_number(1))
        challenge = Challenge.objects.select_related("transaction__business").get(transaction=payment)
        payment = enter_code(challenge=challenge, code="123456", now=timezone.now())
        assert (payment.response_code, payment.gateway_recommendation) == ("20043", "do_not_retry")

        with pytest.raises(CardRests):
            pay(link, 2, card_number(1))


class TestUsesOfAnAddress:
    @pytest.mark.parametrize(("max_uses", "most"), [(3, 1), (4, 2), (20, 2), (40, 4), (None, 12)])
    def test_are_a_tenth_of_a_limited_link(self, api, max_uses, most):
        link = make_link(api, **{} if max_uses is None else {"max_uses": max_uses})
        for number in range(most):
            pay(link, 1, card_number(number))

        if max_uses is not None:
            with pytest.raises(AddressHoldsTooMany):
                pay(link, 1, card_number(most))
        pay(link, 2, card_number(most))
        link.refresh_from_db()
        assert link.uses_held == most + 1


@pytest.fixture
def minutes_pass(settings, limit_clock):
    """Count views by a clock that `Crowd` moves: its payers come within ten minutes."""
    settings.PROXIES_IN_FRONT = 1
    return limit_clock


@pytest.mark.long
class TestCrowd:
    def test_of_two_hundred_good_payers_behind_one_address_passes(self, api, minutes_pass):
        """Every fifth card is declined once. Four payers are at it at any time. Limits of uses are checked too."""
        link = make_link(api, max_uses=1_000)
        waiting, paid = [], 0
        for turn in range(200):
            payer = Payer(address_of(1))
            minutes_pass.now += 3
            assert payer.get(f"/l/{link.slug}").status_code == 200
            waiting.append((turn, payer, payer.begin(link.url)))
            if len(waiting) == 4 or turn == 199:
                for each in waiting:
                    self.pay(*each)
                    paid += 1
                waiting = []

        link.refresh_from_db()
        assert (paid, link.uses_paid, link.uses_held) == (200, 200, 0)

    def pay(self, turn, payer, checkout):
        attempt = 0
        if turn % 5 == 0:
            assert "/3ds/" in payer.pay_by_card(checkout, card_number(turn)).headers["Location"]
            assert payer.end(checkout).status_code == 303
            attempt = 1
        assert payer.get(checkout).status_code == 200
        for _ in range(4):  # the page asks for its state
            assert payer.get(f"{checkout}/state").status_code == 200
        answer = payer.pay_by_card(checkout, attempt=attempt)
        assert answer.headers["Location"] == f"{checkout}/receipt", answer.content
        assert payer.get(f"{checkout}/receipt").status_code == 200


class TestCardTester:
    """A list of card numbers is tried at a link. What each try shows is only that 3-D Secure asks for a code."""

    def tries(self, link, turns, *, waits=True):
        """Try a new card from the address of each turn. Return the number of tries that reached the acquirer."""
        refused, reached = Counter(), 0
        for number, turn in enumerate(turns):
            try:
                payment = pay(link, turn, card_number(number))
            except LimitReached as limit:
                refused[limit.rule] += 1
                continue
            assert (payment.awaiting, payment.response_code) == ("payer", "10001")
            if waits:
                expiry.expire_one(payment.pk, now=payment.expires_at)
            reached += 1
        return reached, refused

    def test_with_one_address_is_stopped_after_ten_cards(self, link):
        assert self.tries(link, [1] * 40) == (10, {"declines_of_address": 30})
        assert set(Transaction.objects.values_list("response_code", flat=True)) == {"20151"}

    @pytest.mark.long
    def test_that_leaves_the_pages_of_banks_open_is_stopped_after_sixty_checkouts(self, link):
        """Nothing has been declined yet. Then the limit of unpaid checkouts holds."""
        assert self.tries(link, [1] * 70, waits=False) == (60, {"checkouts": 10})

    @pytest.mark.long
    def test_with_many_addresses_gets_one_card_for_each_after_twenty(self, link):
        reached, refused = self.tries(link, [turn // 8 for turn in range(240)])

        # 20 from the first three addresses, then one from each of the 27 others.
        assert reached == 20 + 27
        assert refused == {"declines_of_link": 240 - reached}
        assert resting_rule(link, now=timezone.now()) == "link"
