"""Admin pages of settlement, reserves and debts."""
