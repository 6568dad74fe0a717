"""Loaded by the workers of these tests: leases that end soon after the exchange they cover."""

from webhooks import drain

LEASE_MARGIN = drain.LEASE_MARGIN = 2.0
