"""Beneficiaries in the dashboard."""

import pytest

from payments.models import Beneficiary, Transaction
from tests.beneficiaries import beneficiary_of

pytestmark = pytest.mark.django_db

PAGE = "/dashboard/payouts/beneficiaries/"
FORM = {
    "reference": "kano",
    "name": "Kano\u00a0Dye Works",
    "bank_code": "044",
    "account_number": "0690213447",
    "email": "",
    "note": "Indigo",
}


def test_is_saved_and_both_names_are_shown(browser, ada):
    answer = browser.post(f"{PAGE}new/", FORM | {"account_number": "0000000095"}, follow=True)

    saved = Beneficiary.objects.get()
    page = answer.content.decode()
    assert (saved.name, saved.note, saved.status) == ("Kano Dye Works", "Indigo", "name_differs")
    assert "Access Bank says" in page
    assert "Sandbox Account 0095" in page


def test_unknown_account_is_refused_in_words(browser, ada):
    answer = browser.post(f"{PAGE}new/", FORM | {"account_number": "0000000000"})

    assert "The bank has no account with this number." in answer.content.decode()
    assert not Beneficiary.objects.exists()


def test_is_found_changed_and_paid_by_its_page(browser, ada):
    found = beneficiary_of(ada.business, name="Bisi Alabi")

    browser.post(
        f"{PAGE}{found.pk}/", {"name": "Bisi Alabi Ventures", "email": "bisi@example.com", "note": ""}
    )
    listed = browser.get(PAGE, {"q": "ventures bisi"}).content.decode()
    form = browser.get("/dashboard/payouts/new/", {"beneficiary": found.reference}).content.decode()

    assert "Bisi Alabi Ventures" in listed
    assert f'value="{found.reference}" checked' in form
    assert Beneficiary.objects.get().email == "bisi@example.com"


def test_block_needs_a_reason_and_refuses_payouts(browser, ada):
    found = beneficiary_of(ada.business)
    payout = {
        "step": "confirmed",
        "reference": "po-1",
        "currency": "NGN",
        "amount": "10",
        **{name: getattr(found, name) for name in ("name", "bank_code", "account_number")},
    }

    browser.post(f"{PAGE}{found.pk}/block/", {"reason": ""})
    assert not Beneficiary.objects.get().is_blocked
    browser.post(f"{PAGE}{found.pk}/block/", {"reason": "Forged invoice"})
    refused = browser.post("/dashboard/payouts/new/", payout).content.decode()

    assert "This beneficiary is blocked." in refused
    assert not Transaction.objects.exists()
    browser.post(f"{PAGE}{found.pk}/unblock/")
    browser.post("/dashboard/payouts/new/", payout)
    assert Transaction.objects.get().reference == "po-1"


def test_deleted_one_is_gone(browser, ada):
    found = beneficiary_of(ada.business)

    browser.post(f"{PAGE}{found.pk}/delete/")

    assert browser.get(f"{PAGE}{found.pk}/").status_code == 404
    assert found.reference not in browser.get(PAGE).content.decode()
