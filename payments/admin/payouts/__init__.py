"""Admin pages of payouts: beneficiaries, controls and returns."""
