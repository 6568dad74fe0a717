"""Invariants between the ledger and our accounts at banks."""
