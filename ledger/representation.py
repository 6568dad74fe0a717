"""Balances in API responses, declared field by field."""

from kit.api.fields.answer_fields import BALANCE, CURRENCY_FIELD, EMPTY, Answer, Field, ListOf

BALANCE_OF_CURRENCY = Answer(
    "Balance",
    "What you have in one currency, in minor units.",
    CURRENCY_FIELD,
    Field("available", BALANCE, "Your available balance.", 250_000),
    Field("pending", BALANCE, "Earned, and not released yet.", 49_250),
    Field("disputed", BALANCE, "Held for open disputes. Present if not zero.", omit=EMPTY),
    Field("reserved", BALANCE, "Held back from released settlements, and returned to your balance later. Present if not zero.", omit=EMPTY),
)  # fmt: skip
BALANCES = Answer(
    "BalanceList", "Every currency.", Field("data", ListOf(BALANCE_OF_CURRENCY), "The balances.")
)
