"""Concurrent payers, merchants, transfers and expiry at payment links. Each test names the lock that it needs.

On SQLite, a writing transaction locks the whole database. `tests/journeys/test_link_races.py` has crowds over HTTP.
"""

import time
from collections import Counter
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.utils import timezone

from ledger.invariants import check
from merchants.people.audit import Actor
from payments.invariants.registry import INVARIANTS
from payments.models import InvalidState, LinkCardAttempt, PaymentLink, Transaction
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkouts import Details
from payments.services.links import link_recounts, links
from payments.services.links.link_uses import AttemptNotBegun, LinkNotPayable
from payments.services.transactions import cancellations, expiry
from payments.services.transactions.transitions import Cause
from payments.services.transfers import incoming
from payments.services.transfers.incoming import Notice
from tests.links import make_link
from tests.orders import DECLINED_CARD
from tests.payers import Payer, address_of, card_number
from tests.racing import racers
from virtual_accounts.models import UnappliedMoney

pytestmark = pytest.mark.django_db(transaction=True)

AN_INSTANT = timedelta(microseconds=1)
MERCHANT = Actor(name="Ada", address="192.0.2.1")


@pytest.fixture(autouse=True)
def _behind_a_proxy(settings):
    settings.PROXIES_IN_FRONT = 1


def begin(link, turn, *, method="card"):
    address = address_of(turn)
    details = Details(amount=link.amount, quantity=1, method=method, name="Ada Obi", email="ada@x.example")
    return checkouts.begin(link=link, details=details, address=address, network=address, now=timezone.now())


def transfer_attempt(link, turn, *, attempt=0, checkout=None):
    checkout = checkout or begin(link, turn, method="virtual_account")
    return checkouts.pay_by_transfer(checkout=checkout, attempt_number=attempt, now=timezone.now())


def notice_of(payment):
    return Notice(
        bank_reference=uuid4().hex, account_number=payment.session.number_id, amount=payment.amount, sender_name="Ada"
    )  # fmt: skip


def uses(link):
    link.refresh_from_db()
    return link.uses_held, link.uses_paid


def finishes(payment):
    return list(payment.transitions.filter(attribute="status").values_list("after", "cause"))


def assert_ledger_holds():
    assert {one.invariant.name: one.broken for one in check(INVARIANTS) if not one.holds} == {}


class TestSingleUse:
    def test_is_free_again_after_a_failed_challenge(self, api):
        """Tests that a use is given back in the database transaction of the failure."""
        link = make_link(api, max_uses=1)
        first, second = Payer(address_of(1)), Payer(address_of(2))
        checkout, other = first.begin(link.url), second.begin(link.url)
        challenge = first.pay_by_card(checkout, card_number(1))

        refused = second.pay_by_card(other)
        assert (refused.status_code, uses(link)) == (409, (1, 0))
        for _ in range(3):
            first.confirm(challenge, "000000")
        assert uses(link) == (0, 0)

        assert second.pay_by_card(other).headers["Location"] == f"{other}/receipt"
        assert first.pay_by_card(checkout, attempt=1).status_code == 410
        assert uses(link) == (0, 1)
        assert_ledger_holds()


class TestEndOfATransfer:
    @pytest.mark.long
    def test_is_one_of_arrival_another_way_and_expiry(self, api):
        """Tests the lock on the session in `cancellations.cancel`, `incoming.receive` and `sessions.expire`."""
        link, seen = make_link(api, max_uses=1_000), Counter()
        with racers(3) as threads:
            for turn in range(40):
                payment = transfer_attempt(link, turn)
                end = payment.session.expires_at

                arrived, ended, expired = threads.race(
                    partial(incoming.receive, notice_of(payment), clock=lambda: end - AN_INSTANT),  # noqa: B023
                    partial(
                        cancellations.cancel,
                        transaction_id=payment.pk,
                        cause=Cause.PAYER,
                        clock=lambda: end - AN_INSTANT,  # noqa: B023
                    ),
                    lambda: sum(expiry.expire_sessions(clock=lambda: end)),  # noqa: B023
                )

                payment.refresh_from_db()
                [(status, cause)] = finishes(payment)
                seen[cause] += 1
                transfer = arrived.resource
                assert (status == "success") == (transfer.applied == "session")
                assert transfer.is_unapplied == (status == "failed")
                assert UnappliedMoney.objects.filter(transfer=transfer).exists() == transfer.is_unapplied
                assert isinstance(ended, InvalidState) == (cause != "payer")
                assert expired == int(cause == "expiry")
                late = incoming.receive(notice_of(payment)).resource
                assert late.is_unapplied
                assert uses(link) == (0, seen["transfer"])
        print(dict(seen))
        assert_ledger_holds()


class TestChangesOfTheMerchant:
    @pytest.mark.long
    def test_of_the_limit_hold_for_the_next_attempt(self, api):
        """Tests the lock in `links.change`: it neither overwrites a hold nor lowers the limit below it."""
        seen = Counter()
        with racers(4) as threads:
            for turn in range(25):
                link = make_link(api, max_uses=4)
                paying = [
                    partial(
                        transfer_attempt, link, number, checkout=begin(link, number, method="virtual_account")
                    )
                    for number in range(turn * 3, turn * 3 + 3)
                ]

                def lower():
                    time.sleep(turn % 5 * 0.004)  # noqa: B023  (before, between and after the holds)
                    wanted = {"max_uses": 1}
                    return links.change(link_id=link.pk, changes=wanted, actor=MERCHANT, now=timezone.now())  # noqa: B023

                lowered, *begun = threads.race(lower, *paying)

                held = sum(isinstance(each, Transaction) for each in begun)
                assert all(isinstance(each, Transaction | LinkNotPayable) for each in begun), begun
                assert isinstance(lowered, InvalidState | PaymentLink), lowered
                assert uses(link) == (held, 0)
                assert link.max_uses == (4 if isinstance(lowered, InvalidState) else 1)
                assert held <= link.max_uses
                seen[held] += 1
        print(dict(seen))

    @pytest.mark.long
    def test_deactivation_stops_beginnings_and_nothing_else(self, api):
        """Tests the condition of the UPDATE in `link_uses.hold`."""
        with racers(4) as threads:
            for turn in range(10):
                link = make_link(api)
                waiting = [begin(link, number) for number in range(turn * 4, turn * 4 + 4)]
                payers = [
                    partial(Payer(each.address).pay_by_card, f"/checkout/{each.token}")
                    for each in waiting[:3]
                ]
                off = partial(links.deactivate, link_id=link.pk, actor=MERCHANT, now=timezone.now())

                _, *answers = threads.race(off, *payers)
                late = Payer(waiting[3].address).pay_by_card(f"/checkout/{waiting[3].token}")

                paid = Counter(answer.status_code for answer in answers)[303]
                assert {answer.status_code for answer in answers} <= {303, 410}
                assert late.status_code == 410
                assert uses(link) == (0, paid)
                assert link.is_switched_off


class TestExpiry:
    @pytest.mark.long
    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("at_once", [250, 20])
    def test_of_many_sessions_while_others_begin_never_deadlocks(self, api, monkeypatch, at_once):
        """Tests the order in which `link_uses.give_back` locks links, with batches of two workers."""
        monkeypatch.setattr(expiry, "SESSIONS_AT_ONCE", at_once)
        failures = []
        logging = SimpleNamespace(error=lambda *_, **said: failures.append(said))
        monkeypatch.setattr(expiry, "log", logging)
        made = [make_link(api, max_uses=1_000) for _ in range(40)]
        payments = [transfer_attempt(made[turn * 7 % 40], turn) for turn in range(250)]
        end = max(payment.session.expires_at for payment in payments)
        assert sum(uses(link)[0] for link in made) == 250

        def keep_beginning(first):
            return [transfer_attempt(made[turn % 40], 1_000 + first + turn) for turn in range(15)]

        def expire():
            return sum(expiry.expire_sessions(clock=lambda: end))

        def receive_the_last():
            return [incoming.receive(notice_of(payment)).resource for payment in payments[:-20:-1]]

        with racers(6) as threads:
            results = threads.race(
                expire, expire, receive_the_last, *[partial(keep_beginning, first) for first in (0, 100, 200)]
            )

        assert [each for each in results if isinstance(each, Exception)] == failures == []
        received = sum(not transfer.is_unapplied for transfer in results[2])
        assert results[0] + results[1] + received == 250
        counts = [uses(link) for link in made]
        assert (sum(held for held, _ in counts), sum(paid for _, paid in counts)) == (45, received)
        assert_ledger_holds()


class TestRecounts:
    @pytest.mark.long
    def test_during_payments_leave_right_numbers(self, api):
        """Tests the lock in `link_recounts.recount`."""
        link = make_link(api)

        def pay(first):
            for turn in range(first, first + 15):
                payment = transfer_attempt(link, turn)
                if turn % 2:
                    incoming.receive(notice_of(payment))

        def recount():
            return [len(list(link_recounts.recount())) for _ in range(40)]

        with racers(4) as threads:
            results = threads.race(recount, recount, partial(pay, 0), partial(pay, 100))

        assert [each for each in results if isinstance(each, Exception)] == []
        assert uses(link) == (16, 14)
        assert_ledger_holds()


class TestOneForm:
    def test_posted_often_at_once_begins_one_attempt(self, api):
        """Tests the lock on the checkout in `link_uses.hold`."""
        link = make_link(api, max_uses=5)
        payer = Payer(address_of(1))
        checkout = payer.begin(link.url)
        with racers(8) as threads:
            for _ in range(2):
                answers = threads.race(*[partial(Payer(payer.address).pay_by_card, checkout)] * 8)

                assert {answer.status_code for answer in answers} == {303}
                assert {answer.headers["Location"] for answer in answers} <= {checkout, f"{checkout}/receipt"}
        assert Transaction.objects.count() == 1
        assert uses(link) == (0, 1)

    def test_of_a_card_that_is_declined_asks_the_issuer_once(self, api):
        """Tests the lock on the checkout in `link_uses.hold`: the second post reads the first one's failure."""
        link = make_link(api)
        with racers(6) as threads:
            for turn in range(1, 7):
                checkout = begin(link, turn)
                payer = Payer(checkout.address)

                threads.race(*[partial(payer.pay_by_card, f"/checkout/{checkout.token}", DECLINED_CARD)] * 6)

                assert checkout.attempts.count() == 1
                LinkCardAttempt.objects.all().delete()  # the card rests after three declines

    def test_to_end_and_to_begin_again_leave_one_attempt_pending(self, api):
        link = make_link(api, max_uses=5)
        checkout = begin(link, 1)
        with racers(4) as threads:
            for attempt in range(4):
                begun = threads.race(
                    *[partial(transfer_attempt, link, 1, checkout=checkout, attempt=attempt)] * 4
                )
                [payment] = [each for each in begun if isinstance(each, Transaction)]
                assert all(isinstance(each, Transaction | AttemptNotBegun) for each in begun), begun
                assert uses(link) == (1, 0)

                threads.race(*[partial(checkouts.end_attempt, payment)] * 4)
                assert (uses(link), finishes(payment)) == ((0, 0), [("failed", "payer")])
