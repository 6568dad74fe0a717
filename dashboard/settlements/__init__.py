"""Settlements: what was earned on each business day, on its way to the wallet."""
