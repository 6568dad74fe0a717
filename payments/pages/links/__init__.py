"""Pages of payment links."""
