"""Save some columns of a row."""

from typing import Any

from django.db import models


def save_columns(row: models.Model, **columns: Any) -> None:
    """Set columns of a row, and save only them. The caller holds the lock that the change needs."""
    for name, value in columns.items():
        setattr(row, name, value)
    row.save(update_fields=list(columns))
