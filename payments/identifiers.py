"""Our own ids."""

from merchants.identifiers import earliest_id, new_id

__all__ = ["earliest_id", "new_id"]
