"""Time-ordered ids of rows."""

from kit.time.time_ordered_ids import earliest_id, new_id

__all__ = ["earliest_id", "new_id"]
