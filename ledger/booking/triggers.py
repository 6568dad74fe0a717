"""Database triggers of the ledger."""

from dataclasses import dataclass

from kit.db.triggers import AppendOnly, Kept, PermanentRows, SumToZero, Trigger, refusing_trigger


@dataclass(frozen=True, slots=True)
class Balanced:
    """Refuse postings that do not sum to zero.

    PostgreSQL looks at all that one INSERT adds. SQLite sees one row at a time: there the postings come
    first, the entry closes them if they balance, and a closed entry takes no further posting.
    """

    def triggers(self) -> list[Trigger]:
        return [*_AT_THE_POSTINGS.triggers(), *(each._replace(postgresql=()) for each in _AT_THE_ENTRY)]


_AT_THE_ENTRY = (
    refusing_trigger(
        "ledger_entry_is_balanced",
        "BEFORE INSERT ON ledger_entry FOR EACH ROW "
        "WHEN (SELECT count(*) < 2 OR sum(amount) <> 0 FROM ledger_posting WHERE entry_id = NEW.id)",
        "the postings of an entry sum to zero",
    ),
    refusing_trigger(
        "ledger_entry_is_closed",
        "BEFORE INSERT ON ledger_posting FOR EACH ROW "
        "WHEN EXISTS (SELECT 1 FROM ledger_entry WHERE id = NEW.entry_id)",
        "an entry takes no further posting",
    ),
)
_AT_THE_POSTINGS = SumToZero("ledger_posting", "entry_id", "the postings of an entry sum to zero")

TRIGGERS = (
    AppendOnly("ledger_entry"),
    AppendOnly("ledger_posting"),
    PermanentRows("ledger_account", ("id", "business_id", "currency", "kind", "name")),
    Kept("ledger_account", ("business_id",)),  # a house account gets no business
    Balanced(),
)
