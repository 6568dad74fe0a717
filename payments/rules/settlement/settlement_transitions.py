"""Allowed state transitions of settlement batches and their payments. The database triggers enforce them, too."""

BATCH_TRANSITIONS: dict[str, tuple[str, ...]] = {
    "initiated": ("pending", "rejected"),
    "pending": ("approved", "rejected"),
    "approved": ("released",),
    "released": (),
    "rejected": (),
}
# A payment has no batch at first, and can join a new batch after a rejected one.
PAYMENT_TRANSITIONS = BATCH_TRANSITIONS | {"": ("initiated",), "rejected": ("initiated",)}
