"""Settlements: the batches of each business day, until their release to the wallet."""
