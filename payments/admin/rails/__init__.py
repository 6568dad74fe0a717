"""Admin pages of connectors and their accounts."""
