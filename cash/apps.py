"""The cash app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import AppendOnly, Final, PermanentRows, create_after_migrate

TRIGGERS = (
    PermanentRows("cash_bankaccount", ("id", "name", "kind", "connector_account", "currency", "created_at")),
    AppendOnly("cash_statement"),
    AppendOnly("cash_statementline"),
    AppendOnly("cash_match"),
    AppendOnly("cash_matchedline"),
    AppendOnly("cash_matcheditem"),
    PermanentRows(
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
    Final("cash_break", "ended_by", unless=""),
)


class CashConfig(AppConfig):
    name = "cash"
    verbose_name = "Cash"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)
