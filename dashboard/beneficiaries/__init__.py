"""Saved beneficiaries of payouts: list, form for a new one, and the page of one."""
