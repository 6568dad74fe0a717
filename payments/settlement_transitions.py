"""How settlement moves: a batch, and the payments in it. What is not here is refused, by the database too."""

BATCH_MOVES: dict[str, tuple[str, ...]] = {
    "initiated": ("pending", "rejected"),
    "pending": ("approved", "rejected"),
    "approved": ("released",),
    "released": (),
    "rejected": (),
}
# A payment is in no batch at first; from a rejected one it goes to a new one.
PAYMENT_MOVES = BATCH_MOVES | {"": ("initiated",), "rejected": ("initiated",)}
