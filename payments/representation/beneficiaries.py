"""Beneficiaries in API responses, declared field by field."""

from collections.abc import Callable
from typing import Any

from kit.api.fields.answer_fields import (
    CURRENCY_FIELD,
    EMPTY,
    MOMENT,
    NONE,
    REFERENCE,
    TEXT,
    UUID,
    Answer,
    Field,
    one_of,
    page_of,
)
from payments.models import Beneficiary
from virtual_accounts.representation import ACCOUNT_NUMBER

STATUSES = (*Beneficiary.Verification.values, Beneficiary.BLOCKED)

SAVED_BENEFICIARY = Answer(
    "SavedBeneficiary",
    "A bank account that you pay, and what its bank says about it.",
    Field("id", UUID, "Our identifier.", "01980a5e-b370-7c00-8000-000000000021", "pk"),
    Field("reference", REFERENCE, "Your reference: `customer.beneficiary` of payouts.", "kano-dye-works"),
    Field("name", TEXT, "The name that you gave.", "Kano Dye Works"),
    Field("account_number", ACCOUNT_NUMBER, "The account number. It never changes.", "0690213447"),
    Field("bank_code", TEXT, "The bank's `code`.", "044"),
    Field("bank_name", TEXT, "The bank's name.", "Access Bank"),
    Field("account_name", TEXT, "The holder's name as the bank said; empty if it didn't answer.", "KANO DYE WORKS LTD"),
    CURRENCY_FIELD,
    Field("status", one_of(STATUSES), "`name_differs`: the bank has another name. `unverified`: it didn't answer. `blocked`: payouts to the account are refused."),
    Field("email", TEXT, "E-mail address.", "accounts@kanodye.example", omit=EMPTY),
    Field("note", TEXT, "Your note.", "Pays for indigo", omit=EMPTY),
    Field("created_at", MOMENT, "When it was saved.", "2026-01-31T08:00:00.000Z"),
    Field("last_paid_at", MOMENT, "When a payout to the account succeeded last.", "2026-02-06T09:30:00.000Z", lambda each: getattr(each, "last_paid_at", None), NONE),
)  # fmt: skip
SAVED_BENEFICIARIES_PAGE = page_of(SAVED_BENEFICIARY, "A page of beneficiaries, newest first.")

represent_beneficiary: Callable[[Beneficiary], dict[str, Any]] = SAVED_BENEFICIARY.represent
