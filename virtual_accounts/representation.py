"""Virtual accounts and their transfers in API responses and webhooks, declared field by field."""

from collections.abc import Callable
from operator import methodcaller
from typing import Any

from kit import banks
from kit.api.fields.answer_fields import (
    CURRENCY_FIELD,
    DIGITS,
    EMPTY,
    METADATA_FIELD,
    MOMENT,
    REFERENCE,
    TEXT,
    UUID,
    Answer,
    Field,
    one_of,
    page_of,
    text,
)
from virtual_accounts.models import Session, VirtualAccount

ACCOUNT_NUMBER = text(f"^{banks.ACCOUNT_NUMBER.pattern}$")

ACCOUNT_HOLDER = Answer(
    "AccountHolder",
    "The holder of a virtual account.",
    Field("name", TEXT, "Full name.", "Ada Ngozi Obi", "holder_name"),
    Field(
        "account_number",
        text("^([0-9]{10})?$"),
        "The number to transfer to. Of a dynamic account that of its open session while exactly one is "
        "open, and empty otherwise. Of a static one empty until its bank has opened it.",
        "1000000014",
        "current_number",
    ),
    Field("bank_code", TEXT, "The bank that hosts it; empty if GET /api/banks doesn't list it.", "035"),
    Field("email", TEXT, "E-mail address.", "ada@shop.example"),
    Field("reference", REFERENCE, "Your reference.", "customer-7"),
)  # fmt: skip
VIRTUAL_ACCOUNT = Answer(
    "VirtualAccount",
    "An account that receives money.",
    Field("id", UUID, "Our identifier: the `payment_method_id` of payments.", "01980a5e-7b00-7c00-8000-000000000003", "pk"),
    CURRENCY_FIELD,
    Field(
        "status",
        one_of(VirtualAccount.Status.values),
        "An inactive account accepts nothing. A new static one is inactive, without a number, while its bank opens it.",
    ),
    Field("reference", REFERENCE, "Your reference.", "customer-7"),
    Field("customer", ACCOUNT_HOLDER, "The account's holder.", value=lambda account: account),
    METADATA_FIELD,
)  # fmt: skip
VIRTUAL_ACCOUNTS_PAGE = page_of(VIRTUAL_ACCOUNT, "A page of virtual accounts, newest first.")

# Amounts are text here.
TRANSFER_DETAILS = Answer(
    "TransferDetails",
    "Where a payment is transferred to, and what arrived.",
    Field("account_number", ACCOUNT_NUMBER, "The account number for the payer's transfer.", "1000000014", "number_id"),
    Field("bank", TEXT, "The bank that hosts it.", "Wema Bank", "bank_name"),
    Field("account_name", TEXT, "Name on the account.", "Ada Obi"),
    Field("expected_amount", DIGITS, "Minor units, as text.", "50000"),
    Field(
        "amount_received",
        text("^[0-9]*$"),
        "Empty until the transfer arrives.",
        "50000",
        lambda session: "" if session.amount_received is None else str(session.amount_received),
    ),
    Field("expires_at", MOMENT, "When the session expires.", "2026-01-31T08:15:00.000Z"),
    Field("status", one_of(Session.Status.values), "All but `pending` are final."),
)  # fmt: skip
# The sender of `Transfer.sender`, which leaves out what the bank did not send.
SENDER = Answer(
    "Sender",
    "The sender of a transfer. Fields that the bank did not send are left out.",
    Field("name", TEXT, "Name.", "Bisi Ojo", methodcaller("get", "name"), EMPTY),
    Field("account_number", TEXT, "Account number, as the bank sent it.", "0123456789", methodcaller("get", "account_number"), EMPTY),
    Field("bank_code", TEXT, "Bank code: `code` if GET /api/banks lists the bank.", "058", methodcaller("get", "bank_code"), EMPTY),
)  # fmt: skip

represent: Callable[[VirtualAccount], dict[str, Any]] = VIRTUAL_ACCOUNT.represent
