"""The cash app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import append_only, create_after_migrate, final, permanent_rows

TRIGGERS = (
    permanent_rows("cash_bankaccount", ("id", "name", "kind", "connector_account", "currency", "created_at")),
    append_only("cash_statement"),
    append_only("cash_statementline"),
    append_only("cash_match"),
    append_only("cash_matchedline"),
    append_only("cash_matcheditem"),
    permanent_rows(
        "cash_break",
        (
            "id",
            "account_id",
            "kind",
            "line_id",
            "item_kind",
            "item",
            "bank_amount",
            "ledger_amount",
            "since",
            "opened_at",
        ),
    ),
    final("cash_break", "ended_by", unless=""),
)


class CashConfig(AppConfig):
    name = "cash"
    verbose_name = "Cash"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)
