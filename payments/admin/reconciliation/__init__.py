"""Admin pages of our bank accounts, their statements, and how these compare with the ledger."""
