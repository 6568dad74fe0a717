"""The page of a payment or payout."""
