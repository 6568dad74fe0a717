"""Payout batches and their items in API responses and events, declared field by field."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from kit.api.fields.answer_fields import (
    BALANCE,
    CURRENCY_FIELD,
    EMPTY,
    LARGEST,
    METADATA_FIELD,
    MINOR_UNITS,
    MOMENT,
    NONE,
    REFERENCE,
    TEXT,
    UUID,
    Answer,
    Field,
    Type,
    one_of,
    page_of,
)
from payments.models import Transaction
from payments.representation.payments import PAYMENT
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.transitions import ITEM_NAMES
from virtual_accounts.representation import ACCOUNT_NUMBER


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBatch:
    """A batch with the numbers and sums of its items, and what it costs beside what is available."""

    batch: PayoutBatch
    counts: Mapping[str, int]
    sums: Mapping[str, int]
    available: int
    missing: int

    @property
    def number(self) -> int:
        """Return how many payouts will be or were sent. Of a batch that was cancelled as a whole: how many it had."""
        return _kept(self.counts)

    @property
    def amount(self) -> int:
        """Return the sum of these payouts, minor units."""
        return _kept(self.sums)

    @property
    def uncovered(self) -> int:
        """Return what pages say is missing, minor units: nothing where payouts need no balance."""
        return self.missing if settings.PAYOUT_REQUIRES_BALANCE else 0


def _kept(by_state: Mapping[str, int]) -> int:
    whole = sum(by_state.values())
    return whole - by_state.get(PayoutBatchItem.State.CANCELLED, 0) or whole


def _by_state(item: dict[str, Any]) -> Type:
    return Type({"type": "object", "additionalProperties": item, "maxProperties": len(ITEM_NAMES)}, dict)


NUMBERS = _by_state({"type": "integer", "minimum": 0, "maximum": LARGEST})
AMOUNTS = _by_state({"type": "integer", "format": "int64", "minimum": 0, "maximum": LARGEST})

PAYOUT_BATCH = Answer(
    "PayoutBatch",
    "Payouts that are checked, approved and sent together.",
    Field("id", UUID, "Our identifier.", "01980a5e-b370-7c00-8000-000000000031", "batch.pk"),
    Field("reference", REFERENCE, "Your reference.", "suppliers-48", "batch.reference"),
    Field("title", TEXT, "What it pays for.", "Suppliers, week 48", "batch.title"),
    Field("status", one_of(PayoutBatch.Status.values), "`completed` and `cancelled` are final.", value="batch.status"),
    Field("currency", CURRENCY_FIELD.type, "ISO 4217.", "NGN", "batch.currency"),
    Field("counts", NUMBERS, "How many items are in each state. States without items are left out.", {"success": 11, "failed": 1}),
    Field("sums", AMOUNTS, "The sum of the items in each state, minor units.", {"success": 114_560_000, "failed": 9_500_000}),
    Field("fees", MINOR_UNITS, "What the payouts cost beside their amounts, if all of them are paid.", 52_500, "batch.fees"),
    Field("taxes", MINOR_UNITS, "Taxes on these fees, and stamp duty. Present if above zero.", value="batch.taxes", omit=EMPTY),
    Field("available", BALANCE, "What your balance has for payouts now.", 291_482_000),
    Field("missing", MINOR_UNITS, "What the balance lacks for the items that are not sent yet, with their fees and taxes.", 0),
    Field("run_at", MOMENT, "When it is sent, if you said so.", "2030-05-02T08:00:00.000Z", "batch.run_at", NONE),
    Field("waits_for", TEXT, "Why it is not sent at the moment.", "The balance is too low.", "batch.waits_for", EMPTY),
    Field("retry_of", REFERENCE, "The batch whose failed items it repeats.", "suppliers-47", lambda shown: shown.batch.retry_of and shown.batch.retry_of.reference, NONE),
    Field("created_at", MOMENT, "When it was created.", "2026-01-31T08:00:00.000Z", "batch.created_at"),
    Field("approved_at", MOMENT, "When it was released.", "2026-01-31T08:05:00.000Z", "batch.released_at", NONE),
    Field("completed_at", MOMENT, "When each item was final.", "2026-01-31T08:06:00.000Z", "batch.finished_at", NONE),
)  # fmt: skip
PAYOUT_BATCHES_PAGE = page_of(PAYOUT_BATCH, "A page of payout batches, newest first.")

BATCH_CUSTOMER = Answer(
    "PayoutBatchCustomer",
    "Who is paid.",
    Field("beneficiary", REFERENCE, "The reference of the saved beneficiary that you named.", "kano-dye-works", lambda item: item.beneficiary and item.beneficiary.reference, NONE),
    Field("name", TEXT, "The name that you gave.", "Kano Dye Works"),
    Field("account_number", ACCOUNT_NUMBER, "The account number.", "0690213447"),
    Field("bank_code", TEXT, "The bank's `code`.", "044"),
    Field("bank_name", TEXT, "The bank's name.", "Access Bank"),
    Field("account_name", TEXT, "The holder's name as the bank said.", "KANO DYE WORKS LTD", omit=EMPTY),
)  # fmt: skip
PAYOUT_BATCH_ITEM = Answer(
    "PayoutBatchItem",
    "A payout of a batch.",
    Field("reference", REFERENCE, "Your reference, which is the payout's.", "wk48-01"),
    Field("amount", MINOR_UNITS, "Minor units.", 24_500_000),
    CURRENCY_FIELD,
    Field("status", one_of(ITEM_NAMES), "What the checks found; once it is sent, the payout's status."),
    Field("customer", BATCH_CUSTOMER, "Who is paid.", value=lambda item: item),
    Field("narration", TEXT, "Free text.", "Indigo, week 48", omit=EMPTY),
    Field("purpose", one_of(Transaction.Purpose.values), "What the payout is for. Present if you said so.", omit=EMPTY),
    METADATA_FIELD,
    Field("duplicate_of", REFERENCE, "The payout or item with the same account and amount.", "wk48-02", omit=EMPTY),
    Field("problem", TEXT, "What is wrong.", "The bank has no account with this number.", omit=EMPTY),
    Field("accepted_reason", TEXT, "Why it is paid although the checks found something.", "Registered trading name", omit=EMPTY),
    Field("payout", PAYMENT, "The payout, once it is sent.", omit=NONE),
)  # fmt: skip
PAYOUT_BATCH_ITEMS_PAGE = page_of(
    PAYOUT_BATCH_ITEM, "A page of the payouts of a batch, in the order of the file.", next_is="later"
)

represent_batch: Callable[[ShownBatch], dict[str, Any]] = PAYOUT_BATCH.represent
represent_item: Callable[[PayoutBatchItem], dict[str, Any]] = PAYOUT_BATCH_ITEM.represent
