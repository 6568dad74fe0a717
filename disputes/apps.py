"""The disputes app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import AppendOnly, Kept, NeverDeleted, PermanentRows, Transitions, create_after_migrate

_ENDS = ["accepted", "expired", "won", "lost", "withdrawn"]
TRIGGERS = (
    NeverDeleted("disputes_dispute"),
    Kept(
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
    Transitions(
        "disputes_dispute",
        "status",
        {"needs_response": ["under_review", *_ENDS], "under_review": ["won", "lost", "withdrawn"]},
    ),
    AppendOnly("disputes_disputestep"),
    PermanentRows("disputes_disputereport", ("id", "digest", "told", "source", "line", "created_at")),
)


class DisputesConfig(AppConfig):
    name = "disputes"
    verbose_name = "Disputes"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)
