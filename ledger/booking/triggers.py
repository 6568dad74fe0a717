"""Database triggers of the ledger."""

from kit.db.triggers import append_only, kept, permanent_rows, refusing_trigger, sum_to_zero

# Postings sum to zero. PostgreSQL looks at all that one INSERT adds. SQLite sees one row at a time: there the postings come
# first, the entry closes them if they balance, and a closed entry takes no further posting.
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
TRIGGERS = (
    append_only("ledger_entry"),
    append_only("ledger_posting"),
    permanent_rows("ledger_account", ("id", "business_id", "currency", "kind", "name")),
    kept("ledger_account", ("business_id",)),  # a house account gets no business
    sum_to_zero("ledger_posting", "entry_id", "the postings of an entry sum to zero"),
    [each._replace(postgresql=()) for each in _AT_THE_ENTRY],
)
