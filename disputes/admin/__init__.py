"""Admin pages of disputes."""

from disputes.admin import cases, unmatched

__all__ = ["cases", "unmatched"]
