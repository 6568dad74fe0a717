"""Saved beneficiaries, by API and as the recipients of payouts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.models import AuditEntry
from merchants.people.audit import Actor
from payments.models import Beneficiary, InvalidState, Transaction
from payments.rails.protocol import AnswerLost
from payments.rails.sandbox import SandboxBank
from payments.services.payouts import beneficiaries, name_enquiries
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

PATH = "/api/beneficiaries"
OWNER = Actor(name="ngozi@adire.example")


def saved(api, **changes):
    answer = api.post(PATH, orders.beneficiary(**changes))
    assert answer.status_code == 201, answer.json()
    return answer.json()


def pay(api, reference, **changes):
    return api.post("/api/payments", orders.payout(customer={"beneficiary": reference}, **changes))


def block(reference):
    found = Beneficiary.objects.get(reference=reference)
    beneficiaries.block(found.pk, reason="Invoice was forged", actor=OWNER, now=timezone.now())
    return found


def errors(answer):
    return {each["field"]: each["code"] for each in answer.json()["errors"]}


def test_is_saved_verified_and_listed(api, other_api):
    answer = api.post(PATH, orders.beneficiary(reference="kano", email="a@kano.example", note="Indigo"))

    shown = answer.json()
    assert (answer.status_code, answer.headers["Location"]) == (201, "/api/beneficiaries/kano")
    assert shown == {
        "id": shown["id"],
        "reference": "kano",
        "name": "Kano Dye Works",
        "account_number": "0690213447",
        "bank_code": "044",
        "bank_name": "Access Bank",
        "account_name": "Kano Dye Works",
        "currency": "NGN",
        "status": "verified",
        "email": "a@kano.example",
        "note": "Indigo",
        "created_at": shown["created_at"],
    }
    assert api.get(f"{PATH}/kano").json() == shown
    assert api.get(PATH).json()["data"] == [shown]
    assert other_api.get(f"{PATH}/kano").status_code == 404
    assert other_api.get(PATH).json()["data"] == []
    assert AuditEntry.objects.get(action="beneficiary.created").target == "kano"


def test_name_that_differs_and_silent_bank_are_shown(api):
    assert saved(api, account_number="0000000095")["status"] == "name_differs"
    unverified = saved(api, account_number="0000000094")
    assert (unverified["status"], unverified["account_name"]) == ("unverified", "")


def test_unknown_account_is_404_and_not_saved(api):
    answer = api.post(PATH, orders.beneficiary(account_number="0000000000"))

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_beneficiary")
    assert not Beneficiary.objects.exists()


def test_same_request_replays_and_another_is_refused(api):
    request = orders.beneficiary()
    first = api.post(PATH, request).json()

    again = api.post(PATH, request)
    other = api.post(PATH, request | {"account_number": "1012884306"})

    assert (again.status_code, again.headers["Idempotent-Replayed"], again.json()) == (200, "true", first)
    assert (other.status_code, other.json()["code"]) == (409, "duplicate_reference")
    assert other.json()["differs"] == ["account_number"]


def test_bad_input_names_every_field(api):
    answer = api.post(
        PATH, {"reference": "a b", "account_number": "12", "bank_code": "044", "currency": "USD"}
    )

    assert answer.status_code == 400
    assert errors(answer) == {
        "reference": "invalid",
        "name": "required",
        "account_number": "invalid",
        "currency": "unsupported_currency",
    }


def test_change_of_the_name_is_verified_again(api):
    saved(api, reference="kano", account_number="0000000095", note="Indigo")

    changed = api.patch(f"{PATH}/kano", {"name": "Sandbox Account", "note": None}).json()
    refused = api.patch(f"{PATH}/kano", {"account_number": "0690213447"})

    assert (changed["name"], changed["status"], "note" in changed) == ("Sandbox Account", "verified", False)
    assert errors(refused) == {"account_number": "not_allowed_here"}


def test_deleted_one_is_hidden_and_its_reference_stays_taken(api):
    request = orders.beneficiary(reference="kano")
    api.post(PATH, request)

    assert api.delete(f"{PATH}/kano").status_code == 204
    assert api.get(f"{PATH}/kano").status_code == api.delete(f"{PATH}/kano").status_code == 404
    assert api.get(PATH).json()["data"] == []
    assert api.post(PATH, request).status_code == 409
    assert errors(pay(api, "kano")) == {"customer.beneficiary": "unknown_beneficiary"}


def test_payout_names_a_beneficiary(api):
    saved(api, reference="kano", email="a@kano.example")
    request = orders.payout(customer={"beneficiary": "kano"})

    paid = api.post("/api/payments", request)
    api.patch(f"{PATH}/kano", {"name": "Kano Dye Works Ltd"})
    again = api.post("/api/payments", request)

    customer = paid.json()["customer"]
    assert paid.status_code == 201, paid.json()
    assert (customer["name"], customer["account_number"], customer["bank_code"]) == (
        "Kano Dye Works",
        "0690213447",
        "044",
    )
    assert (again.status_code, again.json()) == (200, paid.json())
    assert api.get(f"{PATH}/kano").json()["last_paid_at"] == paid.json()["completed_at"]
    assert api.delete(f"{PATH}/kano").status_code == 204
    assert api.post("/api/payments", request).json() == paid.json()


def test_payout_names_either_a_beneficiary_or_an_account(api):
    both = api.post(
        "/api/payments", orders.payout(customer={"beneficiary": "kano", "account_number": "0690213447"})
    )
    neither = api.post("/api/payments", orders.payout(customer={"email": "a@kano.example"}))
    unknown = pay(api, "nobody")

    assert errors(both) == {"customer.account_number": "not_allowed_here"}
    assert errors(neither) == dict.fromkeys(
        ["customer.name", "customer.account_number", "customer.bank_code"], "required"
    )
    assert errors(unknown) == {"customer.beneficiary": "unknown_beneficiary"}
    assert not Transaction.objects.exists()


def test_payout_to_a_blocked_account_is_refused_however_it_is_named(api):
    saved(api, reference="kano")
    request = orders.payout(customer={"beneficiary": "kano"})
    before = api.post("/api/payments", request).json()
    found = block("kano")
    account = {"name": "Kano", "account_number": "0690213447", "bank_code": "044"}

    refusals = [pay(api, "kano"), api.post("/api/payments", orders.payout(customer=account))]

    assert api.get(f"{PATH}/kano").json()["status"] == "blocked"
    assert [(each.status_code, each.json()["code"]) for each in refusals] == [
        (409, "beneficiary_blocked")
    ] * 2
    assert api.post("/api/payments", request).json() == before
    assert Transaction.objects.count() == 1
    beneficiaries.unblock(found.pk, actor=OWNER, now=timezone.now())
    assert pay(api, "kano").status_code == 201


def test_key_does_not_delete_a_blocked_beneficiary(api):
    """It would lift the block, which only owners and finance may."""
    saved(api, reference="kano")
    found = block("kano")

    refused = api.delete(f"{PATH}/kano")

    assert (refused.status_code, refused.json()["code"]) == (409, "beneficiary_blocked")
    assert pay(api, "kano").json()["code"] == "beneficiary_blocked"
    beneficiaries.unblock(found.pk, actor=OWNER, now=timezone.now())
    assert api.delete(f"{PATH}/kano").status_code == 204


def test_payout_verifies_again_after_30_days(api, monkeypatch):
    class RenamingBank(SandboxBank):
        def account_name(self, *, account_number, **_):
            return "ADEBISI FASHION HOUSE"

    class SilentBank(SandboxBank):
        def account_name(self, **_):
            raise AnswerLost

    saved(api, reference="kano")
    for bank in (RenamingBank, SilentBank):  # the second leaves what the first has said
        Beneficiary.objects.update(verified_at=timezone.now() - timedelta(days=31))
        monkeypatch.setattr(name_enquiries, "bank_for", lambda _business, bank=bank: bank())
        assert pay(api, "kano").status_code == 201
        assert api.get(f"{PATH}/kano").json()["status"] == "name_differs"


def test_that_staff_block_is_not_freed_by_the_business(api, ada):
    admin_client = signed_in(UserFactory(is_staff=True, is_superuser=True))
    saved(api, reference="kano")
    found = Beneficiary.objects.get(reference="kano")
    page = f"/admin/payments/beneficiary/{found.pk}"

    admin_client.post(f"{page}/block/", {"reason": ""})
    assert pay(api, "kano").status_code == 201

    admin_client.post(f"{page}/block/", {"reason": "Reported as fraud"})
    assert pay(api, "kano").json()["code"] == "beneficiary_blocked"
    assert api.delete(f"{PATH}/kano").status_code == 409
    with pytest.raises(InvalidState):
        beneficiaries.unblock(found.pk, actor=OWNER, now=timezone.now())
    assert "Reported as fraud" in admin_client.get(f"{page}/change/").content.decode()

    admin_client.post(f"{page}/unblock/", {"reason": "The report was wrong"})
    assert pay(api, "kano").status_code == 201
    entries = AuditEntry.objects.filter(action__startswith="beneficiary.").order_by("pk")
    assert [each.after.get("reason") for each in entries][-2:] == [
        "Reported as fraud",
        "The report was wrong",
    ]
