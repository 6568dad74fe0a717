"""Payout batches: many payouts as one request, checked, released and followed."""
