"""Repeated requests with a card confirm at most a few guesses of the stored card number."""

import json
from datetime import timedelta
from functools import partial

import pytest
import structlog
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from kit.api.fields.strict_fields import read_request
from kit.api.replays import DuplicateReference
from kit.text.masking import passes_luhn
from merchants.models import AuditEntry
from operations.doctor_checks import Severity, examine
from payments.api import request_types
from payments.fingerprints import first_release_fingerprint
from payments.models import Transaction
from payments.tasks import erase_card_number_hashes
from tests import orders
from tests.factories import BusinessFactory
from tests.racing import racers
from tests.transactions import start

BIN, LAST4 = orders.GOOD_CARD[:6], orders.GOOD_CARD[-4:]
OTHERS = [
    number
    for number in (f"{BIN}{middle:06}{LAST4}" for middle in range(1000))
    if passes_luhn(number) and number != orders.GOOD_CARD
]

pytestmark = pytest.mark.django_db

ORDERS = pytest.mark.parametrize("make", [orders.card_payment, orders.card_check])


def with_card(order, number):
    return order | {"source": order["source"] | {"pan": number}}


def post(api, order):
    return api.post("/api/payments", order)


def guess(api, order, numbers):
    return [post(api, with_card(order, number)).status_code for number in numbers]


def grow_older(**length):
    Transaction.objects.update(created_at=timezone.now() - timedelta(**length))


def stored():
    return Transaction.objects.get()


class TestGuesses:
    @ORDERS
    def test_end_after_five_and_the_right_card_is_refused_too(self, api, make):
        order = make(reference="order-1")
        first = post(api, order).json()

        assert guess(api, order, OTHERS[:5]) == [409] * 5

        answer = post(api, order)
        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert answer.json()["existing"] == {"id": first["id"], "status": first["status"]}
        assert api.get("/api/payments/order-1").json() == first

    @ORDERS
    def test_up_to_four_still_replay_the_right_card(self, api, make):
        order = make(reference="order-1")
        first = post(api, order)

        assert guess(api, order, OTHERS[:4]) == [409] * 4

        again = post(api, order)
        assert (again.status_code, again.json()) == (200, first.json())
        assert again["Idempotent-Replayed"] == "true"

    @ORDERS
    def test_at_the_limit_erase_the_hash(self, api, make):
        order = make(reference="order-1")
        post(api, order)
        before = stored()

        guess(api, order, OTHERS[:5])

        row = stored()
        assert (row.card_number_hash, row.fingerprint, row.card_number_mismatches) == ("", "", 5)
        assert len(before.card_number_hash) == 64

    def test_of_a_card_that_no_scheme_issues_end_after_five(self, api):
        right, *others = [number for number in (f"9{n:011}" for n in range(100)) if passes_luhn(number)]
        order = with_card(orders.card_payment(reference="order-1"), right)
        post(api, order)

        assert len(stored().card_number_hash) == 64
        assert guess(api, order, others[:5]) == [409] * 5
        assert stored().card_number_hash == ""

    def test_count_even_if_other_fields_differ(self, api):
        order = orders.card_payment(reference="order-1")
        post(api, order)
        changes = [{"amount": 1}, {"currency": "USD"}, {"narration": "other"}, {"capture": False}]

        answers = [
            post(api, with_card(order, number) | change)
            for number, change in zip(OTHERS[:4], changes, strict=True)
        ]
        check = orders.card_check(reference="order-1")
        answers.append(post(api, with_card(check, OTHERS[5])))

        assert {answer.status_code for answer in answers} == {409}
        assert post(api, order).status_code == 409

    def test_with_the_right_card_and_other_differences_do_not_count(self, api):
        order = orders.card_payment(reference="order-1")
        first = post(api, order).json()

        for amount in range(1, 8):
            assert post(api, order | {"amount": amount}).status_code == 409
        for _ in range(7):
            assert post(api, orders.payout(reference="order-1")).status_code == 409

        again = post(api, order)
        assert (again.status_code, again.json()) == (200, first)
        assert stored().card_number_mismatches == 0

    def test_get_the_same_response_as_any_other_difference(self, api):
        """With a wrong amount, the response is the same for the right and a wrong card."""
        order = orders.card_payment(reference="order-1")
        post(api, order)

        answers = [
            post(api, changed | {"amount": 1}).json() for changed in (order, with_card(order, OTHERS[0]))
        ]

        assert [answer.pop("request_id") != "" for answer in answers] == [True, True]
        assert answers[0] == answers[1]

    def test_of_equal_cards_in_two_payments_have_different_hashes(self, api):
        for _ in range(2):
            post(api, orders.card_payment())

        assert len(set(Transaction.objects.values_list("card_number_hash", flat=True))) == 2

    def test_are_limited_while_the_rail_is_unavailable(self, api, settings):
        order = orders.card_payment(reference="order-1")
        post(api, order)
        settings.CARD_ACQUIRER = ""

        assert guess(api, order, OTHERS[:5]) == [409] * 5
        assert post(api, order).status_code == 409

    def test_beyond_the_limit_violate_a_constraint(self, api):
        post(api, orders.card_payment())

        for wrong in ({"card_number_mismatches": 5}, {"card_number_mismatches": 6}):
            with pytest.raises(IntegrityError), transaction.atomic():
                Transaction.objects.update(**wrong)


class TestAlarm:
    @pytest.fixture
    def _guessed(self, api):
        order = orders.card_payment(reference="order-1")
        post(api, order)
        with structlog.testing.capture_logs() as logged:
            guess(api, order, OTHERS[:7])
        self.logged = logged

    @pytest.mark.usefixtures("_guessed")
    def test_is_logged_once_as_an_error(self):
        errors = [entry for entry in self.logged if entry["log_level"] == "error"]

        assert [entry["event"] for entry in errors] == ["card number guesses stopped"]
        assert errors[0]["reference"] == "order-1"
        assert not [number for number in [orders.GOOD_CARD, *OTHERS[:7]] if number in str(self.logged)]

    @pytest.mark.usefixtures("_guessed")
    def test_is_in_the_audit_trail_of_the_business(self, ada):
        entry = AuditEntry.objects.get(action="card_number.guesses_stopped")

        assert (entry.business, entry.target, entry.actor) == (ada.business, "order-1", "API")
        assert entry.after == {"different_cards": 5}

    @pytest.mark.usefixtures("_guessed")
    def test_is_reported_by_doctor_for_a_day(self):
        def findings(now):
            return [finding for finding in examine(now=now) if finding.check == "card numbers"]

        (found,) = findings(timezone.now())
        assert found.severity == Severity.WARNING
        assert "1 reference" in found.said
        (later,) = findings(timezone.now() + timedelta(days=2))
        assert later.severity == Severity.FINE

    @pytest.mark.usefixtures("_guessed")
    def test_is_a_metric(self, client, settings):
        settings.METRICS_TOKEN = "scrape"
        answer = client.get("/metrics", headers={"Authorization": "Bearer scrape"})

        assert "sluice_card_number_guesses_stopped 1.0" in answer.content.decode()


class TestAfterADay:
    @ORDERS
    def test_the_reference_is_rejected_with_any_card(self, api, make):
        order = make(reference="order-1")
        first = post(api, order).json()
        grow_older(hours=24, seconds=1)

        answers = [post(api, order), post(api, with_card(order, OTHERS[0]))]

        assert [answer.status_code for answer in answers] == [409, 409]
        assert {answer.json()["existing"]["id"] for answer in answers} == {first["id"]}

    @ORDERS
    def test_just_before_the_request_is_replayed(self, api, make):
        order = make(reference="order-1")
        post(api, order)
        grow_older(hours=23, minutes=59)

        assert post(api, order).status_code == 200

    @pytest.mark.parametrize("erase", [erase_card_number_hashes, partial(call_command, "purge")])
    def test_the_hashes_are_erased(self, api, erase):
        for order in (orders.card_payment(), orders.card_check(), orders.card_payment(capture=False)):
            post(api, order)
        grow_older(hours=24, seconds=1)
        post(api, orders.card_payment(reference="new"))

        erase()

        rows = Transaction.objects.all()
        assert {row.reference for row in rows if row.card_number_hash or row.fingerprint} == {"new"}

    def test_a_hash_of_the_first_release_is_erased(self, api):
        """It included the number, and has no separate hash of it."""
        post(api, orders.card_payment())
        Transaction.objects.update(card_number_hash="")
        grow_older(hours=25)

        erase_card_number_hashes()

        assert stored().fingerprint == ""

    def test_a_dry_run_counts_and_erases_nothing(self, api, capsys):
        post(api, orders.card_payment())
        grow_older(hours=25)

        call_command("purge", dry_run=True, json=True)

        assert json.loads(capsys.readouterr().out)["card_number_hashes"] == 1
        assert stored().card_number_hash

    @pytest.mark.parametrize("make", [orders.payout, orders.dynamic_account])
    def test_requests_without_a_card_are_replayed_indefinitely(self, api, make):
        target = "/api/payments" if make is orders.payout else "/api/virtual-accounts"
        order = make()
        first = api.post(target, order).json()
        grow_older(days=400)
        erase_card_number_hashes()

        again = api.post(target, order)

        assert (again.status_code, again.json()["id"]) == (200, first["id"])


class TestCardNumberInFreeText:
    """The stored text is masked. The comparison includes the number, but must not reveal it either."""

    ORDER = orders.payout(narration=f"for {orders.GOOD_CARD} 2035")

    def guesses(self):
        return [self.ORDER | {"narration": f"for {number} 2035"} for number in OTHERS[:6]]

    def test_is_part_of_the_same_request(self, api):
        first = post(api, self.ORDER)

        assert post(api, self.guesses()[0]).status_code == 409
        again = post(api, self.ORDER)
        assert (again.status_code, again.json()) == (200, first.json())
        assert first.json()["narration"] == f"for {BIN}******{LAST4} 2035"

    def test_is_not_compared_after_five_guesses(self, api):
        post(api, self.ORDER)

        answers = [post(api, guessed).status_code for guessed in self.guesses()]

        assert answers == [409] * 5 + [200]
        assert post(api, self.ORDER).status_code == 200

    def test_is_not_compared_after_a_day(self, api):
        first = post(api, self.ORDER)
        grow_older(hours=25)
        erase_card_number_hashes()

        assert [post(api, each).status_code for each in (self.ORDER, self.guesses()[0])] == [200, 200]
        assert post(api, self.ORDER).json()["id"] == first.json()["id"]
        assert stored().card_number_hash == ""


@pytest.mark.django_db(transaction=True)
class TestParallelGuesses:
    def test_are_compared_at_most_five_times(self):
        """Tests the lock in `request_comparison.replay_or_raise`."""
        business = BusinessFactory()
        with racers(8) as threads:
            for _ in range(10):
                now = timezone.now()
                order = orders.card_payment()
                payment = start(order, business=business, now=now)

                def attempt(number, order=order, now=now):
                    guessed = with_card(order, number)
                    return request_types.choose(guessed).start(guessed, business=business, now=now)

                answers = threads.race(*[partial(attempt, number) for number in OTHERS[:8]])

                payment.refresh_from_db()
                assert {type(answer) for answer in answers} == {DuplicateReference}
                assert (payment.card_number_mismatches, payment.card_number_hash) == (5, "")
                entries = AuditEntry.objects.filter(target=order["reference"])
                assert entries.count() == 1
                with pytest.raises(DuplicateReference):
                    attempt(orders.GOOD_CARD)


class TestPaymentOfTheFirstRelease:
    """It has one hash over everything, the card number included, and none of the number."""

    @pytest.fixture
    def order(self, api, ada):
        order = orders.card_payment(reference="order-1")
        post(api, order)
        kind = request_types.choose(order)
        request = read_request(kind.serializer, order, currencies=ada.business.currencies)
        Transaction.objects.update(card_number_hash="", fingerprint=first_release_fingerprint(request))
        return order

    def test_is_replayed_within_24_hours(self, api, order):
        again = post(api, order)

        assert (again.status_code, again.headers.get("Idempotent-Replayed")) == (200, "true")

    def test_is_not_compared_later(self, api, order):
        grow_older(hours=25)

        assert post(api, order).status_code == 409
        assert stored().fingerprint == ""

    def test_is_compared_with_five_cards_at_the_most(self, api, order):
        assert guess(api, order, OTHERS[:5]) == [409] * 5

        assert post(api, order).status_code == 409
