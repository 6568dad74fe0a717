from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from payments.models import Transaction
from payments.services.transactions import expiry, transitions
from payments.services.transfers import account_deactivation
from tests import orders
from virtual_accounts import nuban
from virtual_accounts.models import AccountNumber, Session, Transfer, UnappliedMoney, VirtualAccount

pytestmark = pytest.mark.django_db

ACCOUNTS = "/api/virtual-accounts"


def number_of(payment):
    return payment["virtual_account_details"]["account_number"]


def errors(answer):
    assert answer.status_code == 400, answer.content
    return {error["field"]: error["code"] for error in answer.json()["errors"]}


def look_up(api, payment):
    return api.get(f"/api/payments/{payment['reference']}").json()


def run_out(payment):
    """Expire a payment."""
    Session.objects.filter(payment=payment["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))


class TestPaymentIntoADynamicAccount:
    def test_is_pending_with_its_own_number(self, api, dynamic):
        order = orders.transfer_payment(dynamic, expiry_duration=60)

        answer = api.post("/api/payments", order)

        payment = answer.json()
        details = payment["virtual_account_details"]
        assert answer.status_code == 201
        assert payment.keys() == {
            "request_type", "id", "reference", "status", "response_code", "response_summary", "amount",
            "currency", "payment_timestamp", "payment_method", "fee", "virtual_account_details",
            "refund_status", "total_amount_available_to_refund", "total_amount_refunded",
        }  # fmt: skip
        assert (payment["status"], payment["response_code"]) == ("pending", "10001")
        assert details.keys() == {
            "account_number", "bank", "account_name", "expected_amount", "amount_received", "expires_at",
            "status",
        }  # fmt: skip
        assert nuban.is_valid("035", details["account_number"])
        assert (details["bank"], details["account_name"]) == ("Wema Bank", "Ada Obi")
        assert (details["expected_amount"], details["amount_received"]) == ("50000", "")
        assert details["status"] == "pending"
        open_for = parse_datetime(details["expires_at"]) - parse_datetime(payment["payment_timestamp"])
        assert open_for == timedelta(seconds=60)

    def test_shows_its_customer(self, dynamic, pay_into):
        customer = {"reference": "c-7", "email": "ada@shop.example", "name": "Ada Obi"}

        payment = pay_into(dynamic, customer=customer)

        assert payment["customer"] == {"name": "Ada Obi", "merchant_reference": "c-7"}

    def test_has_a_new_number_each_time(self, dynamic, pay_into):
        assert len({number_of(pay_into(dynamic)) for _ in range(5)}) == 5

    def test_succeeds_with_the_expected_amount(self, api, dynamic, pay_into, simulate, events):
        payment = pay_into(dynamic)

        answer = simulate(number_of(payment), 50_000, sender_name="Bisi Ojo")

        paid = look_up(api, payment)
        assert (answer.status_code, answer.json()["success"]) == (200, True)
        assert answer.json().keys() == {"success", "message"}
        assert "simulated" in answer.json()["message"]
        assert (paid["status"], paid["response_code"]) == ("success", "10000")
        assert paid["response_summary"] == "Payment of 50000 NGN received from Bisi Ojo"
        assert paid["virtual_account_details"]["amount_received"] == "50000"
        assert paid["virtual_account_details"]["status"] == "success"
        assert paid["fee"] == 500
        assert events() == [("payment.success", paid)]

    @pytest.mark.parametrize("received", [49_999, 50_001, 1])
    def test_fails_with_any_other_amount(  # noqa: PLR0917
        self, api, dynamic, pay_into, simulate, events, received
    ):
        payment = pay_into(dynamic)

        answer = simulate(number_of(payment), received)

        failed = look_up(api, payment)
        assert (answer.status_code, answer.json()["success"]) == (200, True)
        assert (failed["status"], failed["response_code"], failed["fee"]) == ("failed", "20013", 0)
        assert failed["response_summary"] == (
            f"Amount mismatch: expected 50000 NGN but received {received} NGN"
        )
        assert failed["virtual_account_details"]["amount_received"] == str(received)
        assert failed["virtual_account_details"]["status"] == "mismatch"
        assert events() == [("payment.mismatch", failed)]
        assert UnappliedMoney.objects.get().amount == received

    def test_expires_without_money(self, api, dynamic, pay_into, events):
        payment = pay_into(dynamic)
        run_out(payment)

        call_command("expire_due")

        expired = look_up(api, payment)
        assert (expired["status"], expired["response_code"]) == ("failed", "20068")
        assert expired["response_summary"] == "Payment expired without receiving funds"
        assert expired["virtual_account_details"]["status"] == "expired"
        assert expired["virtual_account_details"]["amount_received"] == ""
        assert events() == [("payment.failed", expired)]

    def test_that_cannot_be_expired_is_skipped_and_the_others_expire_together(
        self, api, dynamic, pay_into, monkeypatch
    ):
        first, wrong, *others = [pay_into(dynamic) for _ in range(5)]
        for payment in (first, wrong, *others):
            run_out(payment)
        fail_all = transitions.fail_all

        def fail(payments, *arguments, **named):
            if wrong["id"] in {str(payment.pk) for payment in payments}:
                raise LookupError
            fail_all(payments, *arguments, **named)

        monkeypatch.setattr(transitions, "fail_all", fail)

        assert list(expiry.expire_sessions()) == [1, 3]
        assert look_up(api, wrong)["status"] == "pending"
        assert {look_up(api, payment)["status"] for payment in (first, *others)} == {"failed"}

    def test_releases_its_number_a_day_after_its_end(self, dynamic, pay_into, simulate):
        payment = pay_into(dynamic)
        assert AccountNumber.objects.get(pk=number_of(payment)).free_at is None

        simulate(number_of(payment), 50_000)

        number = AccountNumber.objects.get(pk=number_of(payment))
        assert (number.holder, str(number.last_holder_id)) == (None, dynamic)
        assert number.free_at == Session.objects.get().ended_at + timedelta(hours=24)

    def test_is_replayed_for_the_same_request(self, api, dynamic):
        order = orders.transfer_payment(dynamic)
        first = api.post("/api/payments", order).json()
        api.post(f"{ACCOUNTS}/{VirtualAccount.objects.get().reference}/deactivate")

        again = api.post("/api/payments", order)

        assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
        assert again.json()["id"] == first["id"]
        assert number_of(again.json()) == number_of(first)
        assert Session.objects.count() == 1

    @pytest.mark.parametrize("change", [{"amount": 1}, {"expiry_duration": 61}])
    def test_with_a_used_reference_is_rejected(self, api, dynamic, change):
        order = orders.transfer_payment(dynamic)
        api.post("/api/payments", order)

        answer = api.post("/api/payments", order | change)

        assert (answer.status_code, answer.json()["existing"]["status"]) == (409, "pending")
        assert Session.objects.count() == 1
        assert AccountNumber.objects.filter(holder__isnull=False).count() == 1

    def test_is_found_by_its_method(self, api, dynamic, pay_into):
        payment = pay_into(dynamic)
        api.post("/api/payments", orders.card_payment())

        found = api.get("/api/payments?payment_method=virtual_account").json()["data"]

        assert found == [payment]


class TestPaymentIntoAStaticAccount:
    def test_goes_to_its_permanent_number(self, static, pay_into):
        payment = pay_into(static["id"])

        assert number_of(payment) == static["customer"]["account_number"]
        assert payment["virtual_account_details"]["account_name"] == "Ada Ngozi Obi"

    def test_is_limited_to_one_at_a_time(self, api, static, pay_into):
        pay_into(static["id"])

        answer = api.post("/api/payments", orders.transfer_payment(static["id"]))

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
        assert Transaction.objects.count() == 1

    def test_may_follow_an_expired_one_before_the_schedule_runs(self, api, static, pay_into, events):
        first = pay_into(static["id"])
        run_out(first)

        second = pay_into(static["id"])

        assert second["virtual_account_details"]["status"] == "pending"
        assert look_up(api, first)["response_code"] == "20068"
        assert [(event, data["id"]) for event, data in events()] == [("payment.failed", first["id"])]

    def test_may_follow_another(self, static, pay_into, simulate):
        for _ in range(2):
            payment = pay_into(static["id"])
            simulate(number_of(payment), 50_000)

        assert list(Transaction.objects.values_list("status", flat=True)) == ["success", "success"]

    def test_that_receives_another_amount_fails_with_the_usual_event(
        self, api, static, pay_into, simulate, events
    ):
        payment = pay_into(static["id"])

        simulate(number_of(payment), 60_000)

        failed = look_up(api, payment)
        assert failed["response_code"] == "20013"
        assert events() == [("payment.failed", failed)]

    def test_keeps_the_number(self, static, pay_into, simulate):
        simulate(number_of(pay_into(static["id"])), 50_000)

        number = AccountNumber.objects.get(pk=static["customer"]["account_number"])
        assert str(number.holder_id) == static["id"]


class TestRequest:
    def test_rejects_an_invalid_field(self, subtests, api, dynamic):
        for field, value in [
            ("payment_method_id", ...),
            ("payment_method_id", None),
            ("payment_method_id", 7),
            ("payment_method_id", ""),
            ("expiry_duration", ...),
            ("expiry_duration", 59),
            ("expiry_duration", 0),
            ("expiry_duration", -60),
            ("expiry_duration", 31_536_001),
            ("expiry_duration", 60.5),
            ("expiry_duration", "900"),
            ("expiry_duration", True),
            ("amount", 0),
            ("amount", ...),
            ("currency", "ngn"),
            ("customer", {"name": "Ada Obi"}),
        ]:
            with subtests.test(field=field, value=value):
                answer = api.post("/api/payments", orders.transfer_payment(dynamic, **{field: value}))

                assert all(name.startswith(field) for name in errors(answer))
                assert not Transaction.objects.exists()

    @pytest.mark.parametrize("expiry_duration", [60, 60.0, 31_536_000])
    def test_accepts_whole_seconds(self, dynamic, pay_into, expiry_duration):
        assert pay_into(dynamic, expiry_duration=expiry_duration)["status"] == "pending"

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("source", orders.card_source()),
            ("3ds", {"enabled": True}),
            ("redirect_url", "https://shop.example/back"),
            ("capture", True),
        ],
    )
    def test_rejects_a_field_of_card_payments(self, api, dynamic, field, value):
        answer = api.post("/api/payments", orders.transfer_payment(dynamic) | {field: value})

        assert errors(answer) == {field: "not_allowed_here"}
        assert answer.json()["code"] == "not_allowed_here"

    @pytest.mark.parametrize("account_id", ["no-uuid", "01980a5e-7b00-7c00-8000-000000000003", "x" * 100])
    def test_rejects_an_unknown_account(self, api, account_id):
        answer = api.post("/api/payments", orders.transfer_payment(account_id))

        assert errors(answer) == {"payment_method_id": "invalid_payment_method"}
        assert answer.json()["code"] == "invalid_payment_method"

    def test_rejects_an_account_of_another_business(self, other_api, dynamic):
        answer = other_api.post("/api/payments", orders.transfer_payment(dynamic))

        assert answer.json()["code"] == "invalid_payment_method"

    def test_rejects_an_inactive_account(self, api, dynamic):
        api.post(f"{ACCOUNTS}/{VirtualAccount.objects.get().reference}/deactivate")

        answer = api.post("/api/payments", orders.transfer_payment(dynamic))

        assert answer.json()["code"] == "invalid_payment_method"

    def test_rejects_another_currency_than_the_accounts(self, api, dynamic):
        answer = api.post("/api/payments", orders.transfer_payment(dynamic, currency="USD"))

        assert answer.json()["code"] == "invalid_payment_method"

    def test_without_a_hosting_bank_stores_nothing(self, api, dynamic, settings):
        settings.ACCOUNT_PROVIDER = ""

        answer = api.post("/api/payments", orders.transfer_payment(dynamic))

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert not Transaction.objects.exists()


class TestUnrequestedTransfer:
    def test_to_a_static_account_is_a_new_payment(self, api, static, simulate, events):
        answer = simulate(static["customer"]["account_number"], 70_000, sender_name="Bisi Ojo")

        [payment] = api.get("/api/payments").json()["data"]
        assert answer.json()["success"] is True
        assert payment["reference"].startswith("va_")
        assert (payment["status"], payment["amount"]) == ("success", 70_000)
        assert payment["response_summary"] == "Payment of 70000 NGN received from Bisi Ojo"
        assert payment["virtual_account_details"]["amount_received"] == "70000"
        assert payment["customer"] == {
            "name": "Ada Ngozi Obi",
            "merchant_reference": static["reference"],
        }
        assert events() == [("payment.success", payment)]

    @pytest.mark.parametrize("end", ["paid", "mismatched", "expired", "overdue", "deactivated"])
    def test_after_the_end_changes_no_payment_and_is_unapplied(  # noqa: PLR0917
        self, api, dynamic, pay_into, simulate, events, end
    ):
        payment = pay_into(dynamic)
        match end:
            case "paid":
                simulate(number_of(payment), 50_000)
            case "mismatched":
                simulate(number_of(payment), 1)
            case "deactivated":
                account_deactivation.deactivate(dynamic, now=timezone.now())
            case _:
                run_out(payment)
        if end == "expired":
            call_command("expire_due")
        before, count = look_up(api, payment), len(events())

        answer = simulate(number_of(payment), 50_000)

        unapplied = UnappliedMoney.objects.latest("created_at")
        assert answer.status_code == 200
        assert (answer.json()["success"], "unapplied" in answer.json()["message"]) == (True, True)
        assert look_up(api, payment) == before
        assert len(events()) == count
        assert (unapplied.amount, unapplied.state) == (50_000, "open")
        assert unapplied.business == Transaction.objects.get().business

    def test_to_an_inactive_static_account_is_unapplied(self, api, static, simulate, events):
        api.post(f"{ACCOUNTS}/{static['reference']}/deactivate")

        answer = simulate(static["customer"]["account_number"], 70_000)

        assert (answer.status_code, "unapplied" in answer.json()["message"]) == (200, True)
        assert not Transaction.objects.exists()
        assert events() == []
        assert Transfer.objects.get().reason == "inactive"

    def test_to_a_reassigned_number_belongs_to_the_new_account(
        self, api, other_api, dynamic, pay_into, simulate
    ):
        payment = pay_into(dynamic)
        simulate(number_of(payment), 50_000)
        AccountNumber.objects.exclude(pk=number_of(payment)).delete()
        AccountNumber.objects.update(free_at=timezone.now())
        theirs = other_api.post(ACCOUNTS, orders.dynamic_account()).json()["id"]
        other = other_api.post("/api/payments", orders.transfer_payment(theirs)).json()

        assert number_of(other) == number_of(payment)
        assert simulate(number_of(payment), 50_000).status_code == 404
        transfer = {"account_number": number_of(other), "amount": 50_000}
        assert other_api.post(f"{ACCOUNTS}/simulate", transfer).json()["success"] is True


class TestDeactivation:
    def test_returns_the_account(self, api, static):
        answer = api.post(f"{ACCOUNTS}/{static['reference']}/deactivate")

        assert (answer.status_code, answer.json()) == (200, static | {"status": "inactive"})

    def test_can_be_repeated(self, api, static):
        path = f"{ACCOUNTS}/{static['reference']}/deactivate"

        assert [api.post(path, body).status_code for body in (None, {}, None)] == [200, 200, 200]

    def test_fails_the_open_payment(self, api, static, pay_into, events):
        payment = pay_into(static["id"])

        api.post(f"{ACCOUNTS}/{static['reference']}/deactivate")

        failed = look_up(api, payment)
        assert (failed["status"], failed["response_code"]) == ("failed", "20030")
        assert failed["virtual_account_details"]["status"] == "failed"
        assert events() == [("payment.failed", failed)]

    def test_can_be_undone(self, api, static, pay_into):
        api.post(f"{ACCOUNTS}/{static['reference']}/deactivate")

        account_deactivation.activate(static["id"], now=timezone.now())

        assert api.get(f"{ACCOUNTS}/{static['reference']}").json() == static
        assert pay_into(static["id"])["status"] == "pending"

    def test_accepts_no_fields(self, api, static):
        answer = api.post(f"{ACCOUNTS}/{static['reference']}/deactivate", {"reason": "left"})

        assert answer.json()["code"] == "unknown_field"

    def test_of_an_account_of_another_business_finds_nothing(self, other_api, static):
        assert other_api.post(f"{ACCOUNTS}/{static['reference']}/deactivate").status_code == 404


class TestSimulation:
    def test_rejects_an_invalid_field(self, subtests, api):
        for transfer, field in [
            ({"amount": 1}, "account_number"),
            ({"account_number": "1000000014"}, "amount"),
            ({"account_number": "100000001", "amount": 1}, "account_number"),
            ({"account_number": 1000000014, "amount": 1}, "account_number"),
            ({"account_number": "10000000٤4", "amount": 1}, "account_number"),
            ({"account_number": "1000000014", "amount": 0}, "amount"),
            ({"account_number": "1000000014", "amount": 0.5}, "amount"),
            ({"account_number": "1000000014", "amount": "1"}, "amount"),
            ({"account_number": "1000000014", "amount": 1, "sender_name": ""}, "sender_name"),
            ({"account_number": "1000000014", "amount": 1, "sender": "Ada"}, "sender"),
        ]:
            with subtests.test(transfer=transfer, field=field):
                answer = api.post(f"{ACCOUNTS}/simulate", transfer)

                assert set(errors(answer)) == {field}
                assert (answer.json()["success"], bool(answer.json()["message"])) == (False, True)

    def test_of_a_number_that_was_never_issued_finds_nothing(self, simulate):
        answer = simulate("0123456789", 1)

        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["success"]) == (404, "unknown_account", False)
        assert problem["message"]

    def test_of_a_number_of_another_business_finds_nothing(self, other_api, static):
        transfer = {"account_number": static["customer"]["account_number"], "amount": 1}

        assert other_api.post(f"{ACCOUNTS}/simulate", transfer).json()["code"] == "unknown_account"

    def test_of_a_number_that_was_never_assigned_finds_nothing(self, static, simulate):
        in_the_pool = AccountNumber.objects.filter(last_holder=None).first()

        assert simulate(in_the_pool.pk, 1).json()["code"] == "unknown_account"

    def test_exists_only_in_the_sandbox(self, static, simulate, settings):
        settings.SANDBOX = False

        answer = simulate(static["customer"]["account_number"], 1)

        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["success"]) == (403, "sandbox_only", False)
        assert not Transfer.objects.exists()

    @pytest.mark.parametrize("how", ["unsigned", "too large", "not json"])
    def test_explains_every_rejection(self, api, client, how):
        path = f"{ACCOUNTS}/simulate"
        match how:
            case "unsigned":
                answer = client.post(path, b"{}", content_type="application/json")
            case "too large":
                answer = api.post(path, b" " * 70_000)
            case _:
                answer = api.post(path, b"{")

        assert answer.json()["success"] is False
        assert answer.json()["message"]

    def test_adds_a_missing_sender(self, api, static, simulate):
        simulate(static["customer"]["account_number"], 1)

        [payment] = api.get("/api/payments").json()["data"]
        assert payment["response_summary"] == "Payment of 1 NGN received from Sandbox Sender"

    def test_truncates_a_long_sender_to_one_line(self, api, static, simulate):
        simulate(static["customer"]["account_number"], 1, sender_name=" Ada   Obi " + "x" * 240)

        [payment] = api.get("/api/payments").json()["data"]
        summary = payment["response_summary"]
        assert summary.startswith("Payment of 1 NGN received from Ada Obi xxx")
        assert len(summary) == len("Payment of 1 NGN received from ") + 100

    def test_does_not_hide_an_account_of_that_name(self, api):
        account = api.post(ACCOUNTS, orders.dynamic_account(reference="simulate")).json()

        assert api.get(f"{ACCOUNTS}/simulate").json() == account
