"""Unapplied transfers over the API: keys may list them, and credit or return them if the business allows it."""

import json
import uuid

import pytest
from django.utils import timezone

from ledger import services as ledger
from ledger.invariants import check
from ledger.models import Account
from ledger.services import balances
from merchants.models import AuditEntry, Business
from payments.invariants.registry import INVARIANTS
from payments.models import PayoutControls, PayoutReturn, Transaction
from payments.rails import ConnectorUnavailable
from payments.services import ledger_entries
from payments.services.payouts import payout_returns
from payments.services.rails import rail_choices
from payments.services.staff import staff_actions
from payments.services.transfers import incoming
from payments.services.transfers import unapplied_decisions as decisions
from payments.services.transfers.incoming import Notice
from payments.services.transfers.return_destinations import OtherCurrency
from tests import orders
from tests.bank_signing import KEY, signed_headers
from tests.beneficiaries import blocked_beneficiary
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory
from tests.racing import racers
from tests.settling import STAFF
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import UnappliedMoney
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

PATH = "/api/unapplied-transfers"
KNOWN = {"sender_account_number": "0123456789", "sender_bank_code": "058"}
DESTINATION = {"name": "Bisi Ojo", "account_number": "0123456789", "bank_code": "058"}
BECAUSE = {"reason": "Paid twice"}


@pytest.fixture
def allowed(ada):
    Business.objects.filter(pk=ada.business_id).update(keys_decide_unapplied=True)


@pytest.fixture
def arrive(dynamic, pay_into, simulate):
    """Return a function that receives a second transfer for a payment and returns its unapplied transfer."""
    payment = pay_into(dynamic)
    number = payment["virtual_account_details"]["account_number"]
    simulate(number, 50_000)

    def second(amount=40_000, **sender):
        notice = {"bank_reference": uuid.uuid4().hex, "sender_name": "Bisi Ojo"} | sender
        received = incoming.receive(Notice(account_number=number, amount=amount, **notice))
        return received.resource.unapplied

    return second


def decide(api, money, what, body=BECAUSE):
    return api.post(f"{PATH}/{money.pk}/{what}", body)


def wallet(business):
    return next(balance.available for balance in balances(business) if balance.currency == "NGN")


def unapplied_balance(business):
    return Account.objects.get(business=business, currency="NGN", kind="unapplied").balance


def broken_rules():
    return [(one.invariant.name, one.broken) for one in check(INVARIANTS) if not one.holds]


def payouts():
    return Transaction.objects.filter(request_type="payout")


class TestList:
    def test_shows_newest_first_in_pages(self, api, arrive):
        made = [str(arrive(amount).pk) for amount in (1, 2, 3)]

        first = api.get(f"{PATH}?limit=2").json()
        second = api.get(first["next"].removeprefix("http://testserver")).json()

        assert [each["id"] for each in first["data"] + second["data"]] == made[::-1]
        assert (second["next"], first["previous"]) == (None, None)

    def test_names_sender_reason_and_payment(self, api, arrive):
        arrive(**KNOWN)

        (shown,) = api.get(PATH).json()["data"]

        assert shown["sender"] == {"name": "Bisi Ojo", "account_number": "0123456789", "bank_code": "058"}
        assert (shown["why"], shown["state"], shown["amount"]) == ("second", "open", 40_000)
        assert Transaction.objects.get().reference == shown["payment_reference"]

    @pytest.mark.usefixtures("allowed")
    def test_is_filtered_by_state(self, api, arrive):
        opened, credited, returned = arrive(), arrive(), arrive(**KNOWN)
        decide(api, credited, "credit")
        decide(api, returned, "return")

        for money, state in ((opened, "open"), (credited, "credited"), (returned, "returned")):
            listed = api.get(f"{PATH}?state={state}").json()["data"]
            assert [each["id"] for each in listed] == [str(money.pk)]

    def test_is_filtered_by_time(self, api, arrive):
        arrive()
        (shown,) = api.get(PATH).json()["data"]
        moment = shown["received_at"]

        both = f"{PATH}?created_from={moment}&created_to={moment}"
        assert len(api.get(both).json()["data"]) == 1
        assert api.get(f"{PATH}?created_to=2020-01-01T00:00:00Z").json()["data"] == []

    @pytest.mark.parametrize("query", ["state=new", "status=open", "state=open&state=open", "limit=0"])
    def test_rejects_unknown_filters(self, api, query):
        assert api.get(f"{PATH}?{query}").status_code == 400

    def test_shows_nothing_of_another_business(self, other_api, arrive):
        arrive()

        assert other_api.get(PATH).json()["data"] == []

    def test_number_of_queries_does_not_depend_on_number_of_items(
        self, api, arrive, django_assert_max_num_queries
    ):
        for _ in range(5):
            arrive(**KNOWN)

        with django_assert_max_num_queries(4):
            assert len(api.get(PATH).json()["data"]) == 5


class TestPermission:
    @pytest.mark.parametrize("what", ["credit", "return"])
    def test_is_off_by_default(self, api, arrive, what):
        money = arrive(**KNOWN)

        answer = decide(api, money, what)

        assert (answer.status_code, answer.json()["code"]) == (403, "key_may_not_decide")
        money.refresh_from_db()
        assert money.is_open

    def test_is_checked_before_the_body_and_the_resource(self, api):
        answer = api.post(f"{PATH}/{uuid.uuid4()}/credit", {})

        assert (answer.status_code, answer.json()["code"]) == (403, "key_may_not_decide")

    def test_is_checked_for_each_decision(self, api, ada, arrive):
        """Authentication caches the business of a key for some seconds, but not the setting."""
        money = arrive()
        Business.objects.filter(pk=ada.business_id).update(keys_decide_unapplied=True)
        assert decide(api, money, "credit").status_code == 200
        Business.objects.filter(pk=ada.business_id).update(keys_decide_unapplied=False)
        assert decide(api, money, "credit").status_code == 403

    @pytest.mark.usefixtures("allowed")
    def test_needs_a_key_with_write_access(self, ada, arrive):
        reading = ApiKeyFactory(business=ada.business, access="read")
        client = InProcessClient(Credentials(reading.public_id, reading.secret))

        answer = decide(client, arrive(), "credit")

        assert (answer.status_code, answer.json()["code"]) == (403, "key_may_not_write")
        assert client.get(PATH).status_code == 200

    def test_does_not_apply_to_another_business(self, other_api, bisi, arrive):
        Business.objects.filter(pk=bisi.business_id).update(keys_decide_unapplied=True)
        money = arrive(**KNOWN)

        for what in ("credit", "return"):
            assert decide(other_api, money, what).status_code == 404
        money.refresh_from_db()
        assert money.is_open


@pytest.mark.usefixtures("allowed")
class TestCredit:
    def test_credits_the_wallet(self, api, ada, arrive):
        money = arrive()

        answer = decide(api, money, "credit")

        shown = answer.json()
        assert answer.status_code == 200
        assert "Idempotent-Replayed" not in answer.headers
        assert (shown["id"], shown["state"], shown["reason"]) == (str(money.pk), "credited", "Paid twice")
        assert "return_reference" not in shown
        assert wallet(ada.business) == 40_000

    def test_is_audited_with_the_key(self, api, ada, arrive):
        money = arrive()

        decide(api, money, "credit")

        entry = AuditEntry.objects.get(action="unapplied.credited")
        assert (entry.actor, entry.address, entry.target) == (ada.public_id, "127.0.0.1", str(money.pk))
        money.refresh_from_db()
        assert money.actor == ada.public_id

    def test_again_is_a_replay_whatever_the_reason(self, api, ada, arrive):
        money = arrive()
        first = decide(api, money, "credit")

        again = decide(api, money, "credit", {"reason": "Twice"})

        assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
        assert again.json() == first.json()
        assert wallet(ada.business) == 40_000

    def test_of_money_that_staff_credited_is_a_replay(self, api, arrive):
        money = arrive()
        decisions.credit(money.pk, reason="By staff", actor=STAFF, now=money.created_at)

        assert decide(api, money, "credit").headers["Idempotent-Replayed"] == "true"

    def test_of_returned_money_is_rejected(self, api, arrive):
        money = arrive(**KNOWN)
        decide(api, money, "return")

        answer = decide(api, money, "credit")

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")

    @pytest.mark.parametrize(
        ("body", "field", "code"),
        [
            ({}, "reason", "required"),
            ({"reason": ""}, "reason", "invalid_length"),
            ({"reason": " "}, "reason", "invalid"),
            ({"reason": "x" * 256}, "reason", "invalid_length"),
            ({"reason": 7}, "reason", "invalid_type"),
            ({**BECAUSE, "destination": DESTINATION}, "destination", "unknown_field"),
        ],
    )
    def test_accepts_a_reason_only(self, api, arrive, body, field, code):
        answer = decide(api, arrive(), "credit", body)

        assert answer.status_code == 400
        assert [(error["field"], error["code"]) for error in answer.json()["errors"]] == [(field, code)]

    def test_masks_a_card_number_in_the_reason(self, api, arrive):
        shown = decide(api, arrive(), "credit", {"reason": f"card {orders.GOOD_CARD}"}).json()

        assert orders.GOOD_CARD not in shown["reason"]

    @pytest.mark.parametrize("money_id", [uuid.uuid4(), "none"])
    def test_of_unknown_money_is_404(self, api, money_id):
        assert api.post(f"{PATH}/{money_id}/credit", BECAUSE).status_code == 404


@pytest.mark.usefixtures("allowed")
class TestReturn:
    def test_pays_the_sender_without_a_fee(self, api, ada, arrive):
        money = arrive(**KNOWN)

        shown = decide(api, money, "return").json()

        payout = api.get(f"/api/payments/{shown['return_reference']}").json()
        assert (shown["state"], payout["status"], payout["amount"], payout["fee"]) == (
            "returned", "success", 40_000, 0,
        )  # fmt: skip
        assert payout["customer"]["account_number"] == "0123456789"
        assert wallet(ada.business) == 0

    def test_needs_a_destination_if_the_sender_is_unknown(self, api, arrive):
        money = arrive()

        answer = decide(api, money, "return")

        assert (answer.status_code, answer.json()["code"]) == (400, "destination_required")
        assert answer.json()["errors"][0]["field"] == "destination"
        returned = decide(api, money, "return", {**BECAUSE, "destination": DESTINATION})
        assert (returned.status_code, returned.json()["state"]) == (200, "returned")
        assert payouts().get().customer_name == "Bisi Ojo"

    @pytest.mark.parametrize(
        "sender",
        [
            {"sender_account_number": "12345", "sender_bank_code": "058"},
            {"sender_account_number": "0123456789", "sender_bank_code": "999"},
            {"sender_account_number": "0123456789"},
            {"sender_bank_code": "058"},
        ],
    )
    def test_needs_a_destination_if_payouts_cannot_reach_the_sender(self, api, arrive, sender):
        money = arrive(**sender)

        assert decide(api, money, "return").json()["code"] == "destination_required"
        assert decide(api, money, "return", {**BECAUSE, "destination": DESTINATION}).status_code == 200

    def test_rejects_a_destination_if_the_sender_is_known(self, api, arrive):
        answer = decide(api, arrive(**KNOWN), "return", {**BECAUSE, "destination": DESTINATION})

        assert (answer.status_code, answer.json()["code"]) == (400, "not_allowed_here")
        assert not payouts().exists()

    def test_names_every_invalid_field_of_the_destination(self, api, arrive):
        wrong = {"account_number": "1", "bank_code": "999", "iban": "x"}

        answer = decide(api, arrive(), "return", {"destination": wrong})

        assert {error["field"] for error in answer.json()["errors"]} == {
            "reason", "destination.name", "destination.account_number", "destination.bank_code",
            "destination.iban",
        }  # fmt: skip

    def test_again_is_a_replay(self, api, arrive):
        money = arrive()
        body = {**BECAUSE, "destination": DESTINATION}
        first = decide(api, money, "return", body)

        again = decide(api, money, "return", body)

        assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
        assert again.json() == first.json()
        assert payouts().count() == 1

    def test_to_another_account_is_rejected(self, api, arrive):
        money = arrive()
        decide(api, money, "return", {**BECAUSE, "destination": DESTINATION})

        other = {**BECAUSE, "destination": DESTINATION | {"account_number": "0123456780"}}

        answer = decide(api, money, "return", other)

        assert (answer.status_code, answer.json()["differs"]) == (409, ["destination"])

    def test_of_credited_money_is_rejected(self, api, arrive):
        money = arrive()
        decide(api, money, "credit")

        answer = decide(api, money, "return")

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
        assert "already credited" in answer.json()["detail"]

    def test_in_another_currency_than_the_banks_is_rejected(self, api, arrive):
        money = arrive(currency="USD", **KNOWN)

        answer = decide(api, money, "return")

        assert (answer.status_code, answer.json()["code"]) == (400, "unsupported_currency")
        assert not payouts().exists()
        assert decide(api, money, "credit").status_code == 200

    def test_refused_by_the_bank_is_open_again_with_the_banks_reason(self, api, ada, arrive):
        money = arrive(40_051, **KNOWN)

        shown = decide(api, money, "return").json()

        payout = payouts().get()
        assert payout.status == "failed"
        assert (shown["state"], shown["reason"], shown["return_reference"]) == (
            "open", payout.response_summary, payout.reference,
        )  # fmt: skip
        assert "decided_at" not in shown
        assert (wallet(ada.business), unapplied_balance(ada.business)) == (0, 40_051)

    def test_refused_to_one_account_may_go_to_another_or_be_credited(self, api, ada, arrive):
        money = arrive(40_051)
        refused, other = (
            {**BECAUSE, "destination": DESTINATION | {"account_number": number}}
            for number in ("0123456789", "0123456780")
        )
        decide(api, money, "return", refused)

        again = decide(api, money, "return", refused)
        further = decide(api, money, "return", other)
        credited = decide(api, money, "credit")

        assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
        assert (further.status_code, "Idempotent-Replayed" in further.headers) == (200, False)
        first = f"return_{money.pk.hex}"
        assert set(payouts().values_list("reference", flat=True)) == {first, f"{first}_2"}
        assert credited.json()["state"] == "credited"
        assert (wallet(ada.business), unapplied_balance(ada.business)) == (40_051, 0)
        movements = api.get("/api/balance/movements").json()["data"]
        assert {one["reference"] for one in movements if one["kind"] == "unapplied_out"} == {str(money.pk)}
        assert [one.broken for one in check(INVARIANTS) if not one.holds] == []

    @pytest.mark.parametrize(
        ("controls", "awaiting"),
        [
            ({"approval": "always"}, "approval"),
            ({"approval": "always", "keys_need_approval": False}, ""),
            ({"approval": "above", "approval_above": {"NGN": 39_999}}, "approval"),
            ({"approval": "above", "approval_above": {"NGN": 40_000}}, ""),
            ({"server_url": "https://payouts.example.com/ask"}, "server"),
            ({"per_payout": {"NGN": 1}}, ""),
        ],
    )
    def test_to_an_entered_account_waits_like_a_payout(self, api, ada, arrive, controls, awaiting):
        PayoutControls.objects.create(business=ada.business, **controls)
        money = arrive()

        made = decide(api, money, "return", BECAUSE | {"destination": DESTINATION})
        again = decide(api, money, "return", BECAUSE | {"destination": DESTINATION})

        payout = payouts().get()
        assert (made.status_code, again.status_code) == (200, 200)
        assert (payout.awaiting or "", payout.status) == (awaiting, "pending" if awaiting else "success")
        assert broken_rules() == []

    def test_that_waits_and_is_cancelled_is_unapplied_again(self, api, ada, arrive):
        PayoutControls.objects.create(business=ada.business, approval="always")
        money = arrive()
        reference = decide(api, money, "return", BECAUSE | {"destination": DESTINATION}).json()[
            "return_reference"
        ]

        cancelled = api.post(f"/api/payments/{reference}/cancel", {})

        money.refresh_from_db()
        assert (cancelled.json()["response_code"], money.state) == ("20091", "open")
        assert broken_rules() == []

    @pytest.mark.parametrize("body", [BECAUSE, BECAUSE | {"destination": DESTINATION}])
    def test_while_payouts_are_frozen_is_refused(self, api, ada, arrive, body):
        PayoutControls.objects.create(business=ada.business, frozen_at=timezone.now(), freeze_reason="Theft")
        money = arrive(**({} if "destination" in body else KNOWN))

        answer = decide(api, money, "return", body)

        money.refresh_from_db()
        assert (answer.status_code, answer.json()["code"]) == (409, "payouts_frozen")
        assert (money.state, payouts().count()) == ("open", 0)

    def test_to_a_blocked_account_is_refused(self, api, ada, arrive):
        blocked_beneficiary(ada.business, **DESTINATION)
        money = arrive()

        answer = decide(api, money, "return", BECAUSE | {"destination": DESTINATION})

        assert (answer.status_code, answer.json()["code"]) == (409, "beneficiary_blocked")

    def test_without_an_answer_stays_returned(self, api, ada, arrive):
        money = arrive()
        lost = {**BECAUSE, "destination": DESTINATION | {"account_number": "0000000097"}}

        assert decide(api, money, "return", lost).json()["state"] == "returned"

        assert payouts().get().status == "pending"
        assert unapplied_balance(ada.business) == 0

    def test_without_a_bank_stores_nothing(self, api, arrive, monkeypatch):
        money = arrive(**KNOWN)
        monkeypatch.setattr(rail_choices, "bank_for", _unavailable)

        answer = decide(api, money, "return")

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert answer.headers["Retry-After"]
        money.refresh_from_db()
        assert money.is_open
        assert not payouts().exists()

    def test_again_without_a_bank_is_a_replay_and_another_decision_409(self, api, arrive, monkeypatch):
        returned, credited = arrive(**KNOWN), arrive(**KNOWN)
        decide(api, returned, "return")
        decide(api, credited, "credit")
        monkeypatch.setattr(rail_choices, "bank_for", _unavailable)

        assert decide(api, returned, "return").headers["Idempotent-Replayed"] == "true"
        assert decide(api, credited, "return").status_code == 409


def _unavailable(_business):
    raise ConnectorUnavailable


class TestReturnByStaff:
    def test_in_another_currency_than_the_banks_is_rejected(self, arrive):
        money = arrive(currency="USD", **KNOWN)

        with pytest.raises(OtherCurrency):
            decisions.return_to_sender(money.pk, reason="Back", actor=STAFF, now=money.created_at)

    def test_to_an_account_of_another_length_is_rejected(self, arrive):
        money = arrive(sender_account_number="12345", sender_bank_code="058")

        with pytest.raises(decisions.SenderUnknown):
            decisions.return_to_sender(money.pk, reason="Back", actor=STAFF, now=money.created_at)


@pytest.mark.usefixtures("allowed")
@pytest.mark.django_db(transaction=True)
class TestRaces:
    """Each fails without the lock of the unapplied transfer (on PostgreSQL)."""

    def test_credit_and_return_by_two_keys_succeed_once(self, api, ada, arrive):
        second = ApiKeyFactory(business=ada.business)
        other_key = InProcessClient(Credentials(second.public_id, second.secret))
        with racers(2) as line:
            for _ in range(5):
                money = arrive(**KNOWN)
                before = wallet(ada.business)
                answers = line.race(
                    lambda money=money: decide(api, money, "credit"),
                    lambda money=money: decide(other_key, money, "return"),
                )
                assert sorted(answer.status_code for answer in answers) == [200, 409]
                money.refresh_from_db()
                gained = 40_000 if money.state == "credited" else 0
                assert wallet(ada.business) - before == gained

    def test_of_equal_credits_one_is_performed(self, api, ada, arrive):
        money = arrive()
        with racers(4) as line:
            answers = line.race(*[lambda: decide(api, money, "credit")] * 4)

        replayed = [answer.headers.get("Idempotent-Replayed", "false") for answer in answers]
        assert sorted(replayed) == ["false", "true", "true", "true"]
        assert wallet(ada.business) == 40_000

    def test_of_equal_returns_one_is_paid(self, api, ada, arrive):
        money = arrive(**KNOWN)
        with racers(4) as line:
            answers = line.race(*[lambda: decide(api, money, "return")] * 4)

        assert [answer.status_code for answer in answers] == [200] * 4
        assert payouts().count() == 1
        assert wallet(ada.business) == 0

    def test_of_a_key_and_staff_one_wins(self, api, ada, arrive):
        with racers(2) as line:
            for _ in range(5):
                money = arrive(**KNOWN)
                before = wallet(ada.business)
                by_key, by_staff = line.race(
                    lambda money=money: decide(api, money, "credit").status_code,
                    lambda money=money: decisions.return_to_sender(
                        money.pk, reason="Back", actor=STAFF, now=money.created_at
                    ),
                )
                lost = isinstance(by_staff, decisions.NotOpen)
                assert by_key == (200 if lost else 409)
                assert wallet(ada.business) - before == (40_000 if lost else 0)


@pytest.mark.usefixtures("allowed")
def test_proposal_of_staff_is_stale_after_a_keys_decision(api, arrive):
    money = arrive(**KNOWN)
    decide(api, money, "credit")

    money.refresh_from_db()
    with pytest.raises(decisions.NotOpen):
        staff_actions.unapplied_decision(money, staff_actions.Action.RETURN_UNAPPLIED, reason="Back")
    assert UnappliedMoney.objects.get().state == "credited"


class TestReturnThatTheBankSentBack:
    """The bank accepts the return of unapplied money, and returns it later."""

    @pytest.fixture
    def bounce(self, client, settings):
        settings.BANK_NOTIFICATION_KEYS = [KEY]

        def send(payout, **changes):
            returned = {"bank_reference": "ret-1", "payout_reference": payout.pk.hex, "amount": payout.amount}
            raw = json.dumps(returned | {"currency": "NGN", "reason": "Account closed"} | changes).encode()
            headers = signed_headers(raw)
            return client.post(
                "/bank/payout-returns", raw, content_type="application/json", headers=headers
            ).json()

        return send

    @pytest.fixture
    def returned(self, api, arrive, allowed):
        money = arrive(**KNOWN)
        decide(api, money, "return")
        assert payouts().get().status == "success"
        return money

    def test_is_open_again_with_the_banks_reason_and_an_event(self, api, ada, returned, bounce):
        make_endpoint(business=ada.business, events=["unapplied", "reversal"])

        assert bounce(payouts().get())["applied"] == "reversed"

        (shown,) = api.get("/api/unapplied-transfers").json()["data"]
        assert (shown["state"], shown["reason"]) == ("open", "Account closed")
        assert (wallet(ada.business), unapplied_balance(ada.business)) == (0, returned.amount)
        events = {
            json.loads(sent.body)["event"]: json.loads(sent.body)["data"] for sent in Delivery.objects.all()
        }
        assert set(events) == {"payout.reversed", "transfer.unapplied"}
        assert events["transfer.unapplied"]["reason"] == "Account closed"
        assert broken_rules() == []

    @pytest.mark.usefixtures("allowed")
    def test_has_an_event_beside_that_of_its_arrival(self, api, ada, arrive, bounce):
        """The arrival, and each return that came back, is an outcome of its own."""
        make_endpoint(business=ada.business, events=["unapplied"])
        money = arrive(**KNOWN)
        decide(api, money, "return")

        assert bounce(payouts().get())["applied"] == "reversed"
        decisions.return_to_sender(money.pk, reason="Again", actor=STAFF, now=timezone.now())
        second = payouts().exclude(amount_returned__gt=0).get()
        assert bounce(second, bank_reference="ret-2", reason="Dormant")["applied"] == "reversed"

        sent = [json.loads(each.body) for each in Delivery.objects.order_by("created_at")]
        assert [each["event"] for each in sent] == ["transfer.unapplied"] * 3
        assert [each["data"].get("reason") for each in sent] == [None, "Account closed", "Dormant"]
        assert {each["data"]["id"] for each in sent} == {str(money.pk)}
        listed = api.get("/api/events").json()["data"]
        assert {(each["subject"]["type"], each["subject"]["id"]) for each in listed} == {
            ("transfer", str(money.pk))
        }
        assert broken_rules() == []

    def test_may_be_credited_or_returned_again(self, api, ada, returned, bounce):
        bounce(payouts().get())
        decisions.return_to_sender(returned.pk, reason="Again", actor=STAFF, now=timezone.now())
        second = payouts().exclude(amount_returned__gt=0).get()
        bounce(second, bank_reference="ret-2")

        assert decide(api, returned, "credit").status_code == 200

        assert second.reference.endswith("_2")
        assert (wallet(ada.business), unapplied_balance(ada.business)) == (returned.amount, 0)
        assert broken_rules() == []

    def test_in_part_stays_in_suspense(self, ada, returned, bounce):
        answer = bounce(payouts().get(), amount=1)

        assert (answer["applied"], answer["reason"]) == ("unmatched", "partial_return")
        assert (wallet(ada.business), unapplied_balance(ada.business)) == (0, 0)
        assert broken_rules() == []

    def test_is_unapplied_again_if_staff_record_it(self, ada, returned):
        payout = payouts().get()

        payout_returns.reverse(transaction_id=payout.pk, reason="Mail", actor=STAFF, now=timezone.now())

        returned.refresh_from_db()
        assert (returned.state, returned.reason) == ("open", "Mail")
        assert (wallet(ada.business), unapplied_balance(ada.business)) == (0, returned.amount)
        assert broken_rules() == []

    @pytest.mark.parametrize("by", ["bank", "staff"])
    def test_of_which_the_earlier_release_credited_a_part_goes_to_the_wallet(self, ada, returned, bounce, by):
        """Money is open or returned as a whole, and that part is in the wallet already."""
        payout = payouts().get()
        part = PayoutReturn.objects.create(
            pk=uuid.uuid4(), transaction=payout, amount=100, currency="NGN", applied="reversed", actor="bank",
            bank_reference="ret-0", at=timezone.now(),
        )  # fmt: skip
        payout.add_return(part.amount)
        ledger.book(ledger_entries.payout_reversed(payout, part, to=ledger.Kind.WALLET, now=part.at))

        if by == "bank":
            bounce(payout, amount=payout.amount - part.amount)
        else:
            payout_returns.reverse(transaction_id=payout.pk, reason="Mail", actor=STAFF, now=timezone.now())

        returned.refresh_from_db()
        assert returned.state == "returned"
        assert (wallet(ada.business), unapplied_balance(ada.business)) == (returned.amount, 0)
        assert broken_rules() == []
