"""The disputes app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import (
    append_only,
    create_after_migrate,
    kept,
    never_deleted,
    permanent_rows,
    transitions,
)

_ENDS = ["accepted", "expired", "won", "lost", "withdrawn"]
TRIGGERS = (
    never_deleted("disputes_dispute"),
    kept(
        "disputes_dispute",
        (
            "id",
            "business_id",
            "transaction_id",
            "connector",
            "account",
            "case_number",
            "stage",
            "amount",
            "currency",
            "fee",
            "previous_id",
        ),
    ),
    transitions(
        "disputes_dispute",
        "status",
        {"needs_response": ["under_review", *_ENDS], "under_review": ["won", "lost", "withdrawn"]},
    ),
    append_only("disputes_disputestep"),
    permanent_rows("disputes_disputereport", ("id", "digest", "told", "source", "line", "created_at")),
)


class DisputesConfig(AppConfig):
    name = "disputes"
    verbose_name = "Disputes"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)
